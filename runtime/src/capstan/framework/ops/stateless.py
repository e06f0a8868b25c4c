"""Rows of random ops that depend only on their seeds (core/ops/stateless_random_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets

_SEEDS = {"Tseed": typesets.INDEX}


def _check_seed(shape: shapes.Shape) -> None:
    (size,) = rules.with_rank(shape, 1)
    if size not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {size}")


def _drawn(ctx: ShapeContext) -> rules.Shapes:
    _check_seed(ctx.inputs[1])
    for bound in ctx.inputs[2:]:
        shapes.with_rank(bound, 0)
    return rules.from_value(ctx)


def _classes(ctx: ShapeContext) -> rules.Shapes:
    logits, count = rules.with_rank(ctx.inputs[0], 2), ctx.constant(1)
    shapes.with_rank(ctx.inputs[1], 0)
    _check_seed(ctx.inputs[2])
    return ((logits[0], None if count is None else int(count)),)


for _name in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"):
    define(
        OpDef(
            _name,
            ("shape: T", "seed: Tseed"),
            ("output: dtype",),
            attrs={"dtype": dtypes.float32, "T": dtypes.int32, "Tseed": dtypes.int64},
            shape=_drawn,
            not_differentiable=True,
            types={"dtype": typesets.FLOATING, "T": typesets.INDEX, **_SEEDS},
            host=("shape", "seed"),
        )
    )
define(
    OpDef(
        "StatelessRandomUniformInt",
        ("shape: T", "seed: Tseed", "minval: dtype", "maxval: dtype"),
        ("output: dtype",),
        attrs={"Tseed": dtypes.int64},
        shape=_drawn,
        not_differentiable=True,
        types={"dtype": typesets.INDEX, "T": typesets.INDEX, **_SEEDS},
        host=("shape", "seed", "minval", "maxval"),
    )
)
define(
    OpDef(
        "StatelessMultinomial",
        ("logits: T", "num_samples: int32", "seed: Tseed"),
        ("output: output_dtype",),
        attrs={"Tseed": dtypes.int64, "output_dtype": dtypes.int64},
        shape=_classes,
        not_differentiable=True,
        types={"T": typesets.NUMERIC, "output_dtype": typesets.INDEX, **_SEEDS},
        host=("num_samples", "seed"),
    )
)
