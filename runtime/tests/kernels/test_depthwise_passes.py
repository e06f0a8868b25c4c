"""Compiled convolutions of single channels give the numbers of the formulas."""

from typing import Any

import numpy as np
import pytest
from exact import integers
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
from capstan.core import windows
from capstan.kernels import depthwise_passes
from capstan.kernels.convolution_geometry import Geometry

NUMBERS = st.integers(1, 4)


def results(images: Any, filters: Any, stride: int, dilation: int, padding: str) -> list[Any]:
    """Return a convolution and its gradients."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, kernel = tf.constant(images), tf.constant(filters)
        y = tf.nn.depthwise_conv2d_native(
            x, kernel, [1, stride, stride, 1], padding, dilations=[1, dilation, dilation, 1]
        )
        slope = tf.constant(integers(3, *y.shape.as_list(), dtype=images.dtype))
        return list(session.run([y, *tf.gradients(y, [x, kernel], slope)]))


@given(
    count=st.integers(1, 3),
    size=st.integers(10, 14),
    width=st.tuples(NUMBERS, NUMBERS),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 2),
    depth=st.sampled_from([1, 2, 17, 40]),
    padding=st.sampled_from(["SAME", "VALID"]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_passes_are_exact_for_small_integers(
    count: int,
    size: int,
    width: tuple[int, int],
    stride: int,
    dilation: int,
    depth: int,
    padding: str,
    dtype: Any,
) -> None:
    images = integers(1, count, size, size + 1, depth, dtype=dtype)
    filters = integers(2, *width, depth, 1, dtype=dtype)
    dilation = 1 if stride > 1 else dilation
    expected = results(images, filters, stride, dilation, padding)  # too small for the passes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(depthwise_passes, "_LEAST_NUMBERS", 1)
        patch.setattr(depthwise_passes, "_LEAST_RUN", 1)
        patch.setattr(depthwise_passes, "_PIECE", 1)
        found = results(images, filters, stride, dilation, padding)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("shape", "units", "expected"),
    [((8, 32, 32, 16), 1, True), ((8, 32, 32, 16), 2, False), ((1, 8, 8, 16), 1, False)],
)
def test_large_images_take_the_passes(shape: Any, units: int, expected: bool) -> None:
    rows, columns = (windows.over(size, 3, 1, 1, b"SAME") for size in shape[1:3])
    geometry = Geometry(rows, columns, shape[3], units)
    assert depthwise_passes.Passes().serve(geometry, np.zeros(shape, np.float32)) == expected


@pytest.mark.parametrize("stride", [1, 2])
def test_sums_over_many_images_stay_exact(stride: int) -> None:
    axis = windows.over(28, 3, stride, 1, b"SAME")
    shape, passes = Geometry(axis, axis, 16, 1), depthwise_passes.Passes()
    random = np.random.default_rng(0)
    images = random.random((256, 28, 28, 16), np.float32)
    slope = random.random((256, axis.count, axis.count, 16), np.float32)
    exact = passes.by_filter(shape, images.astype(np.float64), slope.astype(np.float64))
    np.testing.assert_allclose(passes.by_filter(shape, images, slope), exact, rtol=5e-7)
