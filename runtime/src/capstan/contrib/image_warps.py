"""Images that are warped by a flow, or by points that move
(contrib/image/python/ops/dense_image_warp.py and sparse_image_warp.py).
"""

from typing import Any

import numpy as np

from capstan.api import array_ops, check_ops, counting_ops, creation_ops, math_ops
from capstan.contrib import image_splines
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def dense_image_warp(image: Any, flow: Any, name: str = "dense_image_warp") -> Any:
    """Return images whose pixel (j, i) is the old one at `(j - flow[..., 0], i - flow[..., 1])`.

    `flow` has the shape [batch, height, width, 2]. A place between pixels is interpolated, and a
    place outside of the image has the value of the nearest pixel. The step raises
    InvalidArgumentError if an image has fewer than 2 rows or columns.
    """
    with graphs.get_default_graph().name_scope(name):
        image, flow = convert.convert_to_tensor(image), convert.convert_to_tensor(flow)
        if image.shape.ndims != 4:
            raise ValueError(f"Grid must be 4 dimensional. Received size: {image.shape}")
        batch, height, width, depth = array_ops.unstack(array_ops.shape(image), num=4)
        columns, rows = counting_ops.meshgrid(math_ops.range(width), math_ops.range(height))
        grid = math_ops.cast(raw.Pack([rows, columns], axis=2), flow.dtype)
        places = raw.ExpandDims(grid, 0) - flow
        checks = [
            check_ops.assert_greater_equal(size, 2, message=f"Grid {which} must be at least 2.")
            for size, which in ((height, "height"), (width, "width"))
        ]
        with graphs.get_default_graph().control_dependencies(checks):
            flat = raw.Reshape(image, raw.Pack([batch * height * width, depth]))
        (top, down), (left, across) = (
            _floor(places[..., axis], size, image.dtype)
            for axis, size in enumerate((height, width))
        )
        starts = raw.Reshape(math_ops.range(batch) * height * width, [-1, 1, 1])

        def pixels(row: Any, column: Any) -> Any:
            return raw.GatherV2(flat, starts + row * width + column, 0)

        upper, lower = (
            pixels(row, left) + across * (pixels(row, left + 1) - pixels(row, left))
            for row in (top, top + 1)
        )
        result = upper + down * (lower - upper)
        result.set_shape(image.shape)
        return result


def _floor(places: Any, size: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the pixel before each place of an axis, and the share of the pixel after it."""
    last = math_ops.cast(size - 2, places.dtype)
    zero = convert.constant(0, places.dtype)
    floor = math_ops.minimum(math_ops.maximum(zero, math_ops.floor(places)), last)
    share = math_ops.cast(places - floor, dtype)
    share = math_ops.minimum(
        math_ops.maximum(convert.constant(0, dtype), share), convert.constant(1, dtype)
    )
    return math_ops.cast(floor, dtypes.int32), raw.ExpandDims(share, -1)


def sparse_image_warp(
    image: Any,
    source_control_point_locations: Any,
    dest_control_point_locations: Any,
    interpolation_order: int = 2,
    regularization_weight: float = 0.0,
    num_boundary_points: int = 0,
    name: str = "sparse_image_warp",
) -> tuple[Any, Any]:
    """Return images in which the given points have moved, and the flow of all pixels.

    Images have the shape [batch, height, width, channels], and points [batch, n, 2], as row and
    column. A spline of `interpolation_order` through the moves of the points gives the flow
    [batch, height, width, 2], by which `dense_image_warp` warps the images. If
    `num_boundary_points` is positive, the corners do not move, nor do as many other points of each
    edge, less one.

    Raises:
        ValueError: the height or the width of the images is unknown.
    """
    image = convert.convert_to_tensor(image)
    sources = convert.convert_to_tensor(source_control_point_locations)
    places = convert.convert_to_tensor(dest_control_point_locations)
    with graphs.get_default_graph().name_scope(name):
        sizes = image.shape.with_rank(4).as_list()[1:3]
        if None in sizes:
            raise ValueError(
                f"The height and the width of the images must be known, but their shape is "
                f"{image.shape}"
            )
        batch = array_ops.shape(places)[0]
        moves = places - sources
        if num_boundary_points > 0:
            fixed = _repeated(
                _border(sizes[0], sizes[1], num_boundary_points - 1), batch, places.dtype
            )
            places = array_ops.concat([places, fixed], 1)
            moves = array_ops.concat([moves, creation_ops.zeros_like(fixed)], 1)
        grid = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1)
        pixels = _repeated(grid.reshape(-1, 2), batch, places.dtype)
        flows = image_splines.interpolate_spline(
            places, moves, pixels, interpolation_order, regularization_weight
        )
        flow = array_ops.reshape(flows, [-1, *sizes, 2])
        return dense_image_warp(image, flow), flow


def _border(height: int, width: int, per_edge: int) -> Any:
    """Return evenly spaced points on the edges of an image: the corners, and more on each edge."""
    rows, columns = (np.linspace(0, size - 1, per_edge + 2) for size in (height, width))
    y, x = np.meshgrid(rows, columns, indexing="ij")
    is_outer = (x == 0) | (x == width - 1) | (y == 0) | (y == height - 1)
    return np.stack([y[is_outer], x[is_outer]], -1)


def _repeated(points: Any, batch: Any, dtype: dtypes.DType) -> Any:
    """Return points once for each example of a batch."""
    one = convert.constant(points[np.newaxis], dtype.base_dtype)
    return raw.Tile(one, raw.Pack([batch, 1, 1]))
