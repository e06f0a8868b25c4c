"""Rows of the ops that decode and encode Unicode characters (core/ops/string_ops.cc)."""

from typing import Any, Final

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules, typesets

_OUTPUTS: Final = (b"UTF-8", b"UTF-16-BE", b"UTF-32-BE")
_CHOICES: Final = {"errors": (b"strict", b"replace", b"ignore"), "output_encoding": _OUTPUTS}
_REPLACEMENT: Final = {"errors": b"replace", "replacement_char": 65533}
_DECODING: Final[dict[str, Any]] = {
    "input_encoding": bytes,
    **_REPLACEMENT,
    "replace_control_characters": False,
}


def _decoded(ctx: ShapeContext) -> rules.Shapes:
    count = shapes.num_elements(ctx.inputs[0])
    splits = (None if count is None else count + 1,)
    return (splits, (None,), (None,))


def _encoded(ctx: ShapeContext) -> rules.Shapes:
    shapes.with_rank(ctx.inputs[0], 1)
    (size,) = rules.with_rank(ctx.inputs[1], 1)
    if size == 0:
        raise ValueError("Negative dimension size caused by subtracting 1 from 0")
    return ((None if size is None else size - 1,),)


define(
    OpDef(
        "UnicodeTranscode",
        ("input: string",),
        ("output: string",),
        attrs={**_DECODING, "output_encoding": bytes},
        shape=rules.unchanged,
        not_differentiable=True,
        choices=_CHOICES,
    )
)
define(
    OpDef(
        "UnicodeScript",
        ("input: int32",),
        ("output: int32",),
        shape=rules.unchanged,
        not_differentiable=True,
    )
)
for _name, _offsets in (
    ("UnicodeDecode", ()),
    ("UnicodeDecodeWithOffsets", ("char_to_byte_starts: int64",)),
):
    define(
        OpDef(
            _name,
            ("input: string",),
            ("row_splits: Tsplits", "char_values: int32", *_offsets),
            attrs={**_DECODING, "Tsplits": dtypes.int64},
            shape=_decoded if _offsets else lambda ctx: _decoded(ctx)[:2],
            not_differentiable=True,
            types={"Tsplits": typesets.INDEX},
            choices={"errors": _CHOICES["errors"]},
        )
    )
define(
    OpDef(
        "UnicodeEncode",
        ("input_values: int32", "input_splits: Tsplits"),
        ("output: string",),
        attrs={**_REPLACEMENT, "output_encoding": bytes, "Tsplits": dtypes.int64},
        shape=_encoded,
        not_differentiable=True,
        types={"Tsplits": typesets.INDEX},
        choices=_CHOICES,
    )
)
