"""Products in pieces give the numbers of `np.matmul`."""

import weakref
from typing import Any

import numpy as np
import pytest
from exact import ORDERS, integers
from hypothesis import given
from hypothesis import strategies as st

from capstan.hardware import blas, cpu_blas, cpu_products, crew, products, shared_products


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let products have three threads, on any machine."""
    monkeypatch.setattr(blas, "threads", lambda: 3)


@given(
    sizes=st.tuples(st.integers(2, 90), st.integers(1, 50), st.integers(2, 90)),
    orders=st.tuples(*[st.sampled_from(sorted(ORDERS))] * 3),
    dtype=st.sampled_from([np.float32, np.float64]),
    most_tiled=st.sampled_from([0, 1 << 20]),
)
def test_a_product_is_exact_for_small_integers(
    sizes: tuple[int, int, int], orders: tuple[str, str, str], dtype: Any, most_tiled: int
) -> None:
    rows, depth, columns = sizes
    left = ORDERS[orders[0]](integers(1, rows, depth, dtype=dtype))
    right = ORDERS[orders[1]](integers(2, depth, columns, dtype=dtype))
    expected = np.matmul(left, right)
    out = ORDERS[orders[2]](np.full((rows, columns), np.nan, dtype))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu_products, "_PIECE", 1000)
        patch.setattr(shared_products, "_MOST_TILED", most_tiled)
        np.testing.assert_array_equal(shared_products.multiply(left, right), expected)
        assert shared_products.multiply(left, right, out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("size", [300, 1100])
@pytest.mark.parametrize("order", ["rows", "columns"])
def test_a_large_product_has_several_pieces(size: int, order: str) -> None:
    assert len(cpu_products.slices(size, size**3)) > 1
    left, right = integers(1, size, size), ORDERS[order](integers(2, size, size))
    assert shared_products.serves(left, right, 2)
    np.testing.assert_array_equal(products.matmul(left, right), np.matmul(left, right))


@pytest.mark.parametrize("compiled", [cpu_products._products, cpu_blas._function])
def test_the_compiled_code_stays_while_threads_are_in_it(
    monkeypatch: pytest.MonkeyPatch, compiled: Any
) -> None:
    """Threads that compile it at the same time each replace the cached one."""
    is_tiled = compiled is cpu_products._products
    monkeypatch.setattr(shared_products, "_is_tiled", lambda *_: is_tiled)
    code = weakref.ref(compiled(np.dtype(np.float32)))
    share = crew.share

    def share_and_forget(function: int, rows: Any) -> None:
        compiled.cache_clear()
        assert code() is not None
        share(function, rows)

    monkeypatch.setattr(crew, "share", share_and_forget)
    left, right = integers(1, 300, 300), integers(2, 300, 300)
    np.testing.assert_array_equal(shared_products.multiply(left, right), np.matmul(left, right))


@given(size=st.integers(1, 5000), work=st.integers(1, 1 << 36))
def test_pieces_cover_an_axis_once(size: int, work: int) -> None:
    pieces = cpu_products.slices(size, work)
    covered = [range(size)[place] for place, _ in pieces]
    assert [number for part in covered for number in part] == list(range(size))
    assert [len(part) for part in covered] == [count for _, count in pieces]
    assert len(pieces) <= 8


@pytest.mark.parametrize(
    ("left", "right", "threads", "expected"),
    [
        (integers(1, 300, 300), integers(2, 300, 300), 2, True),
        (integers(1, 300, 300), integers(2, 300, 300), 1, False),
        (integers(1, 300, 300), integers(2, 300, 300), 5, False),
        (integers(1, 1, 3000), integers(2, 3000, 3000), 2, False),
        (
            integers(1, 300, 300, dtype=np.float16),
            integers(2, 300, 300, dtype=np.float16),
            2,
            False,
        ),
        (integers(1, 300, 300), integers(2, 300, 300, dtype=np.float64), 2, False),
    ],
)
def test_which_products_are_shared(left: Any, right: Any, threads: int, expected: bool) -> None:
    assert shared_products.serves(left, right, threads) == expected
