"""`tf.python`: the modules that TensorFlow 1 scripts import by their path, as TensorFlow has them.

For example, `from tensorflow.python.client import timeline` becomes
`from capstan.python.client import timeline`.
"""

from capstan.python import client as client
