"""Kernels of the datasets that read tables and records."""

import functools
from typing import Any

import numpy as np

from capstan.core import attr_value, dtypes
from capstan.kernels import datasets, readers, rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string
from capstan.resources import (
    dataset_files,
    dataset_order,
    dataset_sql,
    dataset_windows,
    elements,
    record_finder,
    variant,
)
from capstan.resources.dataset import Dataset, Spec

_STRINGS = Spec((dtypes.string,), ((),))
_SQL_TYPES = (
    *(dtypes.string, dtypes.bool_, dtypes.float64),
    *(dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16),
)


def compression_in(value: Any) -> str:
    """Return the value of the input `compression_type`.

    Raises:
        InvalidArgumentError: there is no such compression.
    """
    compression = string(value, "compression_type").decode(errors="replace")
    if compression not in ("", "ZLIB", "GZIP"):
        raise invalid("Unsupported compression_type.")
    return compression


def names_in(filenames: Any) -> tuple[bytes, ...]:
    """Return the names of files in a scalar or a vector.

    Raises:
        InvalidArgumentError: the tensor has more axes.
    """
    if filenames.ndim > 1:
        raise invalid("`filenames` must be a scalar or a vector.")
    return tuple(filenames.reshape(-1).tolist())


def _files(node: NodeContext) -> Function:
    """Return the kernel of the datasets that read the lines or the records of files."""
    kind, find = node.op, record_finder.Finder()

    def read(filenames: Any, *inputs: Any) -> Any:
        numbers = [rejection.number(value, "bytes") for value in inputs if value.dtype != object]
        texts = [value for value in inputs if value.dtype == object]
        compression = compression_in(texts[0]) if texts else ""
        if kind == "TextLineDataset":
            open_file = functools.partial(dataset_files.lines, compression)
        elif kind == "TFRecordDataset":
            open_file = functools.partial(dataset_files.records, compression, find)
        else:
            header, record, footer = numbers[:3]
            if record <= 0:
                raise invalid("`record_bytes` must be > 0")
            open_file = functools.partial(dataset_files.fixed, header, record, footer, compression)
        return variant.scalar(dataset_files.Files(_STRINGS, names_in(filenames), open_file))

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
        return variant.scalar(dataset_windows.Rows(_STRINGS, rows))

    return matching


def _records(_: NodeContext) -> Function:
    find = record_finder.Finder()

    def read(filenames: Any, compression: Any, buffer_size: Any, offsets: Any) -> Any:
        names = names_in(filenames)
        starts: list[int] = np.asarray(offsets).reshape(-1).tolist() or [0] * len(names)
        if len(starts) != len(names):
            raise invalid("filenames and byte_offsets must have same size")
        open_file = functools.partial(dataset_files.records, compression_in(compression), find)
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
register(Kernel("TFRecordDatasetV2", _records))
for _op in (
    "TextLineDataset",
    "TFRecordDataset",
    "FixedLengthRecordDataset",
    "FixedLengthRecordDatasetV2",
):
    register(Kernel(_op, _files))
