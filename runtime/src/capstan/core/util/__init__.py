"""`capstan.core.util`: the messages that TensorFlow defines in `core/util`."""

from capstan.core import alias

alias.grow(__name__, {"event_pb2": ("tensorboard.compat.proto.event_pb2",)})
