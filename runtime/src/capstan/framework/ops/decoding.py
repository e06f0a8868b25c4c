"""Rows of the ops that turn strings into numbers and columns (core/ops/parsing_ops.cc)."""

from capstan.core import dtypes, shapes
from capstan.framework.opdef import OpDef, ShapeContext, define
from capstan.framework.ops import rules

_WORDS = (
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.uint16, dtypes.uint8,
    dtypes.int16, dtypes.int8, dtypes.int64, dtypes.bfloat16,
)  # fmt: skip
_NUMBERS = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)


def _columns(ctx: ShapeContext) -> rules.Shapes:
    for shape in ctx.inputs[1:]:
        known = shapes.with_rank_at_most(shape, 1)
        if known and known[0] is not None and known[0] > 1:
            raise ValueError(
                "Shape of a default must be a length-0 or length-1 vector, or a scalar."
            )
    return (ctx.inputs[0],) * (len(ctx.inputs) - 1)


def _raw(ctx: ShapeContext) -> rules.Shapes:
    return (shapes.concatenate(ctx.inputs[0], (None,)),)


def _padded(ctx: ShapeContext) -> rules.Shapes:
    length = ctx.constant(1)
    size = ctx.attrs["out_type"].size
    width = None if length is None else int(length) // size
    if length is not None and int(length) % size:
        raise ValueError(f"Dimension size must be evenly divisible by {size} but is {int(length)}")
    return (shapes.concatenate(ctx.inputs[0], (width,)),)


define(
    OpDef(
        "DecodeCSV",
        ("records: string", "record_defaults: OUT_TYPE"),
        ("output: OUT_TYPE",),
        attrs={
            "OUT_TYPE": list,
            "field_delim": b",",
            "use_quote_delim": True,
            "na_value": b"",
            "select_cols": [],
        },
        minima={"OUT_TYPE": 1},
        shape=_columns,
        not_differentiable=True,
        types={"OUT_TYPE": (*_NUMBERS, dtypes.string)},
    )
)
define(
    OpDef(
        "DecodeRaw",
        ("bytes: string",),
        ("output: out_type",),
        attrs={"out_type": dtypes.DType, "little_endian": True},
        shape=_raw,
        not_differentiable=True,
        types={"out_type": (*_WORDS, dtypes.complex64, dtypes.complex128, dtypes.bool_)},
    )
)
define(
    OpDef(
        "DecodePaddedRaw",
        ("input_bytes: string", "fixed_length: int32"),
        ("output: out_type",),
        attrs={"out_type": dtypes.DType, "little_endian": True},
        shape=_padded,
        not_differentiable=True,
        types={"out_type": _WORDS},
        host=("fixed_length",),
    )
)
define(
    OpDef(
        "StringToNumber",
        ("string_tensor: string",),
        ("output: out_type",),
        attrs={"out_type": dtypes.float32},
        shape=rules.unchanged,
        not_differentiable=True,
        types={"out_type": _NUMBERS},
    )
)
define(
    OpDef(
        "ParseTensor",
        ("serialized: string",),
        ("output: out_type",),
        attrs={"out_type": dtypes.DType},
        shape=lambda ctx: (None,),
        not_differentiable=True,
    )
)
define(
    OpDef(
        "SerializeTensor",
        ("tensor: T",),
        ("serialized: string",),
        shape=rules.scalar,
        not_differentiable=True,
    )
)
