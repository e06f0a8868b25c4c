"""Kernels that cut boxes out of images, and their gradients (core/kernels/crop_and_resize_op.cc).

Images have the shape [batch, height, width, channels]. A box holds the numbers y_min, x_min, y_max
and x_max, where 0 is the first row or column of pixels, and 1 the last one.
"""

from typing import NamedTuple

import numpy as np

from capstan import errors
from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import rows as rows_of
from capstan.kernels.memory import is_on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, vector


class _Axis:
    """The positions of the pixels of crops along one axis of the images."""

    def __init__(self, starts: Array, ends: Array, old: int, new: int) -> None:
        last = np.float32(old - 1)
        if new > 1:
            self.parts = np.arange(new, dtype=np.float32) * (last / np.float32(new - 1))
            steps = (ends - starts) * last / np.float32(new - 1)
            places = np.arange(new, dtype=np.float32)
            self.positions = starts[:, np.newaxis] * last + places * steps[:, np.newaxis]
        else:
            # One pixel is the middle of the box.
            self.parts = np.full(1, 0.5 * last, np.float32)
            self.positions = np.float32(0.5) * (starts + ends)[:, np.newaxis] * last
        self.last = last
        self.is_inside = (self.positions >= 0) & (self.positions <= last)
        safe = np.where(self.is_inside, self.positions, 0)
        self.before = np.floor(safe).astype(np.intp)
        self.after = np.ceil(safe).astype(np.intp)
        self.part = safe - self.before
        # TensorFlow rounds halves away from zero.
        self.nearest = np.floor(safe + 0.5).astype(np.intp)


class _Geometry(NamedTuple):
    """Where the pixels of crops are in a batch of images."""

    images: Array
    """The number of the image of each box, of shape [boxes, 1, 1]."""
    rows: _Axis
    columns: _Axis

    @property
    def is_inside(self) -> Array:
        """Whether each pixel of the crops is inside of its image: [boxes, height, width]."""
        return _crossed(self.rows.is_inside, self.columns.is_inside, np.logical_and)


def _crossed(rows: Array, columns: Array, function: Function) -> Array:
    """Combine the values of rows and columns of crops to [boxes, height, width]."""
    result: Array = function(rows[:, :, np.newaxis], columns[:, np.newaxis])
    return result


def _geometry(boxes: Array, box_ind: Array, image: tuple[int, ...], crop: list[int]) -> _Geometry:
    """Check the boxes and the sizes, and return where the pixels of the crops are."""
    batch, height, width, _ = image
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise invalid(f"boxes must have the shape [boxes, 4], got {show(boxes.shape)}")
    if box_ind.shape != boxes.shape[:1]:
        raise invalid(
            f"box_ind must have the shape [{len(boxes)}], one number for each box, got "
            f"{show(box_ind.shape)}"
        )
    if height <= 0 or width <= 0:
        raise invalid(f"image dimensions must be positive, got {show(image)}")
    if min(crop) <= 0:
        raise invalid(f"crop dimensions must be positive, got {crop}")
    outside = box_ind[(box_ind < 0) | (box_ind >= batch)]
    if outside.size:
        raise errors.OutOfRangeError(
            None, None, f"box_ind has values outside [0, {batch}), the first is {outside[0]}"
        )
    top, left, bottom, right = boxes.T
    return _Geometry(
        box_ind[:, np.newaxis, np.newaxis],
        _Axis(top, bottom, height, crop[0]),
        _Axis(left, right, width, crop[1]),
    )


def _check_rank(value: Array, name: str) -> None:
    if value.ndim != 4:
        raise invalid(f"{name} must be 4-D, got {show(value.shape)}")


def _pixels(image: Array, images: Array, y: Array, x: Array) -> Array:
    """Return the pixels at places of images, in float32.

    `take` copies whole pixels. With an index for each axis, NumPy copies single numbers.
    """
    if is_on_host(image):
        batch, height, width, depth = image.shape
        flat = image.reshape(batch * height * width, depth)
        pixels: Array = flat.take((images * height + y) * width + x, 0)
    else:
        pixels = image[images, y, x]
    return pixels.astype(np.float32, copy=False)


def _corners(image: Array, where: _Geometry) -> tuple[Array, Array, Array, Array]:
    """Return the four pixels around each pixel of the crops, the upper ones first."""
    rows, columns = where.rows, where.columns
    top_left, top_right, bottom_left, bottom_right = (
        _pixels(image, where.images, y[:, :, np.newaxis], x[:, np.newaxis])
        for y in (rows.before, rows.after)
        for x in (columns.before, columns.after)
    )
    return top_left, top_right, bottom_left, bottom_right


