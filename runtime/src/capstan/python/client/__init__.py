"""`tf.python.client`: the timeline of a traced step."""

from capstan.python.client import timeline as timeline
