"""Kernels of the datasets that read tables and records."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.core import attr_value, cancellation, dtypes
from capstan.kernels import csv, datasets, readers, rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string
from capstan.resources import (
    csv_records,
    dataset_batch,
    dataset_files,
    dataset_functions,
    dataset_order,
    dataset_sql,
    elements,
    variant,
)
from capstan.resources.dataset import Captured, Dataset, Element, Spec

_STRINGS = Spec((dtypes.string,), ((),))
_SQL_TYPES = (
    *(dtypes.string, dtypes.bool_, dtypes.float64),
    *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16),
)


def _compression_in(value: Any) -> str:
    """Return the value of the input `compression_type`.

    Raises:
        InvalidArgumentError: there is no such compression.
    """
    compression = string(value, "compression_type").decode(errors="replace")
    if compression not in ("", "ZLIB", "GZIP"):
        raise invalid("Unsupported compression_type.")
    return compression


def _names_in(filenames: Any) -> tuple[bytes, ...]:
    """Return the names of files in a scalar or a vector.

    Raises:
        InvalidArgumentError: the tensor has more axes.
    """
    if filenames.ndim > 1:
        raise invalid("`filenames` must be a scalar or a vector.")
    return tuple(filenames.reshape(-1).tolist())


def _files(node: NodeContext) -> Function:
    """Return the kernel of the datasets that read the lines or the records of files."""
    kind = node.op

    def read(filenames: Any, *inputs: Any) -> Any:
        numbers = [rejection.number(value, "bytes") for value in inputs if value.dtype != object]
        texts = [value for value in inputs if value.dtype == object]
        compression = _compression_in(texts[0]) if texts else ""
        if kind == "TextLineDataset":
            open_file = functools.partial(dataset_files.lines, compression)
        elif kind == "TFRecordDataset":
            open_file = functools.partial(dataset_files.records, compression)
        else:
            header, record, footer = numbers[:3]
            if record <= 0:
                raise invalid("`record_bytes` must be > 0")
            open_file = functools.partial(dataset_files.fixed, header, record, footer, compression)
        return variant.scalar(dataset_files.Files(_STRINGS, _names_in(filenames), open_file))

    return read


class _Fields:
    """Reads CSV records, as the function of a dataset. Thread-safe."""

    may_block = False
    over_blocks = None

    def __init__(
        self,
        types: Sequence[dtypes.DType],
        defaults: Sequence[Any],
        split: csv.Splitter,
        excluded: frozenset[int],
        na_value: bytes,
    ) -> None:
        self._split, self._excluded, self._missing = split, excluded, (b"", na_value)
        self._columns = [
            (csv.converter(place, dtype), dtype.as_numpy_dtype, csv.default(place, value))
            for place, (dtype, value) in enumerate(zip(types, defaults, strict=True))
        ]

    def bound(
        self, cancelled: cancellation.Cancellation | None = None
    ) -> Callable[..., tuple[Any, ...]]:
        return self._parse

    def _parse(self, record: Any) -> Element:
        fields = self._split(record.item()) or [b""]
        if self._excluded:
            fields = [each for place, each in enumerate(fields) if place not in self._excluded]
        if len(fields) != len(self._columns):
            raise invalid(f"Expect {len(self._columns)} fields but have {len(fields)} in record")
        values = []
        for place, (field, (convert, kind, default)) in enumerate(
            zip(fields, self._columns, strict=True)
        ):
            if field not in self._missing:
                value = convert(field, "record")
            elif default is csv.MISSING:
                raise invalid(f"Field {place} is required but missing in record!")
            else:
                value = default
            values.append(elements.scalar(value) if kind is object else kind(value))
        return tuple(values)


def _csv(node: NodeContext) -> Function:
    spec = datasets.spec_of(node)
    count = len(spec.types)

    def read(filenames: Any, compression: Any, buffer_size: Any, *others: Any) -> Any:
        header, delimiter, quotes, na_value, select, *rest = others
        chosen = rejection.vector(select, "select_cols")
        excluded = list(itertools.chain(*(each.tolist() for each in rest[count:])))
        if chosen and excluded:
            raise invalid("Only one of select_cols or exclude_cols may be given")
        attrs = {
            "field_delim": string(delimiter, "field_delim"),
            "select_cols": chosen,
            "use_quote_delim": bool(quotes),
        }
        parser = _Fields(
            spec.types,
            rest[:count],
            csv.splitter(attrs, count),
            frozenset(excluded),
            string(na_value, "na_value"),
        )
        open_file = functools.partial(
            csv_records.opened,
            attrs["field_delim"],
            bool(quotes),
            bool(header),
            _compression_in(compression),
        )
        files = dataset_files.Files(_STRINGS, _names_in(filenames), open_file)
        return variant.scalar(dataset_functions.Map(spec, files, Captured(parser)))

    return read


def _sql(spec: Spec, driver: Any, source: Any, query: Any) -> Dataset:
    name = attr_value.text(string(driver, "driver_name"))
    if name != "sqlite":
        raise invalid(
            f"tensorflow: The database type, {name}, is not supported by SqlDataset. The set of "
            "supported databases is: {'sqlite'}."
        )
    for dtype in spec.types:
        if dtype not in _SQL_TYPES:
            raise invalid(
                f"Each element of `output_types_` must be one of: {', '.join(map(str, _SQL_TYPES))}"
                f", but one is {dtype.name}"
            )
    texts = attr_value.text(string(source, "data_source_name")), string(query, "query").decode()
    return dataset_sql.Rows(spec, *texts)


def _matching(_: NodeContext) -> Function:
    def matching(patterns: Any) -> Any:
        names = readers.matching(patterns)
        rows = tuple((elements.scalar(name),) for name in names)
        return variant.scalar(dataset_batch.Rows(_STRINGS, rows))

    return matching


def _records(_: NodeContext) -> Function:
    def read(filenames: Any, compression: Any, buffer_size: Any, offsets: Any) -> Any:
        names = _names_in(filenames)
        starts: list[int] = np.asarray(offsets).reshape(-1).tolist() or [0] * len(names)
        if len(starts) != len(names):
            raise invalid("filenames and byte_offsets must have same size")
        open_file = functools.partial(dataset_files.records, _compression_in(compression))
        if not any(starts):
            return variant.scalar(dataset_files.Files(_STRINGS, names, open_file))
        parts: list[Dataset] = [
            dataset_files.Files(_STRINGS, (name,), functools.partial(open_file, offset=start))
            for name, start in zip(names, starts, strict=True)
        ]
        return variant.scalar(
            functools.reduce(functools.partial(dataset_order.Concatenate, _STRINGS), parts)
        )

    return read


for _prefix in ("", "Experimental"):
    register(Kernel(f"{_prefix}SqlDataset", datasets.plain(_sql)))
    register(Kernel(f"{_prefix}MatchingFilesDataset", _matching))
    register(Kernel(f"{_prefix}CSVDataset", _csv))
register(Kernel("CSVDatasetV2", _csv))
register(Kernel("TFRecordDatasetV2", _records))
for _op in (
    "TextLineDataset",
    "TFRecordDataset",
    "FixedLengthRecordDataset",
    "FixedLengthRecordDatasetV2",
):
    register(Kernel(_op, _files))
