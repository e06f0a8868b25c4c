"""Convolutions of single channels are those of their definition, for all strides and dilations."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import capstan as tf
from capstan.core import windows

NUMBERS = st.integers(1, 3)


def by_definition(
    images: Any, filters: Any, slope: Any, axes: tuple[windows.Windows, windows.Windows]
) -> tuple[Any, Any, Any]:
    """Return the convolution, and the gradients by the images and the filters."""
    rows, columns = axes
    depth, units = filters.shape[2:]
    result = np.zeros((len(images), rows.count, columns.count, depth, units), images.dtype)
    by_images, by_filters = np.zeros_like(images), np.zeros_like(filters)
    slopes = slope.reshape(result.shape)
    for y, x, i, j in np.ndindex(rows.count, columns.count, rows.width, columns.width):
        row = y * rows.stride + i * rows.dilation - rows.before
        column = x * columns.stride + j * columns.dilation - columns.before
        if not (0 <= row < rows.size and 0 <= column < columns.size):
            continue
        pixels = images[:, row, column, :, None]
        result[:, y, x] += pixels * filters[i, j]
        by_images[:, row, column] += (slopes[:, y, x] * filters[i, j]).sum(-1)
        by_filters[i, j] += (slopes[:, y, x] * pixels).sum(0)
    return result.reshape(slope.shape), by_images, by_filters


@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    width=st.tuples(NUMBERS, NUMBERS),
    stride=NUMBERS,
    dilation=NUMBERS,
    padding=st.sampled_from([b"SAME", b"VALID"]),
    depth=NUMBERS,
    units=st.sampled_from([1, 2, 9]),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 2**32 - 1),
)
def test_values_are_those_of_the_definition(
    size: tuple[int, int],
    width: tuple[int, int],
    stride: int,
    dilation: int,
    padding: bytes,
    depth: int,
    units: int,
    dtype: Any,
    seed: int,
) -> None:
    reach = [(wide - 1) * dilation + 1 for wide in width]
    assume(padding == b"SAME" or (reach[0] <= size[0] and reach[1] <= size[1]))
    random = np.random.default_rng(seed)
    rows, columns = (
        windows.over(length, wide, stride, dilation, padding)
        for length, wide in zip(size, width, strict=True)
    )
    images = random.normal(size=(2, *size, depth)).astype(dtype)
    filters = random.normal(size=(*width, depth, units)).astype(dtype)
    shape = (2, rows.count, columns.count, depth * units)
    slope = random.normal(size=shape).astype(dtype)
    attrs = {
        "strides": [1, stride, stride, 1],
        "dilations": [1, dilation, dilation, 1],
        "padding": padding.decode(),
    }
    with tf.Graph().as_default(), tf.Session() as session:
        x, w, dy = map(tf.constant, (images, filters, slope))
        found = session.run(
            [
                tf.nn.depthwise_conv2d_native(x, w, **attrs),
                tf.nn.depthwise_conv2d_native_backprop_input(images.shape, w, dy, **attrs),
                tf.nn.depthwise_conv2d_native_backprop_filter(x, filters.shape, dy, **attrs),
            ]
        )
    expected = by_definition(images, filters, slope, (rows, columns))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("shape", [(0, 4, 4, 2), (1, 4, 4, 0)])
def test_without_images_or_channels_there_are_no_values(shape: tuple[int, ...]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.zeros(shape), tf.ones((3, 3, shape[-1], 1))
        y = tf.nn.depthwise_conv2d_native(x, w, [1, 1, 1, 1], "SAME")
        found = session.run([y, *tf.gradients(y, [x, w])])
    assert [each.shape for each in found] == [shape, shape, (3, 3, shape[-1], 1)]
    assert not any(each.any() for each in found)
