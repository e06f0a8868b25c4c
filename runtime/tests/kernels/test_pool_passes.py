"""The compiled gradient of a max pool is that of the formulas."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
from capstan.core import windows
from capstan.kernels import pool_passes


def gradient(images: Any, window: int, stride: int, padding: str) -> Any:
    """Return the gradient of a max pool, in which each window has a slope of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(images)
        sizes = [1, window, window, 1], [1, stride, stride, 1]
        pool = tf.nn.max_pool(x, *sizes, padding)
        count = int(np.prod(pool.shape.as_list()))
        slopes = tf.reshape(tf.range(1.0, count + 1), pool.shape)
        return session.run(tf.gradients(pool, x, [tf.cast(slopes, images.dtype)])[0])


@given(
    size=st.integers(3, 9),
    window=st.integers(1, 3),
    stride=st.integers(1, 3),
    padding=st.sampled_from(["SAME", "VALID"]),
    levels=st.sampled_from([[0.0, 1.0], [1.0, np.nan], [-np.inf, 0.0, np.inf, np.nan, 2.0]]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_each_window_gives_its_slope_to_one_element(
    size: int, window: int, stride: int, padding: str, levels: list[float], dtype: Any
) -> None:
    images = np.random.default_rng(size).choice(levels, (3, size, size + 1, 8)).astype(dtype)
    expected = gradient(images, window, stride, padding)  # too small for the pass
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_passes, "_LEAST_NUMBERS", 0)
        patch.setattr(pool_passes, "_PIECE", 1)
        found = gradient(images, window, stride, padding)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((8, 32, 32, 16), True), ((1, 8, 8, 16), False), ((8, 64, 64, 4), False)],
)
def test_large_images_with_many_channels_take_the_pass(
    shape: tuple[int, ...], expected: bool
) -> None:
    axes = tuple(windows.over(size, 1, 1, 1, b"SAME") for size in shape)
    assert pool_passes.Spread().serves(np.zeros(shape, np.float32), axes) == expected
