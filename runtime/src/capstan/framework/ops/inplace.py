"""Rows of ops that replace or change rows of a tensor (core/ops/array_ops.cc)."""

from capstan.core import dtypes
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules

define(OpDef("DeepCopy", ("x: T",), ("y: T",), shape=rules.unchanged))
for _name in ("InplaceUpdate", "InplaceAdd", "InplaceSub"):
    define(OpDef(_name, ("x: T", "i: int32", "v: T"), ("y: T",), shape=rules.unchanged))
define(
    OpDef(
        "Empty",
        ("shape: int32",),
        ("output: dtype",),
        attrs={"dtype": dtypes.DType, "init": False},
        shape=rules.from_value,
        host=("shape",),
    )
)
