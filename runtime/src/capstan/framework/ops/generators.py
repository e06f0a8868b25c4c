"""Rows of random ops that draw with the state of a generator, which is a resource variable.

Source: core/ops/stateful_random_ops.cc. The state holds two words of a counter, and a key.
"""

from capstan.core import dtypes, shapes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets

_WORDS = (dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64)
_CLASSIC = (dtypes.float16, dtypes.float32, dtypes.float64)
_COUNTED = (*_CLASSIC, *typesets.INDEX)
_STATE = ("resource: resource", "algorithm: int64", "shape: shape_dtype")
_ATTRS = {"dtype": dtypes.float32, "shape_dtype": dtypes.int64}


def _drawn(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[1], 0)
    return (rules.shape_in(ctx, 2),)


def _between(ctx: ShapeContext) -> rules.Shapes:
    for bound in ctx.inputs[3:]:
        shapes.with_rank(bound, 0)
    return _drawn(ctx)


def _skipped(ctx: ShapeContext) -> rules.Shapes:
    for scalar in ctx.inputs[1:]:
        shapes.with_rank(scalar, 0)
    return ()


def _read(ctx: ShapeContext) -> rules.Shapes:
    _skipped(ctx)
    return ((3,),)


for _name in ("StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal"):
    define(
        OpDef(
            _name,
            _STATE,
            ("output: dtype",),
            attrs=_ATTRS,
            shape=_drawn,
            not_differentiable=True,
            effect=facts.changes("resource"),
            types={"dtype": typesets.FLOATING, "shape_dtype": typesets.INDEX},
        )
    )
define(
    OpDef(
        "StatefulUniformFullInt",
        _STATE,
        ("output: dtype",),
        attrs={**_ATTRS, "dtype": dtypes.uint64},
        shape=_drawn,
        not_differentiable=True,
        effect=facts.changes("resource"),
        types={"dtype": _WORDS, "shape_dtype": typesets.INDEX},
    )
)
define(
    OpDef(
        "StatefulUniformInt",
        (*_STATE, "minval: dtype", "maxval: dtype"),
        ("output: dtype",),
        attrs={**_ATTRS, "dtype": dtypes.int64},
        shape=_between,
        not_differentiable=True,
        effect=facts.changes("resource"),
        types={"dtype": typesets.INDEX, "shape_dtype": typesets.INDEX},
    )
)
define(
    OpDef(
        "StatefulRandomBinomial",
        ("resource: resource", "algorithm: int64", "shape: S", "counts: T", "probs: T"),
        ("output: dtype",),
        attrs={"T": dtypes.float64, "dtype": dtypes.int64},
        shape=_drawn,
        not_differentiable=True,
        effect=facts.changes("resource"),
        types={"S": typesets.INDEX, "T": _COUNTED, "dtype": _COUNTED},
    )
)
define(
    OpDef(
        "RngSkip",
        ("resource: resource", "algorithm: int64", "delta: int64"),
        shape=_skipped,
        effect=facts.changes("resource"),
    )
)
define(
    OpDef(
        "RngReadAndSkip",
        ("resource: resource", "alg: int32", "delta: uint64"),
        ("value: int64",),
        shape=_read,
        not_differentiable=True,
        effect=facts.changes("resource"),
    )
)
define(
    OpDef(
        "NonDeterministicInts",
        ("shape: shape_dtype",),
        ("output: dtype",),
        attrs={"dtype": dtypes.int64, "shape_dtype": dtypes.int64},
        shape=rules.from_value,
        not_differentiable=True,
        effect=facts.RANDOM,
        types={"dtype": _WORDS, "shape_dtype": typesets.INDEX},
    )
)
