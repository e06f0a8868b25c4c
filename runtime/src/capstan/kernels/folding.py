"""Matrices with few columns, folded into fewer and longer rows.

NumPy starts an inner loop for each row of a matrix when it combines the rows with a vector. Rows of
16 numbers take several times as long as the same numbers in long rows. A device has no such loop,
so its matrices stay as they are.
"""

import math
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels.memory import is_on_host

_ROW: Final = 1024
"""A folded row has at most about this many numbers. Longer rows are not faster."""


def folded(rows: Array) -> Array:
    """Return a view of a contiguous matrix that has as many rows in each row as divide it evenly.

    A matrix on a device stays as it is.
    """
    count, width = rows.shape
    most = _ROW // max(width, 1)
    if not is_on_host(rows) or not rows.size or most < 2:
        return rows
    return rows.reshape(-1, width * math.gcd(count, 1 << most.bit_length() - 1))


def repeated(vector: Array, rows: Array) -> Any:
    """Return a vector for the columns of a matrix as one for the columns of the folded matrix."""
    times = rows.shape[1] // max(len(vector), 1)
    return np.concatenate([vector] * times) if times > 1 else vector
