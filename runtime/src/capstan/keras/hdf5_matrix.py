"""`tf.keras.utils.HDF5Matrix`: a data set of an HDF5 file as an array
(python/keras/utils/io_utils.py).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.keras import hdf5_weights


class HDF5Matrix:
    """The rows `start` to `end` of a data set, which are read when they are needed.

    `normalizer` changes each array that is read. `fit` and its siblings take the matrix as an
    array, and read all of it.

    Raises:
        ImportError: h5py is not installed.
    """

    def __init__(
        self,
        datapath: Any,
        dataset: str,
        start: int = 0,
        end: int | None = None,
        normalizer: Callable[[Any], Any] | None = None,
    ) -> None:
        self.data = hdf5_weights.module("HDF5Matrix").File(datapath, "r")[dataset]
        self.start = start
        self.end = self.data.shape[0] if end is None else end
        self.normalizer = normalizer

    def __len__(self) -> int:
        return int(self.end - self.start)

    def __getitem__(self, key: Any) -> Any:
        """Return the rows of a slice, a number, or a sequence of rising numbers, all from `start`.

        Raises:
            IndexError: there are no such rows.
        """
        rows: Any
        if isinstance(key, slice):
            first = 0 if key.start is None else key.start
            last = len(self) if key.stop is None else key.stop
            rows, beyond = slice(first + self.start, last + self.start), last - 1
        elif isinstance(key, int | np.integer):
            rows, beyond = key + self.start, key
        else:
            rows, beyond = [int(row) + self.start for row in key], max(key)
        if beyond + self.start >= self.end:
            raise IndexError(f"row {beyond} of a matrix of {len(self)} rows")
        return self._normalized(self.data[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:], dtype)

    def _normalized(self, value: Any) -> Any:
        return value if self.normalizer is None else self.normalizer(value)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self.data.shape[1:])

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return int(self.data.ndim)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))
