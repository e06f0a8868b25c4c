"""Ops that turn strings into tensors (python/ops/parsing_ops.py)."""

import itertools
from collections.abc import Sequence
from typing import Any

from capstan.api import deprecation, plain
from capstan.core import dtypes
from capstan.framework.raw import raw

__all__ = [
    "decode_base64", "decode_compressed", "decode_csv", "decode_json_example", "decode_raw",
    "encode_base64",    "parse_tensor", "serialize_tensor", "string_to_number",
]  # fmt: skip

decode_base64 = plain.function(
    "decode_base64", "DecodeBase64", "Return the bytes of strings in web-safe base64."
)
decode_json_example = plain.function(
    "decode_json_example",
    "DecodeJSONExample",
    "Return Examples in the JSON of protocol buffers as serialized Examples.",
)
serialize_tensor = plain.function(
    "serialize_tensor", "SerializeTensor", "Return a tensor as a serialized TensorProto."
)


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Any]:
    """Return one tensor per column of CSV records (RFC 4180). Each has the shape of `records`.

    The types of the columns are the types of the defaults: float32, float64, int32, int64 or
    string. An empty field, or a field that equals `na_value`, gets the default. A default of shape
    [0] makes its field required. `select_cols` lists the columns to return, in rising order.

    Raises:
        ValueError: `select_cols` is not rising, has a negative index, or does not fit the defaults.
    """
    if select_cols is not None:
        if any(first >= second for first, second in itertools.pairwise(select_cols)):
            raise ValueError("select_cols is not strictly increasing.")
        if select_cols and select_cols[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(select_cols) != len(record_defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    columns: list[Any] = raw.DecodeCSV(
        records,
        record_defaults,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=list(select_cols or ()),
        name=name,
    )
    return columns


def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Any:
    """Return the bytes of each string as numbers of type `out_type`, along a new last axis.

    `bytes` is the old name of `input_bytes`.

    Raises:
        ValueError: an argument is missing, or both `input_bytes` and `bytes` are given.
    """
    input_bytes = deprecation.deprecated_argument_lookup("input_bytes", input_bytes, "bytes", bytes)
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    return raw.DecodeRaw(
        input_bytes, out_type=dtypes.as_dtype(out_type), little_endian=little_endian, name=name
    )


def string_to_number(
    string_tensor: Any = None,
    out_type: Any = dtypes.float32,
    name: str | None = None,
    input: Any = None,
) -> Any:
    """Return the numbers that the strings of a tensor hold, as float32, float64, int32 or int64."""
    strings = string_tensor if input is None else input
    return raw.StringToNumber(strings, out_type=dtypes.as_dtype(out_type), name=name)


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Any:
    """Return the tensor in a serialized TensorProto. Its type must be `out_type`."""
    return raw.ParseTensor(serialized, out_type=dtypes.as_dtype(out_type), name=name)


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Any:
    """Return strings in web-safe base64. `pad` fills them up with `=`."""
    return raw.EncodeBase64(input, pad=pad, name=name)


def decode_compressed(
    bytes: Any,
    compression_type: str = "",
    name: str | None = None,
) -> Any:
    """Return strings that were compressed as `compression_type`: ZLIB, GZIP, or "" for none.

    A string that was not compressed in this way makes the step raise DataLossError.
    """
    return raw.DecodeCompressed(bytes, compression_type=compression_type, name=name)
