"""`capstan.core.protobuf`: the messages that TensorFlow defines in `core/protobuf`."""

from capstan.core import alias

_PROTO = "tensorboard.compat.proto"

alias.grow(
    __name__,
    {
        **{
            f"{name}_pb2": (f"{_PROTO}.{name}_pb2",)
            for name in ("cluster", "debug", "meta_graph", "rewriter_config", "saver")
        },
        "config_pb2": (f"{_PROTO}.config_pb2", f"{_PROTO}.rpc_options_pb2", f"{_PROTO}.debug_pb2"),
        "control_flow_pb2": ("capstan.core.control_flow_messages",),
        "queue_runner_pb2": ("capstan.core.queue_runner_messages",),
        "saved_model_pb2": ("capstan.core.saved_model_messages",),
        "tensorflow_server_pb2": ("capstan.core.server_messages",),
    },
)
