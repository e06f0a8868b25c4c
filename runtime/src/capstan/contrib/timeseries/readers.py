"""Readers of series in memory and in files.

Source: contrib/timeseries/python/timeseries/input_pipeline.py. The files are read with `tf.data`.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from capstan.api import array_ops, creation_ops, data, example_ops, parsing_ops
from capstan.contrib.timeseries.feature_keys import TrainEvalFeatures
from capstan.core import dtypes
from capstan.estimator import inputs

_TIMES: Final = TrainEvalFeatures.TIMES
_VALUES: Final = TrainEvalFeatures.VALUES
_HINT: Final = 4096
"""The number of times that are read at once."""
_ALL: Final = 2**62


class TimeSeriesReader(abc.ABC):
    """Reads a series: a tensor for each feature, whose first dimension is the time."""

    def check_dataset_size(self, minimum_dataset_size: int) -> None:
        """Check that the series is long enough, if its length is known.

        Raises:
            ValueError: the series is shorter.
        """
        return

    @abc.abstractmethod
    def read(self) -> dict[str, Any]:
        """Return the next part of the series. The series begins again after its end."""

    @abc.abstractmethod
    def read_full(self) -> dict[str, Any]:
        """Return the whole series in each step."""


class NumpyReader(TimeSeriesReader):
    """Reads a series from arrays by name, whose first dimension is the time.

    `values` has the shape [times] or [times, features].

    Raises:
        ValueError: `times` or `values` is missing, or the shapes do not fit.
    """

    def __init__(self, data: Mapping[str, Any], read_num_records_hint: int = _HINT) -> None:
        self._features = canonical(data, is_one_series=True)
        self._hint = read_num_records_hint

    def check_dataset_size(self, minimum_dataset_size: int) -> None:
        size = self._features[_TIMES].shape[1]
        if size < minimum_dataset_size:
            raise ValueError(
                f"A TimeSeriesInputFn is configured to create windows of size "
                f"{minimum_dataset_size}, but only {size} records were available in the dataset. "
                "Either decrease the window size or provide more records."
            )

    def read(self) -> dict[str, Any]:
        series = {name: array[0] for name, array in self._features.items()}
        batch: dict[str, Any] = inputs.numpy_input_fn(series, None, self._hint, None, False)()
        return batch

    def read_full(self) -> dict[str, Any]:
        batch = inputs.numpy_input_fn(self._features, None, 1, None, False, queue_capacity=2)()
        return {name: array_ops.squeeze(tensor, 0) for name, tensor in batch.items()}


class RecordReader(TimeSeriesReader):
    """Reads a series from the records of files, one record for each time."""

    def __init__(self, filenames: Any, read_num_records_hint: int = _HINT) -> None:
        is_one = isinstance(filenames, str | bytes)
        self._filenames: list[Any] = [filenames] if is_one else list(filenames)
        self._hint = read_num_records_hint

    def read(self) -> dict[str, Any]:
        return self._read(self._records(self._filenames).repeat().batch(self._hint))

    def read_full(self) -> dict[str, Any]:
        return self._read(self._records(self._filenames).batch(_ALL).repeat())

    @abc.abstractmethod
    def _records(self, filenames: Sequence[str]) -> Any:
        """Return a dataset of the records of all files."""

    @abc.abstractmethod
    def _parsed(self, records: Any) -> dict[str, Any]:
        """Return the features of a vector of records."""

    def _read(self, dataset: Any) -> dict[str, Any]:
        return self._parsed(dataset.make_one_shot_iterator().get_next())


class CSVReader(RecordReader):
    """Reads a series from lines of numbers that commas separate.

    `column_names` are the features of the columns. Several columns of one name are one feature.
    By default, times are int64 and all other columns float32. `skip_header_lines` is the number of
    lines at the begin of each file that are no times.

    Raises:
        ValueError: there is no column of values, not exactly one column of times, or another number
            of `column_dtypes`.
    """

    def __init__(
        self,
        filenames: Any,
        column_names: Sequence[str] = (_TIMES, _VALUES),
        column_dtypes: Sequence[Any] | None = None,
        skip_header_lines: int | None = None,
        read_num_records_hint: int = _HINT,
    ) -> None:
        _check_names(column_names)
        if column_dtypes is not None and len(column_dtypes) != len(column_names):
            raise ValueError(
                "If specified, the length of column_dtypes must match the length of column_names "
                f"(got column_dtypes={column_dtypes} and column_names={column_names})."
            )
        if list(column_names).count(_TIMES) != 1:
            raise ValueError(
                f"Got more than one times column ('{_TIMES}'), but exactly one is required."
            )
        super().__init__(filenames, read_num_records_hint)
        self._names, self._skipped = list(column_names), skip_header_lines or 0
        self._dtypes = column_dtypes or [
            dtypes.int64 if name == _TIMES else dtypes.float32 for name in column_names
        ]
        self._is_typed = column_dtypes is not None

    def _records(self, filenames: Sequence[str]) -> Any:
        names = data.Dataset.from_tensor_slices(filenames)
        return names.flat_map(lambda name: data.TextLineDataset(name).skip(self._skipped))

    def _parsed(self, records: Any) -> dict[str, Any]:
        # A missing number is an error, except for times and for columns of a given type.
        defaults = [
            creation_ops.zeros([1 if self._is_typed or name == _TIMES else 0], dtype)
            for name, dtype in zip(self._names, self._dtypes, strict=True)
        ]
        columns: dict[str, list[Any]] = {}
        for name, column in zip(
            self._names, parsing_ops.decode_csv(records, defaults), strict=True
        ):
            columns.setdefault(name, []).append(column)
        return {
            name: parts[0] if name == _TIMES else array_ops.stack(parts, 1)
            for name, parts in columns.items()
        }


class TFExampleReader(RecordReader):
    """Reads a series from serialized Examples in TFRecord files.

    `features` has a FixedLenFeature for each feature: times are one integer, and values a vector.

    Raises:
        ValueError: `times` or `values` is missing.
    """

    def __init__(self, filenames: Any, features: Mapping[str, Any]) -> None:
        _check_names(features)
        super().__init__(filenames)
        self._features = dict(features)

    def _records(self, filenames: Sequence[str]) -> Any:
        return data.TFRecordDataset(filenames)

    def _parsed(self, records: Any) -> dict[str, Any]:
        parsed: dict[str, Any] = example_ops.parse_example(records, self._features)
        return parsed


def _check_names(names: Any) -> None:
    for name in (_TIMES, _VALUES):
        if name not in names:
            raise ValueError(f"'{name}' is a required column.")


def canonical(data: Mapping[str, Any], *, is_one_series: bool) -> dict[str, Any]:
    """Return arrays of shape [batch, times, ...]. Values have a dimension for their features.

    The given times may be one number, a vector, or a matrix with a row for each series.

    Raises:
        ValueError: `times` or `values` is missing, an array does not have the shape of the times
            first, there are too many dimensions, or there are several series but should be one.
    """
    arrays = {name: np.array(value) for name, value in data.items()}
    if _TIMES not in arrays or _VALUES not in arrays:
        raise ValueError(f"{_TIMES} and {_VALUES} are required features.")
    shape = arrays[_TIMES].shape
    for name, array in arrays.items():
        if array.shape[: len(shape)] != shape:
            raise ValueError(
                "All features must have their shapes prefixed by the shape of the times feature. "
                f"Got shape {array.shape} for feature '{name}', but shape {shape} for '{_TIMES}'"
            )
    if len(shape) > 2:
        raise ValueError(
            "Got an unexpected number of dimensions for times. Was expecting at most two "
            f"([batch size, series length]), but got shape {shape}."
        )
    if arrays[_VALUES].ndim == len(shape):
        arrays[_VALUES] = arrays[_VALUES][..., np.newaxis]
    elif arrays[_VALUES].ndim > len(shape) + 1:
        raise ValueError(
            f"Got an unexpected number of dimensions for the '{_VALUES}' feature: the shape is "
            f"{arrays[_VALUES].shape}, and that of '{_TIMES}' is {shape}"
        )
    if is_one_series and len(shape) == 2 and shape[0] != 1:
        raise ValueError("Got batch input, was expecting unbatched input.")
    axes = (np.newaxis,) * (2 - len(shape))
    return {name: array[axes] for name, array in arrays.items()}
