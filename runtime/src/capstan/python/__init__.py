"""`tf.python`: the modules of TensorFlow 1 that scripts import by their full path.

For example, `from tensorflow.python.client import timeline` becomes
`from capstan.python.client import timeline`.
"""

from capstan.python import client as client
