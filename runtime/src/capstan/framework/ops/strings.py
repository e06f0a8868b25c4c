"""Rows of ops on strings (core/ops/string_ops.cc)."""

from capstan.core import dtypes
from capstan.framework.opdef import OpDef, define
from capstan.framework.ops import rules, typesets

define(
    OpDef(
        "StaticRegexFullMatch",
        ("input: string",),
        ("output: bool",),
        attrs={"pattern": bytes},
        shape=rules.unchanged,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "AsString",
        ("input: T",),
        ("output: string",),
        attrs={"precision": -1, "scientific": False, "shortest": False, "width": -1, "fill": b""},
        shape=rules.unchanged,
        not_differentiable=True,
        types={"T": (*typesets.NUMERIC, dtypes.bool_, dtypes.string)},
    )
)
