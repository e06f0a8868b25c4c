"""Reads the keys and values of lookup tables from text files (core/kernels/lookup_util.cc)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.kernels.rejection import invalid
from capstan.resources import files

_LINE_NUMBER: Final = -1
_WHOLE_LINE: Final = -2
_READERS: Final[dict[dtypes.DType, Callable[[bytes], Any]]] = {
    dtypes.int32: int,
    dtypes.int64: int,
    dtypes.float32: float,
    dtypes.float64: float,
    dtypes.string: bytes,
}


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a line has its key and its value.

    An index is that of a column between delimiters, -1 for the number of the line plus `offset`,
    or -2 for the whole line.
    """

    key: int
    value: int
    delimiter: bytes
    offset: int

    def check(self, key_dtype: dtypes.DType, value_dtype: dtypes.DType) -> None:
        """Raise InvalidArgumentError if a column cannot have its dtype."""
        if len(self.delimiter) != 1:
            raise invalid("delimiter should be only 1 char")
        for part, index, dtype in (
            ("Key", self.key, key_dtype),
            ("Value", self.value, value_dtype),
        ):
            small = part.lower()
            if index == _LINE_NUMBER and dtype is not dtypes.int64:
                raise invalid(
                    f"{part} index for line number requires table {small} dtype of int64, got "
                    f"{dtypes.cpp_name(dtype)}"
                )
            if index == _WHOLE_LINE and not (dtype.is_integer or dtype is dtypes.string):
                raise invalid(
                    f"{part} index for whole line requires {_wanted(part)}, got "
                    f"{'table with ' if part == 'Key' else ''}{small} dtype "
                    f"{dtypes.cpp_name(dtype)}"
                )


def _wanted(part: str) -> str:
    return "string or integer table key" if part == "Key" else "string or integer table value"


def read(
    file: str, columns: Columns, count: int, key_dtype: dtypes.DType, value_dtype: dtypes.DType
) -> tuple[list[Any], Array]:
    """Return the keys and values in the first `count` lines of a file. -1 stands for all lines.

    Raises:
        InvalidArgumentError: the file has fewer lines, or a line lacks a column or has no number
            where the dtype is one.
        OutOfRangeError: the file is empty, or `count` is 0.
    """
    content = files.read_all(file)
    lines = content.replace(b"\r", b"").split(b"\n")
    if not lines[-1]:
        lines.pop()
    if count == 0:
        raise errors.OutOfRangeError(None, None, f"Finished reading 0 of lines from {file}")
    if not lines:
        raise errors.OutOfRangeError(None, None, "Read less bytes than requested")
    keys, values = [], []
    for number, line in enumerate(lines if count < 0 else lines[:count]):
        if not line:
            end = sum(len(each) + 1 for each in content.split(b"\n")[: number + 1])
            raise invalid(f"Invalid content in {file}: empty line found at position {end}.")
        fields = _fields(file, columns, number, line)
        keys.append(_field(columns.key, key_dtype, columns, number, line, fields))
        values.append(_field(columns.value, value_dtype, columns, number, line, fields))
    if len(keys) < count:
        raise invalid(f"Invalid vocab_size in {file}: expected {count} but got {len(keys)}")
    array = np.empty(len(values), value_dtype.as_numpy_dtype)
    array[:] = values
    return keys, array


def _fields(file: str, columns: Columns, number: int, line: bytes) -> Sequence[bytes]:
    expected = max(columns.key, columns.value) + 1
    if expected <= 0:
        return ()
    fields = line.split(columns.delimiter)
    if len(fields) < expected:
        raise invalid(
            f"Invalid number of columns in {file} line {number} ({line.decode(errors='replace')}) "
            f": expected at least {expected} got {len(fields)}"
        )
    return fields


def _field(
    index: int,
    dtype: dtypes.DType,
    columns: Columns,
    number: int,
    line: bytes,
    fields: Sequence[bytes],
) -> Any:
    if index == _LINE_NUMBER:
        return number + columns.offset
    text = line if index == _WHOLE_LINE else fields[index]
    reader = _READERS.get(dtype)
    if reader is None:
        raise invalid(f"Data type {dtypes.cpp_name(dtype)} not supported.")
    try:
        return reader(text)
    except ValueError:
        shown = text.decode(errors="replace")
        name = dtypes.cpp_name(dtype)
        raise invalid(f"Field {shown} in line {number} is not a valid {name}.") from None
