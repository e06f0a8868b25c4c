"""Products with few rows give the numbers of `np.matmul`."""

from typing import Any

import numpy as np
import pytest
from exact import ORDERS, integers
from hypothesis import given
from hypothesis import strategies as st

from capstan.hardware import cpu_products, narrow_products, products


@given(
    sizes=st.tuples(st.integers(0, 40), st.integers(0, 70), st.integers(0, 90)),
    orders=st.tuples(*[st.sampled_from(sorted(ORDERS))] * 3),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_a_product_is_exact_for_small_integers(
    sizes: tuple[int, int, int], orders: tuple[str, str, str], dtype: Any
) -> None:
    rows, depth, columns = sizes
    left = ORDERS[orders[0]](integers(1, rows, depth, dtype=dtype))
    right = ORDERS[orders[1]](integers(2, depth, columns, dtype=dtype))
    expected = np.matmul(left, right)
    np.testing.assert_array_equal(narrow_products.multiply(left, right), expected)
    out = ORDERS[orders[2]](np.full((rows, columns), np.nan, dtype))
    assert narrow_products.multiply(left, right, out) is out
    np.testing.assert_array_equal(out, expected)


def test_a_left_matrix_may_be_part_of_another() -> None:
    whole, right = integers(1, 40, 200), integers(2, 60, 80)
    left = whole[::2, 10:190:3]
    np.testing.assert_array_equal(narrow_products.multiply(left, right), left @ right)


@pytest.mark.parametrize("most", [0, 1 << 14])
@given(
    sizes=st.tuples(st.integers(1, 40), st.integers(0, 20), st.integers(1, 90)),
    order=st.sampled_from(sorted(ORDERS)),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_a_result_may_be_written_in_bands(
    most: int, sizes: tuple[int, int, int], order: str, dtype: Any
) -> None:
    rows, depth, columns = sizes
    left = ORDERS[order](integers(1, rows, depth, dtype=dtype))
    right = integers(2, depth, columns, dtype=dtype)
    result = np.full((rows, columns), np.nan, dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu_products, "_SMALL", most)
        patch.setattr(cpu_products, "_PIECE", 1)
        cpu_products.multiply(left, right, result)
    np.testing.assert_array_equal(result, left @ right)


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "calls"),
    [(64, 20, 200, 1), (63, 20, 200, 1), (2000, 20, 200, 1), (2001, 20, 200, 2), (2001, 20, 8, 1)],
)
def test_rows_that_make_no_band_are_a_call_of_their_own_in_large_products(
    rows: int, depth: int, columns: int, calls: int
) -> None:
    left, right = integers(1, rows, depth), integers(2, depth, columns)
    result = np.empty((rows, columns), np.float32)
    fixed = {"depth": depth, "left_row": depth, "result_row": columns}
    assert len(cpu_products._calls(left, right, result, fixed)) == calls


WIDE = integers(2, 256, 256)


@pytest.mark.parametrize(
    ("left", "right", "threads", "expected"),
    [
        (integers(1, 16, 256), WIDE, 2, True),
        (integers(1, 16, 256), WIDE.T, 2, True),
        (integers(1, 16, 256).astype(np.float64), WIDE.astype(np.float64), 2, True),
        (integers(1, 1, 256), WIDE, 2, False),
        (integers(1, 64, 256), WIDE, 2, False),
        (integers(1, 4, 256), WIDE, 2, False),
        (integers(1, 16, 256), WIDE, 256, False),
        (integers(1, 16, 256).astype(np.float64), WIDE, 2, False),
        (integers(1, 16, 256).astype(np.int32), WIDE.astype(np.int32), 2, False),
        (integers(1, 16, 256), integers(3, 512, 512)[::2, ::2], 2, False),
        (integers(1, 16, 256).astype(">f4"), WIDE.astype(">f4"), 2, False),
    ],
)
def test_products_for_which_a_blas_is_slow(
    left: Any, right: Any, threads: int, expected: bool
) -> None:
    found = narrow_products.serves(left, right, threads)
    assert found == (expected and cpu_products.is_fast())


def test_matrices_that_do_not_fit_are_refused_as_before() -> None:
    with pytest.raises(ValueError, match="mismatch"):
        products.matmul(integers(1, 16, 300), WIDE)
