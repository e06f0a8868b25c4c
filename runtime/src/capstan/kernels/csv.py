"""Splits a CSV record into fields, and reads the fields (core/kernels/decode_csv_op.cc)."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.core import attr_value, dtypes
from capstan.kernels import numbers
from capstan.kernels.rejection import invalid

_QUOTE = ord('"')
_BREAKS = frozenset(b"\r\n")

MISSING: Final = object()
"""The default of a field that each record must have."""

Splitter = Callable[[bytes], list[bytes]]


def splitter(attrs: Mapping[str, Any], outputs: int) -> Splitter:
    """Return the function that splits records as the attributes of a `DecodeCSV` say.

    It raises InvalidArgumentError if a record has a quote in a wrong place. `outputs` is the number
    of columns that the node returns.

    Raises:
        InvalidArgumentError: the attributes contradict each other.
    """
    delimiter = attr_value.text(attrs["field_delim"]).encode(errors="surrogateescape")
    columns = list(attrs["select_cols"])
    check_syntax(delimiter, columns, outputs)
    has_quotes = bool(attrs["use_quote_delim"])

    def split(record: bytes) -> list[bytes]:
        if not record:
            return []
        is_plain = b"\n" not in record and b"\r" not in record
        if is_plain and not (has_quotes and b'"' in record):
            fields = record.split(delimiter)
        else:
            last = columns[-1] + 1 if columns else None
            fields = _scan(record, delimiter[0], last, has_quotes=has_quotes)
        return [fields[at] for at in columns if at < len(fields)] if columns else fields

    return split


def check_syntax(delimiter: bytes, columns: Sequence[int], outputs: int) -> None:
    """Raise InvalidArgumentError if no record can be read so.

    `columns` are the indices of the fields to read, or nothing for all of them.
    """
    if columns and len(columns) != outputs:
        raise invalid("select_cols should match output size")
    if any(first >= second for first, second in itertools.pairwise(columns)):
        raise invalid("select_cols should be strictly increasing indices")
    if columns and columns[0] < 0:
        raise invalid("select_cols should be non-negative indices")
    if len(delimiter) != 1:
        raise invalid("field_delim should be only 1 char")


def default(position: int, value: Any) -> Any:
    """Return the default of a field, or `MISSING` if the field is required.

    Raises:
        InvalidArgumentError: the tensor holds several values.
    """
    array = np.asarray(value)
    if array.ndim > 1:
        raise invalid("Each record default should be at most rank 1")
    if array.size > 1:
        raise invalid(
            f"There should only be 1 default per field but field {position} has {array.size}"
        )
    return array.item() if array.size else MISSING


def converter(position: int, dtype: dtypes.DType) -> Callable[[bytes, str], Any]:
    """Return the function that reads the value of a field.

    It takes the text and the name of the record, and raises InvalidArgumentError if the text is not
    of the type.

    Raises:
        InvalidArgumentError: no field can have this type.
    """
    if dtype is dtypes.string:
        return lambda field, record: field
    parse = numbers.PARSERS.get(dtype)
    if parse is None:
        raise invalid(f"csv: data type {dtype.name} not supported in field {position}")
    kind = {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)

    def convert(field: bytes, record: str) -> Any:
        try:
            return parse(field)
        except ValueError:
            text = field.decode(errors="replace")
            raise invalid(f"Field {position} in {record} is not a valid {kind}: {text}") from None

    return convert


def table(
    records: Sequence[bytes], split: Splitter, columns: int
) -> list[tuple[bytes, ...]] | None:
    """Return the fields of each column.

    Return None if a record cannot be split, or has another number of fields.
    """
    try:
        rows = [split(record) for record in records]
    except errors.InvalidArgumentError:
        return None
    if any(len(row) != columns for row in rows):
        return None
    return list(zip(*rows, strict=True))


def _scan(record: bytes, delimiter: int, last: int | None, *, has_quotes: bool) -> list[bytes]:
    """Return the fields of a record that has quotes or line breaks: the first `last`, or all."""
    fields: list[bytes] = []
    at = 0
    while at < len(record):
        if record[at] in _BREAKS:
            at += 1
            continue
        if has_quotes and record[at] == _QUOTE:
            field, at = _quoted(record, at + 1, delimiter)
        else:
            field, at = _unquoted(record, at, delimiter, has_quotes=has_quotes)
        fields.append(field)
        if len(fields) == last:
            return fields
    if record[-1] == delimiter:
        fields.append(b"")
    return fields


def _unquoted(record: bytes, at: int, delimiter: int, *, has_quotes: bool) -> tuple[bytes, int]:
    """Return the field that begins at `at`, and the position after its delimiter."""
    end = record.find(delimiter, at)
    field = record[at:] if end < 0 else record[at:end]
    if (has_quotes and b'"' in field) or not _BREAKS.isdisjoint(field):
        raise invalid("Unquoted fields cannot have quotes/CRLFs inside")
    return field, at + len(field) + 1


def _quoted(record: bytes, at: int, delimiter: int) -> tuple[bytes, int]:
    """Return the field whose opening quote is before `at`, and the position after its delimiter."""
    field = bytearray()
    last = len(record) - 1
    while at < last and (record[at] != _QUOTE or record[at + 1] != delimiter):
        field.append(record[at])
        if record[at] == _QUOTE:
            if record[at + 1] != _QUOTE:
                raise invalid("Quote inside a string has to be escaped by another quote")
            at += 1
        at += 1
    if at > last or record[at] != _QUOTE:
        raise invalid("Quoted field has to end with quote followed by delim or end")
    return bytes(field), at + 2
