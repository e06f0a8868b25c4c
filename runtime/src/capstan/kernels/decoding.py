"""Kernels that turn strings into numbers and columns.

Sources: core/kernels/{decode_csv,decode_raw,decode_padded_raw,string_to_number,parse_tensor}_op.cc.
"""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.core import attr_value, dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels import csv, numbers
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number, string
from capstan.resources import elements, variant, variant_message


def _decode_csv(node: NodeContext) -> Function:
    types: Sequence[dtypes.DType] = node.attrs["OUT_TYPE"]
    fields = csv.splitter(node.attrs, len(types))
    na_value = attr_value.text(node.attrs["na_value"]).encode(errors="surrogateescape")
    missing = frozenset((b"", na_value))
    converters = [csv.converter(position, dtype) for position, dtype in enumerate(types)]

    def decode(records: Array, *defaults: Array) -> Any:
        values = [csv.default(position, value) for position, value in enumerate(defaults)]
        strings = np.asarray(records, object)
        texts = strings.ravel().tolist()
        columns = _all_columns(texts, fields, types, values, missing) if len(texts) > 1 else None
        if columns is None:
            columns = by_row(texts, values)
        with np.errstate(over="ignore"):
            results = [
                _column(column, dtype, strings.shape)
                for column, dtype in zip(columns, types, strict=True)
            ]
        return results[0] if len(results) == 1 else tuple(results)

    def by_row(texts: Sequence[bytes], values: Sequence[Any]) -> list[list[Any]]:
        columns: list[list[Any]] = [[] for _ in types]
        for row, record in enumerate(texts):
            found = fields(record)
            if len(found) != len(types):
                raise invalid(f"Expect {len(types)} fields but have {len(found)} in record {row}")
            for position, field in enumerate(found):
                if field not in missing:
                    columns[position].append(converters[position](field, f"record {row}"))
                elif values[position] is csv.MISSING:
                    raise invalid(f"Field {position} is required but missing in record {row}!")
                else:
                    columns[position].append(values[position])
        return columns

    return decode


def _all_columns(
    records: Sequence[bytes],
    split: csv.Splitter,
    types: Sequence[dtypes.DType],
    defaults: Sequence[Any],
    missing: frozenset[bytes],
) -> list[list[Any]] | None:
    """Return the values of each column, or None if the records have to be read one by one.

    Reading a column at once takes a third of the time. An error needs the number of its record.
    """
    table = csv.table(records, split, len(types))
    if table is None:
        return None
    columns = []
    for texts, dtype, default in zip(table, types, defaults, strict=True):
        given = [text for text in texts if text not in missing]
        found = given if dtype is dtypes.string else numbers.all_of(dtype, given)
        if found is None or (len(given) < len(texts) and default is csv.MISSING):
            return None
        if len(given) < len(texts):
            rest = iter(found)
            found = [default if text in missing else next(rest) for text in texts]
        columns.append(found)
    return columns


def _column(values: Sequence[Any], dtype: dtypes.DType, shape: tuple[int, ...]) -> Array:
    # A fast path for one string: programs that read lines through queues decode one line per step.
    if not shape:
        return np.array(values[0], dtype.as_numpy_dtype)
    column = np.empty(len(values), dtype.as_numpy_dtype)
    column[:] = values
    return column.reshape(shape)