def _crop(node: NodeContext) -> Function:
    is_nearest = node.attrs["method"] == b"nearest"
    outside = np.float32(node.attrs["extrapolation_value"])

    def crop(image: Array, boxes: Array, box_ind: Array, crop_size: Array) -> Array:
        _check_rank(image, "input image")
        size = vector(crop_size, "crop_size")
        if len(size) != 2:
            raise invalid(f"crop_size must have two elements, got {show(crop_size.shape)}")
        where = _geometry(boxes, box_ind, image.shape, size)
        rows, columns = where.rows, where.columns
        if is_nearest:
            at = rows.nearest[:, :, np.newaxis], columns.nearest[:, np.newaxis]
            pixels = _pixels(image, where.images, *at)
        else:
            top_left, top_right, bottom_left, bottom_right = _corners(image, where)
            right = columns.part[:, np.newaxis, :, np.newaxis]
            top = top_left + (top_right - top_left) * right
            bottom = bottom_left + (bottom_right - bottom_left) * right
            pixels = top + (bottom - top) * rows.part[:, :, np.newaxis, np.newaxis]
        return np.where(where.is_inside[..., np.newaxis], pixels, outside)

    return crop


def _image_grad(node: NodeContext) -> Function:
    is_nearest = node.attrs["method"] == b"nearest"
    dtype = dtypes.as_dtype(node.attrs["T"]).as_numpy_dtype

    def gradient(grads: Array, boxes: Array, box_ind: Array, image_size: Array) -> Array:
        _check_rank(grads, "grads image")
        size = vector(image_size, "image_size")
        if len(size) != 4:
            raise invalid(f"image_size must have 4 elements, got {show(image_size.shape)}")
        where = _geometry(boxes, box_ind, tuple(size), list(grads.shape[1:3]))
        rows, columns = where.rows, where.columns
        # NumPy adds single float16 numbers slowly, and rounds each sum.
        sums = np.zeros(size, np.float64 if dtype == np.float64 else np.float32)
        slopes = np.where(where.is_inside[..., np.newaxis], grads, 0)
        ones = np.ones_like(columns.part), np.ones_like(rows.part)
        taps = [(rows.nearest, ones[1], columns.nearest, ones[0])]
        if not is_nearest:
            taps = [
                (y, height, x, width)
                for y, height in ((rows.before, 1 - rows.part), (rows.after, rows.part))
                for x, width in ((columns.before, 1 - columns.part), (columns.after, columns.part))
            ]
        pixels = sums.reshape(-1, size[3])
        for y, height, x, width in taps:
            weights = _crossed(height, width, np.multiply)[..., np.newaxis]
            at = _crossed(y, x, lambda y, x: (where.images * size[1] + y) * size[2] + x)
            rows_of.accumulate(np.add, pixels, at, slopes * weights)
        return sums.astype(dtype, copy=False)

    return gradient


def _boxes_grad(node: NodeContext) -> Function:
    def gradient(grads: Array, image: Array, boxes: Array, box_ind: Array) -> Array:
        _check_rank(grads, "grads image")
        _check_rank(image, "input image")
        where = _geometry(boxes, box_ind, image.shape, list(grads.shape[1:3]))
        rows, columns = where.rows, where.columns
        top_left, top_right, bottom_left, bottom_right = _corners(image, where)
        right = columns.part[:, np.newaxis, :, np.newaxis]
        down = rows.part[:, :, np.newaxis, np.newaxis]
        by_row = (1 - right) * (bottom_left - top_left) + right * (bottom_right - top_right)
        by_column = (1 - down) * (top_right - top_left) + down * (bottom_right - bottom_left)
        slopes = np.where(where.is_inside[..., np.newaxis], grads, 0)
        # The slope by each position, summed over the channels and the other axis.
        of_rows = np.sum(slopes * by_row, (2, 3))
        of_columns = np.sum(slopes * by_column, (1, 3))
        return np.stack(
            [
                np.sum(of_rows * (rows.last - rows.parts), 1),
                np.sum(of_columns * (columns.last - columns.parts), 1),
                np.sum(of_rows * rows.parts, 1),
                np.sum(of_columns * columns.parts, 1),
            ],
            1,
        ).astype(np.float32, copy=False)

    return gradient


register(Kernel("CropAndResize", _crop))
register(Kernel("CropAndResizeGradImage", _image_grad))
register(Kernel("CropAndResizeGradBoxes", _boxes_grad))
