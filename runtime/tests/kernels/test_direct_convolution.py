"""Convolutions without copies of windows give the numbers of the definition."""

from typing import Any

import numpy as np
import pytest
from exact import integers
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import windows
from capstan.kernels import direct_convolution
from capstan.kernels.convolution_geometry import Geometry

SIZES = st.integers(1, 9)


@st.composite
def convolutions(draw: Any) -> tuple[Geometry, int]:
    """Draw a convolution that has windows, and a number of images."""
    padding = draw(st.sampled_from([b"SAME", b"VALID"]))
    axes = []
    for _ in range(2):
        width, stride, dilation = (draw(st.integers(1, 3)) for _ in range(3))
        least = 1 if padding == b"SAME" else (width - 1) * dilation + 1
        size = draw(st.integers(least, least + 9))
        axes.append(windows.over(size, width, stride, dilation, padding))
    return Geometry(*axes, draw(SIZES), draw(st.integers(1, 40))), draw(SIZES)


def arrays(shape: Geometry, images: int, dtype: Any) -> tuple[Any, Any, Any]:
    """Return images, filters, and a gradient by the result of their convolution."""
    size = (images, shape.rows.size, shape.columns.size, shape.depth)
    filters = (shape.rows.width, shape.columns.width, shape.depth, shape.units)
    slope = (images, shape.rows.count, shape.columns.count, shape.units)
    return (
        integers(1, *size, dtype=dtype),
        integers(2, *filters, dtype=dtype),
        integers(3, *slope, dtype=dtype),
    )


def padded(shape: Geometry, images: Any) -> Any:
    result = shape.padded(images, len(images))
    shape.interior(result)[...] = images
    return result


def convolved(shape: Geometry, images: Any, filters: Any) -> Any:
    whole = padded(shape, images)
    return sum(whole[:, rows, columns] @ filters[i, j] for i, j, rows, columns in shape.offsets())


def slope_by_filters(shape: Geometry, images: Any, slope: Any) -> Any:
    whole = padded(shape, images)
    parts = [
        np.einsum("nyxc,nyxu->cu", whole[:, rows, columns], slope)
        for _, _, rows, columns in shape.offsets()
    ]
    return np.concatenate(parts)


def slope_by_images(shape: Geometry, filters: Any, slope: Any) -> Any:
    whole = shape.padded(slope, len(slope))
    for i, j, rows, columns in shape.offsets():
        whole[:, rows, columns] += slope @ filters[i, j].T
    return shape.interior(whole)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(convolution=convolutions())
def test_a_convolution_and_its_gradients_are_exact_for_small_integers(
    dtype: Any, convolution: tuple[Geometry, int]
) -> None:
    shape, count = convolution
    images, filters, slope = arrays(shape, count, dtype)
    np.testing.assert_array_equal(
        direct_convolution.forward(shape, images, filters), convolved(shape, images, filters)
    )
    np.testing.assert_array_equal(
        direct_convolution.by_filter(shape, images, slope), slope_by_filters(shape, images, slope)
    )
    np.testing.assert_array_equal(
        direct_convolution.by_input(shape, filters, slope), slope_by_images(shape, filters, slope)
    )


LARGE = [(1, 128), (3, 64), (40, 16)]
"""Numbers of images, and their sizes. The convolutions have several pieces."""


@pytest.mark.parametrize(("count", "size"), LARGE)
@pytest.mark.parametrize("stride", [1, 2])
def test_pieces_together_are_the_whole(count: int, size: int, stride: int) -> None:
    axis = windows.over(size, 3, stride, 1, b"SAME")
    shape = Geometry(axis, axis, 16, 48)
    images, filters, slope = arrays(shape, count, np.float32)
    assert len(direct_convolution._pieces(shape, count, 16)) > 1
    np.testing.assert_array_equal(
        direct_convolution.forward(shape, images, filters), convolved(shape, images, filters)
    )
    np.testing.assert_array_equal(
        direct_convolution.by_filter(shape, images, slope), slope_by_filters(shape, images, slope)
    )
    np.testing.assert_array_equal(
        direct_convolution.by_input(shape, filters, slope), slope_by_images(shape, filters, slope)
    )


@pytest.mark.parametrize("before", [20, 40])
@pytest.mark.parametrize("count", [1, 3])
def test_rows_of_windows_may_lie_in_the_padding(before: int, count: int) -> None:
    rows = windows.Windows(64, 3, 1, 1, before, 64 + 2 * before - 2)
    shape = Geometry(rows, windows.over(64, 3, 1, 1, b"SAME"), 16, 40)
    images, filters, slope = arrays(shape, count, np.float32)
    np.testing.assert_array_equal(
        direct_convolution.forward(shape, images, filters), convolved(shape, images, filters)
    )
    np.testing.assert_array_equal(
        direct_convolution.by_filter(shape, images, slope), slope_by_filters(shape, images, slope)
    )


@pytest.mark.parametrize("view", [lambda x: x[:, ::-1], lambda x: np.asfortranarray(x)])
def test_arrays_may_lie_in_memory_in_any_order(view: Any) -> None:
    axis = windows.over(8, 3, 1, 1, b"SAME")
    shape = Geometry(axis, axis, 4, 5)
    images, filters, slope = map(view, arrays(shape, 2, np.float32))
    np.testing.assert_array_equal(
        direct_convolution.forward(shape, images, filters), convolved(shape, images, filters)
    )
    np.testing.assert_array_equal(
        direct_convolution.by_filter(shape, images, slope), slope_by_filters(shape, images, slope)
    )
    np.testing.assert_array_equal(
        direct_convolution.by_input(shape, filters, slope), slope_by_images(shape, filters, slope)
    )


def test_no_images_have_no_convolution_and_no_gradient() -> None:
    axis = windows.over(8, 3, 1, 1, b"SAME")
    shape = Geometry(axis, axis, 4, 5)
    images, filters, slope = arrays(shape, 0, np.float32)
    assert direct_convolution.forward(shape, images, filters).shape == (0, 8, 8, 5)
    assert not direct_convolution.by_filter(shape, images, slope).any()
    assert direct_convolution.by_input(shape, filters, slope).shape == (0, 8, 8, 4)


def test_infinite_numbers_stay_in_their_windows() -> None:
    axis = windows.over(4, 1, 2, 1, b"VALID")
    shape = Geometry(axis, axis, 3, 3)
    images, filters, _ = arrays(shape, 1, np.float32)
    images[0, 1, 1] = np.inf
    assert np.isfinite(direct_convolution.forward(shape, images, filters)).all()
