"""The largest elements of windows are those that a search of each window finds."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
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


@pytest.mark.parametrize("shape", [(2, 9, 9, 3), (2, 40, 40, 8)])
@pytest.mark.parametrize(("width", "stride"), [(2, 2), (3, 2), (3, 1)])
def test_pools_of_every_size_and_their_gradients(
    shape: tuple[int, ...], width: int, stride: int
) -> None:
    x = np.random.default_rng(6).integers(-3, 4, shape).astype(np.float32)
    x[0, :4, :4] = np.nan
    windows_of = [(1, 1), (width, stride), (width, stride), (1, 1)]
    axes = tuple(
        windows.over(size, *each, 1, b"SAME") for size, each in zip(shape, windows_of, strict=True)
    )
    lowest = np.finfo(np.float32).min
    wanted, places = searched(x, axes, lowest)
    weights = np.arange(wanted.size, dtype=np.float32).reshape(wanted.shape) % 7
    sides = [1, width, width, 1], [1, stride, stride, 1]
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(tf.float32, shape)
        pooled = tf.nn.max_pool(given, *sides, "SAME")
        found, slopes = session.run([pooled, tf.gradients(pooled, given, weights)[0]], {given: x})
    np.testing.assert_array_equal(found, wanted)
    for window in itertools.product(*(range(axis.count) for axis in axes)):
        first = tuple(positions(axis, at)[0] for axis, at in zip(axes, window, strict=True))
        if np.isnan(x[first]) or places[window] == x.size:
            places[window] = np.ravel_multi_index(first, x.shape)
    sums = np.bincount(places.ravel(), weights.ravel(), x.size + 1)[:-1]
    np.testing.assert_array_equal(slopes.ravel(), sums)


NAN = np.nan
SLOPES = {
    "only NaN": ([[NAN, NAN], [NAN, NAN]], [[1, 0], [0, 0]]),
    "a NaN first": ([[NAN, 1], [2, 3]], [[1, 0], [0, 0]]),
    "a NaN later": ([[1, NAN], [2, 0]], [[0, 0], [1, 0]]),
    "nothing above the lowest number": ([[-np.inf] * 2] * 2, [[1, 0], [0, 0]]),
}


@pytest.mark.parametrize("case", SLOPES)
@pytest.mark.parametrize("is_volume", [False, True])
def test_the_gradient_of_a_window_of_an_image_never_vanishes(case: str, is_volume: bool) -> None:
    numbers, slopes = SLOPES[case]
    shape, sides = ([1, 1, 2, 2, 1], [1, 1, 2, 2, 1]) if is_volume else ([1, 2, 2, 1], [1, 2, 2, 1])
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.reshape(numbers, shape), tf.float32)
        pool = tf.nn.max_pool3d if is_volume else tf.nn.max_pool
        found = session.run(tf.gradients(pool(x, sides, sides, "VALID"), x)[0])
    if is_volume and case != "a NaN later":
        # TensorFlow looks for the element that is equal to the result of the pool.
        slopes = [[0, 0], [0, 1]] if case == "a NaN first" else np.zeros([2, 2])
    np.testing.assert_array_equal(found.reshape(2, 2), slopes)


def test_an_infinite_gradient_stays_at_the_largest_element() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([[[[1.0], [2.0]], [[3.0], [0.0]]]])
        pooled = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        found = session.run(tf.gradients(pooled, x, tf.constant([[[[np.inf]]]]))[0])
    np.testing.assert_array_equal(found.reshape(2, 2), [[0, 0], [np.inf, 0]])
