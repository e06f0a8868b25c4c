"""The array type of tensor values."""

from collections.abc import Iterable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
"""An array of any shape and dtype. An array of strings is an object array of `bytes`."""


def strings(values: Iterable[bytes], shape: tuple[int, ...]) -> Array:
    """Return strings as an array of `shape`.

    >>> strings([b"a\\0", b""], (1, 2))
    array([[b'a\\x00', b'']], dtype=object)
    """
    array = np.empty(shape, object)
    array.reshape(-1)[:] = list(values)
    return array
