"""`capstan.core.example`: the messages that TensorFlow defines in `core/example`."""

from capstan.core import alias

alias.grow(
    __name__,
    {f"{name}_pb2": ("capstan.core.example_messages",) for name in ("example", "feature")},
)
