"""Rows of random ops. `seed` and `seed2` are the seeds of the graph and of the op."""

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import Gradients, Op, OpDef, Raw, ShapeContext, define
from capstan.framework.ops import rules, typesets

_CLASSIC = (dtypes.float16, dtypes.float32, dtypes.float64)


def _for_each(ctx: ShapeContext) -> rules.Shapes:
    """Give the output the shape in input 0, followed by the shape of input 1."""
    sizes, parameter = rules.shape_in(ctx, 0), ctx.inputs[1]
    return (None if sizes is None or parameter is None else (*sizes, *parameter),)


def _between(ctx: ShapeContext) -> rules.Shapes:
    """Give the output the shape in input 0, if the bounds are scalars."""
    for bound in ctx.inputs[1:]:
        shapes.with_rank(bound, 0)
    return rules.from_value(ctx)


def _gamma(op: Op, grads: Gradients, raw: Raw) -> Gradients:
    shape, alpha = op.inputs
    slope = raw.Mul(grads[0], raw.RandomGammaGrad(alpha, op.outputs[0]))
    return None, raw.Sum(slope, raw.Range(0, raw.Size(shape), 1))


for _name in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
    define(
        OpDef(
            _name,
            ("shape: T",),
            ("output: dtype",),
            attrs={"dtype": dtypes.DType, "seed": 0, "seed2": 0, "T": dtypes.int32},
            assumed=("T",),
            shape=rules.from_value,
            not_differentiable=True,
            effect=facts.RANDOM,
            types={"dtype": typesets.FLOATING, "T": typesets.INDEX},
            host=("shape",),
        )
    )
define(
    OpDef(
        "RandomUniformInt",
        ("shape: T", "minval: Tout", "maxval: Tout"),
        ("output: Tout",),
        attrs={"seed": 0, "seed2": 0, "T": dtypes.int32},
        assumed=("T",),
        shape=_between,
        not_differentiable=True,
        effect=facts.RANDOM,
        types={"Tout": typesets.INDEX, "T": typesets.INDEX},
        host=("shape", "minval", "maxval"),
    )
)
define(
    OpDef(
        "RandomGamma",
        ("shape: S", "alpha: T"),
        ("output: T",),
        attrs={"seed": 0, "seed2": 0},
        shape=_for_each,
        gradient=_gamma,
        effect=facts.RANDOM,
        types={"S": typesets.INDEX, "T": _CLASSIC},
    )
)
define(
    OpDef(
        "RandomPoissonV2",
        ("shape: S", "rate: R"),
        ("output: dtype",),
        attrs={"seed": 0, "seed2": 0, "R": dtypes.float64, "dtype": dtypes.int64},
        shape=_for_each,
        not_differentiable=True,
        effect=facts.RANDOM,
        types={
            "S": typesets.INDEX,
            "R": (*_CLASSIC, *typesets.INDEX),
            "dtype": (*_CLASSIC, *typesets.INDEX),
        },
    )
)
define(
    OpDef(
        "ParameterizedTruncatedNormal",
        ("shape: T", "means: dtype", "stdevs: dtype", "minvals: dtype", "maxvals: dtype"),
        ("output: dtype",),
        attrs={"seed": 0, "seed2": 0},
        shape=rules.from_value,
        not_differentiable=True,
        effect=facts.RANDOM,
        types={"T": typesets.INDEX, "dtype": typesets.FLOATING},
        host=("shape",),
    )
)
define(
    OpDef(
        "RandomPoisson",
        ("shape: S", "rate: dtype"),
        ("output: dtype",),
        attrs={"seed": 0, "seed2": 0},
        shape=_for_each,
        not_differentiable=True,
        effect=facts.RANDOM,
        types={"S": typesets.INDEX, "dtype": _CLASSIC},
    )
)