def _decode_raw(node: NodeContext) -> Function:
    dtype, words = _words(node)

    def decode(strings: Array) -> Array:
        array = np.asarray(strings, object)
        parts = array.ravel().tolist()
        length = len(parts[0]) if parts else 0
        for position, part in enumerate(parts):
            if len(part) != length:
                raise invalid(
                    "DecodeRaw requires input strings to all be the same size, but element "
                    f"{position} has size {length} != {len(part)}"
                )
        if length % words.itemsize:
            raise invalid(
                f"Input to DecodeRaw has length {length} that is not a multiple of "
                f"{words.itemsize}, the size of {dtypes.cpp_name(dtype)}"
            )
        values = np.frombuffer(b"".join(parts), words).astype(dtype.as_numpy_dtype)
        return values.reshape(*array.shape, length // words.itemsize)

    return decode


def _decode_padded_raw(node: NodeContext) -> Function:
    dtype, words = _words(node)

    def decode(strings: Array, fixed_length: Array) -> Array:
        array = np.asarray(strings, object)
        length = number(np.asarray(fixed_length), "fixed_length")
        if length <= 0 or length % words.itemsize:
            raise invalid(
                f"fixed_length ({length}) must be a multiple of the size of out_type "
                f"({words.itemsize}) and greater than 0"
            )
        parts = [part[:length].ljust(length, b"\0") for part in array.ravel().tolist()]
        values = np.frombuffer(b"".join(parts), words).astype(dtype.as_numpy_dtype)
        return values.reshape(*array.shape, length // words.itemsize)

    return decode


def _words(node: NodeContext) -> tuple[dtypes.DType, np.dtype[Any]]:
    """Return the output type, and the type with the byte order of the strings."""
    dtype = node.attrs["out_type"]
    order = "<" if node.attrs["little_endian"] else ">"
    return dtype, np.dtype(dtype.as_numpy_dtype).newbyteorder(order)


def _string_to_number(node: NodeContext) -> Function:
    dtype = node.attrs["out_type"]
    parse = numbers.PARSERS[dtype]

    def checked(text: bytes) -> int | float:
        try:
            return parse(text)
        except ValueError:
            raise invalid(
                "StringToNumberOp could not correctly convert string: "
                f"{text.decode(errors='replace')}"
            ) from None

    def convert(strings: Array) -> Array:
        array = np.asarray(strings, object)
        texts = array.ravel().tolist()
        values = numbers.all_of(dtype, texts)
        if values is None:
            values = list(map(checked, texts))
        with np.errstate(over="ignore"):
            return _column(values, dtype, array.shape)

    return convert


def _parse_tensor(node: NodeContext) -> Function:
    dtype = node.attrs["out_type"]

    def parse(serialized: Array) -> Array:
        from google.protobuf import message
        from tensorboard.compat.proto import tensor_pb2

        array = np.asarray(serialized, object)
        if array.ndim:
            raise invalid(
                f"Expected `serialized` to be a scalar, got shape: {shapes.show(array.shape)}"
            )
        content = string(array, "serialized")
        try:
            proto = tensor_pb2.TensorProto.FromString(content)
        except message.DecodeError:
            encoded = base64.b64encode(content).decode()
            raise invalid(
                f"Could not parse `serialized` as TensorProto, base64: {encoded}"
            ) from None
        parsed = dtypes.as_dtype(proto.dtype) if proto.dtype else None
        if parsed is not dtype:
            raise invalid(
                f"Type mismatch between parsed tensor ({_shown(parsed)}) and dtype "
                f"({_shown(dtype)})"
            )
        try:
            return variant_message.array_of(proto)
        except (ValueError, TypeError) as fault:
            raise invalid(f"Could not parse `serialized` as TensorProto: {fault}") from fault

    return parse


def _shown(dtype: dtypes.DType | None) -> str:
    return "invalid" if dtype is None else dtypes.cpp_name(dtype)


def _serialize_tensor(node: NodeContext) -> Function:
    (dtype,) = node.input_dtypes

    def serialize(tensor: Any) -> Array:
        proto = variant.tensor_to_proto(tensor, dtype)
        return elements.scalar(proto.SerializeToString())

    return serialize


for _op, _make in (
    ("DecodeCSV", _decode_csv),
    ("DecodeRaw", _decode_raw),
    ("DecodePaddedRaw", _decode_padded_raw),
    ("StringToNumber", _string_to_number),
    ("ParseTensor", _parse_tensor),
    ("SerializeTensor", _serialize_tensor),
):
    register(Kernel(_op, _make))
