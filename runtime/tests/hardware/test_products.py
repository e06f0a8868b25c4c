"""Products of matrices of special shapes are those of NumPy."""

import numpy as np
import pytest

from capstan.hardware import products


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.int64])
@pytest.mark.parametrize("rows", [1, 3, 200])
def test_the_product_of_a_column_and_a_row_is_numpys(dtype: type, rows: int) -> None:
    column = np.arange(1, rows + 1, dtype=dtype).reshape(1, rows).T
    row = np.arange(-2, 100, dtype=dtype).reshape(1, 102)
    batch = np.stack([row, 2 * row])
    for right in (row, batch):
        expected = np.matmul(column, right)
        found = products.matmul(column, right)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)
        out = np.empty_like(expected)
        assert products.matmul(column, right, out) is out
        np.testing.assert_array_equal(out, expected)


def test_a_column_is_not_broadcast_to_a_matrix() -> None:
    column, matrix = np.ones((3, 1)), np.ones((3, 4))
    for multiply in (products.matmul, products.matmul_of((3, 1), (None, 4))):
        with pytest.raises(ValueError, match="mismatch"):
            multiply(column, matrix)
    assert products.matmul_of((3, 1), (1, 4)) is products.matmul
    assert products.matmul_of((3, 2), (2, 4)) is np.matmul
