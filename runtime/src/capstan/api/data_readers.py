"""The datasets that read files (python/data/ops/readers.py)."""

from typing import Any

from capstan.api import data_structure
from capstan.api.dataset import Dataset
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

_BUFFER_BYTES = 256 * 1024
_SPEC = data_structure.TensorSpec([], dtypes.string)


class _Reader(Dataset):
    """A dataset of strings. `filenames` is a string, a list of strings, a tensor or a dataset."""

    def __init__(self, filenames: Any, read: Any) -> None:
        if isinstance(filenames, Dataset):
            made = filenames.flat_map(lambda name: Dataset(read(name), _SPEC))
            super().__init__(made._variant_tensor, _SPEC)
        else:
            names = convert.convert_to_tensor(filenames, dtypes.string, name="filenames")
            super().__init__(read(names), _SPEC)


class TextLineDataset(_Reader):
    """The lines of text files, without the line breaks: string scalars.

    `filenames` is a string, a tensor of strings or a dataset of them. A step raises NotFoundError
    if a file does not exist.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:
        """`compression_type` is "" (the default), "ZLIB" or "GZIP"."""
        super().__init__(
            filenames,
            lambda names: raw.TextLineDataset(
                names, compression_type or "", _size(buffer_size), name="TextLineDataset"
            ),
        )


class TFRecordDataset(_Reader):
    """The records of TFRecord files: string scalars.

    `filenames` is a string, a tensor of strings or a dataset of them. A step raises NotFoundError
    if a file does not exist, and DataLossError if a record is damaged.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:
        """`compression_type` is "" (the default), "ZLIB" or "GZIP".

        With `num_parallel_reads`, the records of this number of files alternate.
        """

        def read(names: Any) -> Any:
            return raw.TFRecordDataset(
                names, compression_type or "", _size(buffer_size), name="TFRecordDataset"
            )

        if num_parallel_reads is None:
            super().__init__(filenames, read)
            return
        if not isinstance(filenames, Dataset):
            flat = convert.convert_to_tensor(filenames, dtypes.string, name="filenames")
            filenames = Dataset.from_tensor_slices(raw.Reshape(flat, [-1]))
        made = filenames.interleave(
            lambda name: Dataset(read(name), _SPEC), cycle_length=num_parallel_reads
        )
        Dataset.__init__(self, made._variant_tensor, _SPEC)


class FixedLengthRecordDataset(_Reader):
    """The records of files that consist of a header, records of equal length, and a footer."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:
        """Sizes are in bytes. `compression_type` is "" (the default), "ZLIB" or "GZIP"."""
        super().__init__(
            filenames,
            lambda names: raw.FixedLengthRecordDatasetV2(
                names,
                header_bytes or 0,
                record_bytes,
                footer_bytes or 0,
                _size(buffer_size),
                compression_type or "",
                name="FixedLengthRecordDataset",
            ),
        )


class SqlDataset(Dataset):
    """The rows of a query on a database, as scalars.

    Each pass runs the query. It ends with UnknownError if the database refuses the query, and with
    InvalidArgumentError if the rows have another number of columns than `output_types`.
    """

    def __init__(
        self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any
    ) -> None:
        """`driver_name` is "sqlite", and `data_source_name` the name of the file.

        `output_types` is a tuple with the type of each column: string, bool, float64, or a type of
        integers.
        """
        spec = data_structure.from_legacy(
            output_types, data_structure.mapped(lambda _: [], output_types)
        )
        made = raw.SqlDataset(
            convert.convert_to_tensor(driver_name, dtypes.string, name="driver_name"),
            convert.convert_to_tensor(data_source_name, dtypes.string, name="data_source_name"),
            convert.convert_to_tensor(query, dtypes.string, name="query"),
            **data_structure.flat(spec),
        )
        super().__init__(made, spec)


def _size(buffer_size: Any) -> Any:
    return _BUFFER_BYTES if buffer_size is None else buffer_size
