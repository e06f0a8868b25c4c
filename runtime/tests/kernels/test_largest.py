"""The largest elements of rows, in the order that a stable sort of all elements gives."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf


def top_k(x: Any, k: int) -> tuple[Any, Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.nn.top_k(x, k))


def by_sorting(x: Any, k: int) -> Any:
    """Return the places of the `k` largest. A number that is none is smaller than all others."""
    ranks = np.where(np.isnan(x), -np.inf, x) if x.dtype.kind == "f" else x.astype(object)
    return np.argsort(-ranks, -1, "stable")[..., :k]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1000),
    rows=st.sampled_from([(), (1,), (3,), (2, 2), (0,)]),
    columns=st.sampled_from([1, 64, 65, 300, 2000]),
    share=st.sampled_from([0, 0.01, 0.1, 0.3, 1]),
    dtype=st.sampled_from([np.float16, np.float32, np.float64, np.int8, np.int32, np.uint8]),
    kinds=st.sampled_from([1, 2, 5, 1000]),
)
def test_the_first_of_equal_elements_come_first(
    seed: int, rows: tuple[int, ...], columns: int, share: float, dtype: Any, kinds: int
) -> None:
    draw = np.random.default_rng(seed)
    x = (draw.integers(0, kinds, (*rows, columns)) - kinds // 2).astype(dtype)
    count = int(share * columns)
    values, places = top_k(x, count)
    expected = by_sorting(x, count)
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, -1))


@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_long_rows_with_special_numbers(special: float, count: int) -> None:
    x = np.random.default_rng(0).normal(size=(3, 500)).astype(np.float32)
    x[0, ::100] = special
    x[1, 3:] = special
    values, places = top_k(x, count)
    expected = by_sorting(x, count)
    np.testing.assert_array_equal(places, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, -1))
