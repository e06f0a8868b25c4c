"""Rows of conditional accumulators (tensorflow/core/ops/data_flow_ops.cc).

TensorFlow does not have the ops `...TakeGradientUpTo`. They wait at most `timeout_ms`
after the first gradient, and then take the gradients that have arrived.
"""

from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets

_ACCUMULATOR = {
    "dtype": dtypes.DType,
    "shape": tensor_shape.TensorShape,
    "container": b"",
    "shared_name": b"",
    "reduction_type": b"MEAN",
}
_REDUCTIONS = {"reduction_type": (b"MEAN", b"SUM")}
_TYPES = {"dtype": typesets.FLOATING}


def _pair(ctx: ShapeContext) -> rules.Shapes:
    return ((2,),)


def _scalar_step(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[1], 0)
    return ()


def _taken(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[1], 0)
    return (None,)


def _taken_rows(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[1], 0)
    return (None, None, None)


def _define_accumulator(name: str, handle: str) -> None:
    define(
        OpDef(
            name,
            outputs=(handle,),
            attrs=_ACCUMULATOR,
            shape=_pair,
            not_differentiable=True,
            types=_TYPES,
            choices=_REDUCTIONS,
            effect=facts.MAKES,
            role=facts.Role.HANDLE,
        )
    )


for _prefix, _handle in (("", "handle: Ref(string)"), ("Resource", "handle: resource")):
    _define_accumulator(f"{_prefix}ConditionalAccumulator", _handle)
    define(
        OpDef(
            f"{_prefix}AccumulatorApplyGradient",
            (_handle, "local_step: int64", "gradient: dtype"),
            shape=_scalar_step,
            not_differentiable=True,
            types=_TYPES,
            effect=facts.changes("handle"),
            host=("local_step",),
        )
    )
    define(
        OpDef(
            f"{_prefix}AccumulatorTakeGradient",
            (_handle, "num_required: int32"),
            ("average: dtype",),
            attrs={"dtype": dtypes.DType},
            shape=_taken,
            not_differentiable=True,
            types=_TYPES,
            effect=facts.changes("handle") | facts.BLOCKS,
            host=("num_required",),
        )
    )
    define(
        OpDef(
            f"{_prefix}AccumulatorNumAccumulated",
            (_handle,),
            ("num_accumulated: int32",),
            shape=rules.scalar,
            not_differentiable=True,
            effect=facts.reads("handle"),
        )
    )
    define(
        OpDef(
            f"{_prefix}AccumulatorSetGlobalStep",
            (_handle, "new_global_step: int64"),
            shape=_scalar_step,
            not_differentiable=True,
            effect=facts.changes("handle"),
            host=("new_global_step",),
        )
    )

_define_accumulator("SparseConditionalAccumulator", "handle: Ref(string)")
define(
    OpDef(
        "SparseAccumulatorApplyGradient",
        (
            "handle: Ref(string)",
            "local_step: int64",
            "gradient_indices: int64",
            "gradient_values: dtype",
            "gradient_shape: int64",
        ),
        attrs={"has_known_shape": bool},
        shape=_scalar_step,
        not_differentiable=True,
        types=_TYPES,
        effect=facts.changes("handle"),
        host=("local_step", "gradient_shape"),
    )
)
define(
    OpDef(
        "SparseAccumulatorTakeGradient",
        ("handle: Ref(string)", "num_required: int32"),
        ("indices: int64", "values: dtype", "shape: int64"),
        attrs={"dtype": dtypes.DType},
        shape=_taken_rows,
        not_differentiable=True,
        types=_TYPES,
        effect=facts.changes("handle") | facts.BLOCKS,
        host=("num_required",),
    )
)
for _name, _handle, _outputs, _rule in (
    ("Resource", "handle: resource", ("average: dtype",), _taken),
    (
        "Sparse",
        "handle: Ref(string)",
        ("indices: int64", "values: dtype", "shape: int64"),
        _taken_rows,
    ),
):
    define(
        OpDef(
            f"{_name}AccumulatorTakeGradientUpTo",
            (_handle, "num_required: int32"),
            _outputs,
            attrs={"dtype": dtypes.DType, "timeout_ms": int},
            minima={"timeout_ms": 0},
            shape=_rule,
            not_differentiable=True,
            types=_TYPES,
            effect=facts.changes("handle") | facts.BLOCKS,
            host=("num_required",),
        )
    )
