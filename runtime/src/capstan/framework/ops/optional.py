"""Rows of optionals and of `FakeParam` (tensorflow/core/ops/optional_ops.cc).

An optional holds tensors or nothing. A conditional of TensorFlow 2 passes the tensors of the branch
that was taken to its gradient in optionals.
"""

from capstan.core import dtypes, tensor_shape
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules


def _declared(ctx: ShapeContext) -> rules.Shapes:
    return tuple(shape.internal for shape in ctx.attrs["output_shapes"])


def _got(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    return (raw.OptionalFromValue(list(grads)),)


def _made(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    found: Gradients = raw.OptionalGetValue(
        grads[0],
        output_types=[tensor.dtype.base_dtype for tensor in op.inputs],
        output_shapes=[tensor.shape for tensor in op.inputs],
    )
    return found


_TYPES = "Toutput_types"

define(
    OpDef(
        "OptionalNone", outputs=("optional: variant",), shape=rules.scalar, not_differentiable=True
    )
)
define(
    OpDef(
        "OptionalFromValue",
        (f"components: {_TYPES}",),
        ("optional: variant",),
        attrs={_TYPES: list},
        minima={_TYPES: 1},
        shape=rules.scalar,
        gradient=_made,
    )
)
define(
    OpDef(
        "OptionalHasValue",
        ("optional: variant",),
        ("has_value: bool",),
        shape=rules.scalar,
        host=("has_value",),
        not_differentiable=True,
    )
)
define(
    OpDef(
        "OptionalGetValue",
        ("optional: variant",),
        ("components: output_types",),
        attrs={"output_types": list, "output_shapes": list},
        minima={"output_types": 1, "output_shapes": 1},
        shape=_declared,
        gradient=_got,
    )
)
define(
    # A branch returns this value in place of a tensor that only another branch has. No node reads
    # the value.
    OpDef(
        "FakeParam",
        outputs=("output: dtype",),
        attrs={"dtype": dtypes.DType, "shape": tensor_shape.TensorShape},
        shape=rules.from_attribute,
        not_differentiable=True,
    )
)
