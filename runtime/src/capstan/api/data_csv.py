"""CSV files as datasets (python/data/experimental/ops/readers.py)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import data_base, data_csv_columns, data_structure
from capstan.api.data_files import input_files, shuffled_and_repeated
from capstan.api.dataset import Dataset
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["CsvDataset", "make_csv_dataset"]


_BUFFER_BYTES = 4 * 1024 * 1024


class CsvDataset(Dataset):
    """The records of CSV files, as tuples of scalars, one for each column.

    A quoted field may hold line breaks.
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: Any = None,
        buffer_size: Any = None,
        header: Any = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
    ) -> None:
        """`record_defaults` are the types of required columns, or the values of empty fields.

        `header` says whether each file begins with a line of names. The other arguments are as for
        `tf.decode_csv`.
        """
        defaults = [
            convert.convert_to_tensor(_default(value), name="record_defaults")
            for value in record_defaults
        ]
        spec = tuple(data_structure.TensorSpec([], value.dtype.base_dtype) for value in defaults)
        names = convert.convert_to_tensor(filenames, dtypes.string, name="filenames")
        made = raw.CSVDataset(
            names,
            compression_type or "",
            _BUFFER_BYTES if buffer_size is None else buffer_size,
            header,
            field_delim,
            use_quote_delim,
            na_value,
            data_base.int64(list(select_cols or ()), "select_cols"),
            defaults,
            **data_structure.flat(spec),
        )
        super().__init__(made, spec)


def _default(value: Any) -> Any:
    if isinstance(value, graphs.Tensor | np.ndarray | list | tuple):
        return value
    try:
        kind = dtypes.as_dtype(value)
    except TypeError:
        return [value]
    return convert.constant([], kind)


def make_csv_dataset(
    file_pattern: Any,
    batch_size: Any,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int = -1,
    num_parallel_reads: int = 1,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Return batches of the records of CSV files, as dictionaries of columns by name.

    With `label_name`, an element is a pair: the other columns, and this column. The names come from
    the first line of the files, and the types from the first `num_rows_for_inference` records,
    unless they are given. The call reads the files for this purpose. Without `num_epochs` the
    dataset has no end, and every batch is full. `select_columns` has names or indices.

    Raises:
        ValueError: no file matches, or the names of the columns are missing, repeated or unknown.
    """
    files = input_files(file_pattern)
    table = data_csv_columns.Table(
        tuple(files), field_delim, use_quote_delim, na_value, header, compression_type
    )
    places, names, defaults = data_csv_columns.selected(
        table, column_names, column_defaults, select_columns, num_rows_for_inference
    )
    if label_name is not None and label_name not in names:
        raise ValueError(
            f"`label_name` provided must be one of the columns: {names}. Received: {label_name}."
        )

    def read(name: Any) -> Any:
        found: Any = CsvDataset(
            name, defaults, compression_type, None, header, field_delim, use_quote_delim,
            na_value, None if select_columns is None else places,
        )  # fmt: skip
        if not ignore_errors:
            return found
        return found._unary("IgnoreErrorsDataset")

    def named(*columns: Any) -> Any:
        features = dict(zip(names, columns, strict=True))
        return features if label_name is None else (features, features.pop(label_name))

    listed: Any = Dataset.from_tensor_slices(np.array(files))
    if shuffle:
        listed = listed.shuffle(len(files), shuffle_seed)
    records_of_all = listed.interleave(read, cycle_length=num_parallel_reads)
    repeated_records = shuffled_and_repeated(
        records_of_all, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed
    )
    batches = repeated_records.batch(batch_size, drop_remainder=num_epochs is None)
    made: Dataset = batches.map(named).prefetch(prefetch_buffer_size)
    return made
