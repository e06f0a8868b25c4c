"""Reductions of runs of rows, compared with NumPy, for few and many, short and long runs."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan.kernels import memory, runs


@pytest.mark.parametrize("count", [0, 1, 100, 1000])
@pytest.mark.parametrize("below", [1, 300, 1 << 16, 1 << 20, 1 << 40, (1 << 63) - 1])
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_the_order_is_that_of_a_stable_sort(count: int, below: int, dtype: type) -> None:
    numbers = np.random.default_rng(count).integers(0, below, count) % np.iinfo(dtype).max
    numbers = np.concatenate([numbers, numbers[: count // 2]]).astype(dtype)
    np.testing.assert_array_equal(runs.order(numbers), np.argsort(numbers, kind="stable"))


@pytest.mark.e2e
@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.multiply])
@given(
    seed=st.integers(0, 1000),
    runs_count=st.sampled_from([1, 2, 30, 600, 1500]),
    longest=st.sampled_from([1, 3, 4, 5, 40]),
    shape=st.sampled_from([(), (1,), (3,), (2, 2)]),
    picks=st.booleans(),
)
def test_each_run_becomes_the_combination_of_its_rows(
    ufunc: np.ufunc, seed: int, runs_count: int, longest: int, shape: tuple[int, ...], picks: bool
) -> None:
    random = np.random.default_rng(seed)
    counts = random.integers(1, longest + 1, runs_count)
    starts = np.cumsum(counts) - counts
    total = int(counts.sum())
    table = random.integers(-3, 4, (total, *shape)).astype(np.float64)
    picked = random.integers(0, total, total) if picks else None
    rows = table if picked is None else table[picked]
    np.testing.assert_array_equal(runs.lengths(starts, total), counts)
    expected = [ufunc.reduce(rows[at : at + size]) for at, size in zip(starts, counts, strict=True)]
    np.testing.assert_array_equal(runs.reduced(ufunc, table, starts, counts, picked), expected)


@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.multiply])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("has_picks", [False, True])
@pytest.mark.parametrize(("runs_count", "longest"), [(2000, 40), (9, 9000), (20_000, 2)])
def test_runs_of_much_data(
    ufunc: np.ufunc, dtype: Any, has_picks: bool, runs_count: int, longest: int
) -> None:
    random = np.random.default_rng(0)
    counts = random.integers(1, longest + 1, runs_count)
    starts = np.cumsum(counts) - counts
    total = int(counts.sum())
    table = random.integers(-1, 2, (total, 4, 5)).astype(dtype)
    picked = random.permutation(total) if has_picks else None
    rows = table if picked is None else table[picked]
    found = runs.reduced(ufunc, table, starts, counts, picked)
    expected = ufunc.reduceat(rows, starts, 0, dtype)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 2, 2), (5, 0), (0, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, object])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_put_where_the_indices_say(shape: Any, dtype: Any, order: Any) -> None:
    table = np.asarray(np.arange(np.prod(shape)).reshape(shape), dtype, order=order)
    indices = np.array([3, 0, 4][: shape[0]], np.int64)
    values = np.full((len(indices), *shape[1:]), 7, np.int8 if dtype is np.float32 else dtype)
    expected = table.copy()
    expected[indices] = values
    memory.put_rows(table, indices, values)
    np.testing.assert_array_equal(table, expected)
    memory.put_rows(table, indices, expected[indices].copy())
    np.testing.assert_array_equal(table, expected)
