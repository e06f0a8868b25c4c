"""The row of the op that joins tensors whose full shapes are known (core/ops/array_ops.cc)."""

from capstan.core import shapes, tensor_shape
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules


def _joined(ctx: ShapeContext) -> rules.Shapes:
    shape = ctx.attrs["shape"].internal
    if shape is None or None in shape:
        raise ValueError("shape attr must be fully defined.")
    part: shapes.Shape = (1, *shape[1:])
    for given in ctx.inputs:
        if given is None or None in given:
            raise ValueError("All input shapes must be fully defined.")
        part = shapes.merge(part, given)
    return (shape,)


define(
    OpDef(
        "ParallelConcat",
        ("values: N * T",),
        ("output: T",),
        attrs={"shape": tensor_shape.TensorShape},
        minima={"N": 1},
        shape=_joined,
    )
)
