"""The largest elements of windows are those that a search of each window finds."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capstan.core import windows
from capstan.core.arrays import Array
from capstan.kernels import largest_in_windows

AXES = st.builds(
    windows.over,
    st.integers(3, 6),
    st.integers(1, 3),
    st.integers(1, 3),
    st.just(1),
    st.sampled_from([b"SAME", (0, 0), (1, 2), (3, 0)]),
)


def positions(axis: windows.Windows, number: int) -> list[int]:
    start = number * axis.stride - axis.before
    return [at for at in range(start, start + axis.width) if 0 <= at < axis.size]


def searched(x: Array, axes: tuple[windows.Windows, ...], lowest: Any) -> tuple[Array, Array]:
    """Return the largest element of each window, and where it is for the first time."""
    found = np.full([axis.count for axis in axes], lowest, x.dtype)
    places = np.full(found.shape, x.size)
    for window in itertools.product(*(range(axis.count) for axis in axes)):
        inside = list(itertools.product(*map(positions, axes, window)))
        for at in inside:
            found[window] = max(found[window], x[at])
        for at in reversed(inside):
            if x[at] == found[window]:
                places[window] = np.ravel_multi_index(at, x.shape)
    return found, places


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
@settings(max_examples=30, deadline=None)
@given(axes=st.lists(AXES, min_size=1, max_size=3).map(tuple), seed=st.integers(0, 1000))
def test_a_search_of_each_window_finds_the_same(
    dtype: Any, axes: tuple[windows.Windows, ...], seed: int
) -> None:
    draw = np.random.default_rng(seed)
    x = draw.integers(-2, 3, [axis.size for axis in axes]).astype(dtype)
    lowest = np.iinfo(dtype).min if dtype is np.int32 else np.finfo(dtype).min
    if dtype is not np.int32:
        x[draw.random(x.shape) < 0.3] = draw.choice([np.nan, -np.inf, np.inf])
    found, places = searched(x, axes, lowest)
    np.testing.assert_array_equal(largest_in_windows.largest(x, axes, dtype(lowest)), found)
    np.testing.assert_array_equal(largest_in_windows.first_largest(x, found, axes), places)
