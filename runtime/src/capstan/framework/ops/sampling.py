"""Rows of random ops. `seed` and `seed2` are the seeds of the graph and of the op."""

from capstan.core import dtypes
from capstan.framework import facts
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules, typesets

for _name in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
    define(
        OpDef(
            _name,
            ("shape: T",),
            ("output: dtype",),
            attrs={"dtype": dtypes.DType, "seed": 0, "seed2": 0, "T": dtypes.int32},
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
        shape=rules.from_value,
        not_differentiable=True,
        effect=facts.RANDOM,
        types={"Tout": typesets.INDEX, "T": typesets.INDEX},
        host=("shape", "minval", "maxval"),
    )
)
