"""Rows of the ops that split and change strings (core/ops/string_ops.cc)."""

from typing import Any

from capstan.core import shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets

_UNITS = {"unit": (b"BYTE", b"UTF8_CHAR")}


def _split(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 1)
    shapes.with_rank(ctx.inputs[1], 0)
    return ((None, 2), (None,), (2,))


def _parts(ctx: ShapeContext) -> rules.Shapes:
    strings, positions, lengths = ctx.inputs
    return (shapes.broadcast(strings, shapes.merge(positions, lengths)),)


def _replaced(ctx: ShapeContext) -> rules.Shapes:
    for shape in ctx.inputs[1:]:
        shapes.with_rank(shape, 0)
    return (ctx.inputs[0],)


for _name, _separator, _attrs in (
    ("StringSplit", "delimiter", {"skip_empty": True}),
    ("StringSplitV2", "sep", {"maxsplit": -1}),
):
    define(
        OpDef(
            _name,
            ("input: string", f"{_separator}: string"),
            ("indices: int64", "values: string", "shape: int64"),
            attrs=_attrs,
            shape=_split,
            not_differentiable=True,
        )
    )
define(
    OpDef(
        "Substr",
        ("input: string", "pos: T", "len: T"),
        ("output: string",),
        attrs={"unit": b"BYTE"},
        shape=_parts,
        not_differentiable=True,
        types={"T": typesets.INDEX},
        choices=_UNITS,
    )
)
define(
    OpDef(
        "StringLength",
        ("input: string",),
        ("output: int32",),
        attrs={"unit": b"BYTE"},
        shape=rules.unchanged,
        not_differentiable=True,
        choices=_UNITS,
    )
)
_CHANGES: dict[str, dict[str, Any]] = {
    "StringStrip": {},
    "StringLower": {"encoding": b""},
    "StringUpper": {"encoding": b""},
}
for _name, _encoding in _CHANGES.items():
    define(
        OpDef(
            _name,
            ("input: string",),
            ("output: string",),
            attrs=_encoding,
            shape=rules.unchanged,
            not_differentiable=True,
        )
    )
define(
    OpDef(
        "RegexReplace",
        ("input: string", "pattern: string", "rewrite: string"),
        ("output: string",),
        attrs={"replace_global": True},
        shape=_replaced,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "StaticRegexReplace",
        ("input: string",),
        ("output: string",),
        attrs={"pattern": bytes, "rewrite": bytes, "replace_global": True},
        shape=rules.unchanged,
        not_differentiable=True,
    )
)
define(
    OpDef(
        "RegexFullMatch",
        ("input: string", "pattern: string"),
        ("output: bool",),
        shape=_replaced,
        not_differentiable=True,
    )
)
