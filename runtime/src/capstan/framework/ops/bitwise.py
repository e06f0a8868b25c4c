"""Rows of the ops on the bits of integers (core/ops/bitwise_ops.cc)."""

from typing import Final

from capstan.core import dtypes
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules

_TYPES: Final = (
    dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
    dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64,
)  # fmt: skip

for _name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"):
    define(
        OpDef(
            _name,
            ("x: T", "y: T"),
            ("z: T",),
            shape=rules.broadcast,
            not_differentiable=True,
            types={"T": _TYPES},
        )
    )
for _name, _output in (("Invert", "y: T"), ("PopulationCount", "y: uint8")):
    define(
        OpDef(
            _name,
            ("x: T",),
            (_output,),
            shape=rules.unchanged,
            not_differentiable=True,
            types={"T": _TYPES},
        )
    )
