"""Kernels of the datasets that read CSV files (kernels/data/experimental/csv_dataset_op.cc)."""

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from capstan import errors
from capstan.core import dtypes
from capstan.kernels import csv, dataset_records, datasets, rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string
from capstan.resources import dataset_csv, elements, variant
from capstan.resources.dataset import Element


class _Fields:
    """Reads records. Thread-safe."""

    def __init__(
        self,
        types: Sequence[dtypes.DType],
        defaults: Sequence[Any],
        syntax: dataset_csv.Syntax,
        delimiter: bytes,
        *,
        chosen: frozenset[int],
        excluded: frozenset[int],
        na_value: bytes,
    ) -> None:
        self._syntax, self._delimiter = syntax, delimiter
        self._chosen, self._excluded, self._missing = chosen, excluded, (b"", na_value)
        self._columns = [
            (csv.converter(place, dtype), dtype.as_numpy_dtype, csv.default(place, value))
            for place, (dtype, value) in enumerate(zip(types, defaults, strict=True))
        ]

    def parse(self, record: bytes) -> Element:
        """Return the values of the chosen fields.

        Raises:
            InvalidArgumentError: a field is damaged, also one that is not chosen, or the number of
                fields is wrong.
        """
        count = len(self._columns)
        values: list[Any] = []
        for place, field in enumerate(self._fields(record)):
            if place in self._excluded or (self._chosen and place not in self._chosen):
                continue
            if len(values) == count:
                raise invalid(f"Expect {count} fields but have more in record")
            values.append(self._value(len(values), field))
        if len(values) != count:
            raise invalid(f"Expect {count} fields but have {len(values)} in record")
        return tuple(values)

    def check(self, header: bytes | None) -> None:
        """Raise InvalidArgumentError if a file has no header, or a damaged one."""
        wrong = invalid("Can't read header of file")
        if header is None:
            raise wrong
        try:
            for _ in self._fields(header):
                pass
        except errors.InvalidArgumentError as error:
            raise wrong from error

    def _fields(self, record: bytes) -> Iterator[bytes]:
        """Return the fields, and raise InvalidArgumentError in the place of a damaged one."""
        if not self._syntax.is_special(record):
            return iter(record.split(self._delimiter))
        return self._scan(record)

    def _scan(self, record: bytes) -> Iterator[bytes]:
        at = 0
        while at <= len(record):
            end = self._syntax.end(record, at, is_inside=False)
            if end is None:
                raise invalid("Reached end of file without closing quoted field in record")
            if self._syntax.is_quoted(record, at):
                field = record[at + 1 : end - 1]
                if b'"' in field.replace(b'""', b""):
                    raise invalid("Quote inside a string has to be escaped by another quote")
                yield field.replace(b'""', b'"')
            else:
                field = record[at:end]
                if self._syntax.is_special(field):
                    raise invalid("Unquoted fields cannot have quotes inside")
                yield field
            at = end + 1

    def _value(self, place: int, field: bytes) -> Any:
        convert, kind, default = self._columns[place]
        if field not in self._missing:
            value = convert(field, "record")
        elif default is csv.MISSING:
            raise invalid(f"Field {place} is required but missing in record!")
        else:
            value = default
        return elements.scalar(value) if kind is object else kind(value)


def _csv(node: NodeContext) -> Function:
    spec = datasets.spec_of(node)
    count = len(spec.types)

    def read(filenames: Any, compression: Any, buffer_size: Any, *others: Any) -> Any:
        header, field_delim, quotes, na_value, select, *rest = others
        chosen = rejection.vector(select, "select_cols")
        excluded = list(itertools.chain(*(each.tolist() for each in rest[count:])))
        if chosen and excluded:
            raise invalid("Only one of select_cols or exclude_cols may be given")
        delimiter = string(field_delim, "field_delim")
        csv.check_syntax(delimiter, chosen, count)
        syntax = dataset_csv.Syntax(delimiter, has_quotes=bool(quotes))
        fields = _Fields(
            spec.types,
            rest[:count],
            syntax,
            delimiter,
            chosen=frozenset(chosen),
            excluded=frozenset(excluded),
            na_value=string(na_value, "na_value"),
        )
        open_file = functools.partial(
            dataset_csv.records, syntax, bool(header), dataset_records.compression_in(compression)
        )
        names = dataset_records.names_in(filenames)
        return variant.scalar(dataset_csv.Rows(spec, names, open_file, fields.parse, fields.check))

    return read


for _op in ("CSVDataset", "CSVDatasetV2", "ExperimentalCSVDataset"):
    register(Kernel(_op, _csv))
