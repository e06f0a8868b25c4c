"""`capstan.core.protobuf`: the messages that TensorFlow defines in `core/protobuf`."""

from capstan.core import alias

alias.grow(
    __name__,
    {
        **{
            f"{name}_pb2": (f"tensorboard.compat.proto.{name}_pb2",)
            for name in ("cluster", "config", "debug", "meta_graph", "rewriter_config", "saver")
        },
        "control_flow_pb2": ("capstan.core.control_flow_messages",),
        "queue_runner_pb2": ("capstan.core.queue_runner_messages",),
        "saved_model_pb2": ("capstan.core.saved_model_messages",),
    },
)
