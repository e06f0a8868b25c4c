"""Folded matrices hold the same numbers, and their sums are the sums of the columns."""

import numpy as np
import pytest

from capstan.kernels import sums
from capstan.kernels.folding import folded, repeated


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((32768, 16), (512, 1024)),
        ((12, 16), (3, 64)),
        ((7, 16), (7, 16)),
        ((64, 1024), (64, 1024)),
        ((64, 5000), (64, 5000)),
        ((6, 300), (3, 600)),
        ((0, 16), (0, 16)),
        ((4, 0), (4, 0)),
    ],
)
def test_a_matrix_folds_into_rows_that_divide_it(
    shape: tuple[int, int], expected: tuple[int, int]
) -> None:
    rows = np.arange(shape[0] * shape[1], dtype=np.float64).reshape(shape)
    found = folded(rows)
    assert found.shape == expected
    vector = np.arange(shape[1], dtype=np.float64)
    np.testing.assert_array_equal((found + repeated(vector, found)).reshape(shape), rows + vector)
    np.testing.assert_array_equal(sums.total(found.reshape(shape), 0), rows.sum(0))
