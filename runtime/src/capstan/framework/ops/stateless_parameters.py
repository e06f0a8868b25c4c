"""Rows of random ops that depend only on their seeds, and have tensors of parameters.

Sources: core/ops/stateless_random_ops.cc and stateless_random_ops_v2.cc.
"""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets

_CLASSIC = (dtypes.float16, dtypes.float32, dtypes.float64)
_COUNTED = (*_CLASSIC, *typesets.INDEX)
_KEY = ("key: uint64", "counter: uint64", "alg: int32")


def _drawn(ctx: ShapeContext) -> rules.Shapes:
    (size,) = rules.with_rank(ctx.inputs[1], 1)
    if size not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {size}")
    return rules.from_value(ctx)


def _keyed(ctx: ShapeContext) -> rules.Shapes:
    for vector in ctx.inputs[1:3]:
        shapes.with_rank(vector, 1)
    shapes.with_rank(ctx.inputs[3], 0)
    return rules.from_value(ctx)


def _gamma(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    """Return the gradient of `alpha`, the last input, which is repeated along the first axes."""
    alpha, drawn = op.inputs[-1], op.outputs[0]
    slope = raw.Mul(grads[0], raw.RandomGammaGrad(alpha, drawn))
    extra = raw.Sub(raw.Rank(drawn), raw.Rank(alpha))
    summed = raw.Sum(slope, raw.Range(0, extra, 1))
    return (*(None,) * (len(op.inputs) - 1), summed)


define(
    OpDef(
        "StatelessRandomGammaV2",
        ("shape: T", "seed: Tseed", "alpha: dtype"),
        ("output: dtype",),
        attrs={"Tseed": dtypes.int64},
        shape=_drawn,
        gradient=_gamma,
        types={"dtype": _CLASSIC, "T": typesets.INDEX, "Tseed": typesets.INDEX},
    )
)
define(
    OpDef(
        "StatelessRandomGammaV3",
        ("shape: shape_dtype", *_KEY, "alpha: dtype"),
        ("output: dtype",),
        attrs={"shape_dtype": dtypes.int32},
        shape=_keyed,
        gradient=_gamma,
        types={"dtype": _CLASSIC, "shape_dtype": typesets.INDEX},
    )
)
define(
    OpDef(
        "StatelessRandomBinomial",
        ("shape: S", "seed: Tseed", "counts: T", "probs: T"),
        ("output: dtype",),
        attrs={"Tseed": dtypes.int64, "T": dtypes.float64, "dtype": dtypes.int64},
        shape=_drawn,
        not_differentiable=True,
        types={"S": typesets.INDEX, "Tseed": typesets.INDEX, "T": _COUNTED, "dtype": _COUNTED},
    )
)
define(
    OpDef(
        "StatelessRandomPoisson",
        ("shape: T", "seed: Tseed", "lam: Rtype"),
        ("output: dtype",),
        attrs={"dtype": dtypes.DType, "Tseed": dtypes.int64},
        shape=_drawn,
        not_differentiable=True,
        types={
            "T": typesets.INDEX,
            "Tseed": typesets.INDEX,
            "Rtype": _COUNTED,
            "dtype": _COUNTED,
        },
    )
)
define(
    OpDef(
        "StatelessParameterizedTruncatedNormal",
        (
            "shape: S",
            "seed: Tseed",
            "means: dtype",
            "stddevs: dtype",
            "minvals: dtype",
            "maxvals: dtype",
        ),
        ("output: dtype",),
        attrs={"Tseed": dtypes.int64},
        shape=_drawn,
        not_differentiable=True,
        types={"S": typesets.INDEX, "Tseed": typesets.INDEX, "dtype": _CLASSIC},
    )
)
