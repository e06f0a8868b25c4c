"""`capstan.core.framework`: the messages that TensorFlow defines in `core/framework`."""

from capstan.core import alias

alias.grow(
    __name__,
    {
        f"{name}_pb2": (f"tensorboard.compat.proto.{name}_pb2",)
        for name in (
            *("allocation_description", "attr_value", "cost_graph", "function", "graph"),
            *("node_def", "op_def", "resource_handle", "step_stats", "summary", "tensor"),
            *("tensor_description", "tensor_shape", "types", "variable", "versions"),
        )
    },
)
