"""`capstan.core.kernels`: the messages that TensorFlow defines in `core/kernels`."""

from capstan.core import alias

alias.grow(__name__, {"boosted_trees.boosted_trees_pb2": ("capstan.core.tree_messages",)})
