"""Transposed copies of matrices."""

from typing import Any

import numpy as np
import pytest
from exact import integers
from hypothesis import given
from hypothesis import strategies as st

from capstan.hardware import transposition


@given(
    rows=st.integers(1, 70),
    columns=st.integers(1, 40),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_a_copy_has_all_numbers(rows: int, columns: int, dtype: Any) -> None:
    matrix = integers(1, rows, columns, dtype=dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transposition, "_PIECE", 1)
        found = transposition.transposed(matrix)
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, matrix.T)


@pytest.mark.parametrize("shape", [(3, 4), (700, 300)])
def test_small_and_large_matrices_are_copied(shape: tuple[int, int]) -> None:
    matrix = integers(1, *shape)
    np.testing.assert_array_equal(transposition.transposed(matrix), matrix.T)
