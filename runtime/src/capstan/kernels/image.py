"""Kernels that resize images, and the gradients of these (core/kernels/image/resize_*_op.cc).

Images have the shape [batch, height, width, channels].
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.kernels.memory import is_on_host, numbers
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, vector

_TABLE_SIZE = 1 << 10
"""TensorFlow rounds the weights of a bicubic interpolation to this number of steps."""
_BLOCK: Final = 1 << 16
"""About as many new pixels are made at once."""


class _Axis:
    """The positions of the new pixels of one axis among its old pixels.

    They are in the memory of the images.
    """

    def __init__(
        self, images: Array, old: int, new: int, *, align_corners: bool, half_pixels: bool
    ) -> None:
        self.old = old
        aligned = align_corners and new > 1
        self.scale = np.float32((old - 1) / (new - 1) if aligned else old / new)
        self.half_pixels, self.is_aligned = half_pixels, align_corners
        self.numbers = numbers(new, images)
        places = self.numbers.astype(np.float32)
        self.positions = (
            (places + np.float32(0.5)) * self.scale - np.float32(0.5)
            if half_pixels
            else places * self.scale
        )

    def neighbours(self) -> tuple[Array, Array, Array]:
        """Return the pixel before and the pixel after each position, and the part of the latter."""
        floor = np.floor(self.positions)
        before = np.clip(floor, 0, self.old - 1).astype(np.intp)
        after = np.clip(floor + 1, 0, self.old - 1).astype(np.intp)
        return before, after, self.positions - floor

    def nearest(self) -> Array:
        places = self.positions + np.float32(0.5) if self.half_pixels else self.positions
        chosen = np.floor(places + np.float32(0.5)) if self.is_aligned else np.floor(places)
        pixels: Array = np.clip(chosen, 0, self.old - 1).astype(np.intp)
        return pixels

    def linear_weights(self) -> Array:
        """Return the weight of each old pixel (column) in each new pixel (row)."""
        before, after, part = self.neighbours()
        if not is_on_host(part):
            # CuPy adds numbers only to whole rows, so each weight looks for its place.
            places = numbers(self.old, part)
            first, second = (
                np.where(places == near[:, np.newaxis], weight[:, np.newaxis], np.float32(0))
                for near, weight in ((before, 1 - part), (after, part))
            )
            both: Array = first + second
            return both
        weights = np.zeros_like(part, shape=(len(part), self.old))
        np.add.at(weights, (self.numbers, before), 1 - part)
        np.add.at(weights, (self.numbers, after), part)
        return weights

    def cubic_weights(self) -> Array:
        """Return the weight of each old pixel (column) in each new pixel (row)."""
        floor = np.floor(self.positions)
        steps = np.rint((self.positions - floor) * _TABLE_SIZE) / _TABLE_SIZE
        a = -0.5 if self.half_pixels else -0.75
        weights = np.zeros((len(steps), self.old))
        total = np.zeros(len(steps))
        for tap in range(-1, 3):
            distance = np.abs(steps - tap)
            near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
            far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
            weight = np.where(distance <= 1, near, far)
            pixel = (floor + tap).astype(np.intp)
            if self.half_pixels:
                # Pixels outside of the image do not count.
                weight = np.where((pixel >= 0) & (pixel < self.old), weight, 0.0)
            total += weight
            np.add.at(weights, (np.arange(len(steps)), np.clip(pixel, 0, self.old - 1)), weight)
        if self.half_pixels:
            weights /= total[:, np.newaxis]
        return np.asarray(weights, np.float32)

    def area_weights(self) -> Array:
        """Return the part of each new pixel (row) that each old pixel (column) covers."""
        starts = self.positions[:, np.newaxis]
        if not self.scale:  # with aligned corners, a single pixel covers all new pixels
            return np.ones((len(starts), self.old), np.float32)
        ends = starts + self.scale
        pixels = np.arange(self.old, dtype=np.float32)
        covered = np.minimum(ends, pixels + 1) - np.maximum(starts, pixels)
        # With aligned corners, the last pixels reach over the edge, and repeat the edge.
        weights = np.clip(covered, 0, None)
        weights[:, -1] += np.clip(ends[:, 0] - np.maximum(starts[:, 0], self.old), 0, None)
        return np.asarray(weights / self.scale)


Resize = Callable[[Array, _Axis, _Axis], Array]
Weights = Callable[[_Axis], Array]


def _bilinear(images: Array, rows: _Axis, columns: _Axis) -> Array:
    pixels = images.astype(np.float32, copy=False)
    top, bottom, height = rows.neighbours()
    across = columns.neighbours()
    # A device would have to wait for the rows that are used.
    if not is_on_host(pixels):
        return _between(_between(pixels, across, 2), (top, bottom, height), 1)
    # Several new rows may lie between the same old ones, which are resized once.
    used, places = np.unique(np.stack((top, bottom)), return_inverse=True)
    down = (*places.reshape(2, -1), height)
    result = np.empty((len(pixels), len(height), len(across[2]), pixels.shape[3]), np.float32)
    # The pixels between two steps stay in the cache.
    count = max(_BLOCK // max(math.prod(result.shape[1:]), 1), 1)
    for start in range(0, len(pixels), count):
        part = slice(start, start + count)
        _between(_between(np.take(pixels[part], used, 1), across, 2), down, 1, result[part])
    return result


def _between(
    pixels: Array,
    neighbours: tuple[Array, Array, Array],
    axis: int,
    out: Array | None = None,
) -> Array:
    """Return the pixels that lie between neighbours along an axis."""
    before, after, part = neighbours
    start = np.take(pixels, before, axis)
    made = np.take(pixels, after, axis)
    np.subtract(made, start, made)
    np.multiply(made, part.reshape(-1, *(1,) * (pixels.ndim - axis - 1)), made)
    np.add(made, start, made if out is None else out)
    return made if out is None else out


def _nearest(images: Array, rows: _Axis, columns: _Axis) -> Array:
    result: Array = images[:, rows.nearest()][:, :, columns.nearest()]
    return result


def _weighted(images: Array, vertical: Array, horizontal: Array) -> Array:
    pixels = images.astype(np.float32, copy=False)
    shrunk = np.matmul(vertical, pixels.reshape(len(pixels), pixels.shape[1], -1))
    shrunk = shrunk.reshape(len(pixels), len(vertical), *pixels.shape[2:])
    return np.asarray(np.matmul(horizontal, shrunk))


def _bicubic(images: Array, rows: _Axis, columns: _Axis) -> Array:
    return _weighted(images, rows.cubic_weights(), columns.cubic_weights())


def _area(images: Array, rows: _Axis, columns: _Axis) -> Array:
    return _weighted(images, rows.area_weights(), columns.area_weights())


def _resize(method: Resize) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        aligned = bool(node.attrs["align_corners"])
        half_pixels = bool(node.attrs.get("half_pixel_centers", False))
        if aligned and half_pixels:
            raise invalid("If half_pixel_centers is True, align_corners must be False.")

        def resize(images: Array, size: Array) -> Array:
            if images.ndim != 4:
                raise invalid(f"input must be 4-dimensional {shapes.show(images.shape)}")
            new = vector(np.asarray(size), "size")
            if len(new) != 2:
                raise invalid(f"shape_t must have two elements {shapes.show(size.shape)}")
            if min(new) <= 0:
                raise invalid("output dimensions must be positive")
            if 0 in images.shape[1:]:
                raise invalid("input image must be of non-zero size")
            rows, columns = (
                _Axis(images, old, length, align_corners=aligned, half_pixels=half_pixels)
                for old, length in zip(images.shape[1:3], new, strict=True)
            )
            return method(images, rows, columns)

        return resize

    return make


def _is_aligned(node: NodeContext) -> tuple[bool, bool]:
    """Return the attributes `align_corners` and `half_pixel_centers` of a node."""
    return bool(node.attrs["align_corners"]), bool(node.attrs["half_pixel_centers"])


def _spread(
    multiply: Function, grads: Array, dtype: Any, vertical: Array, horizontal: Array
) -> Array:
    """Add the gradient of each new pixel to the old pixels, times their weights in it."""
    # NumPy multiplies matrices of float16 without BLAS.
    wide = np.dtype(np.float32 if dtype == np.float16 else dtype)
    pixels = grads.astype(wide, copy=False)
    down, right = (weights.T.astype(wide, "C") for weights in (vertical, horizontal))
    sums = multiply(down, pixels.reshape(*pixels.shape[:2], -1))
    sums = sums.reshape(len(pixels), len(down), *pixels.shape[2:])
    result: Array = multiply(right, sums).astype(dtype, copy=False)
    return result


def _summed(values: Array, chosen: Array, size: int, axis: int) -> Array:
    """Return `size` slices along an axis: sums of the slices whose numbers in `chosen` are equal.

    The numbers in `chosen` must not descend.
    """
    made = np.zeros_like(values, shape=(*values.shape[:axis], size, *values.shape[axis + 1 :]))
    before = (slice(None),) * axis
    if not is_on_host(values):
        # CuPy adds atomically, so several values may go to one slice.
        np.add.at(made.swapaxes(0, axis), chosen, values.swapaxes(0, axis))
        return made
    slots = np.arange(size)
    starts = np.searchsorted(chosen, slots)
    counts = np.searchsorted(chosen, slots, "right") - starts
    for offset in range(counts.max()):
        filled = np.flatnonzero(counts > offset)
        part = np.take(values, starts[filled] + offset, axis)
        if len(filled) == size:
            np.add(made, part, made)
        else:
            place: Any = (*before, filled)
            made[place] += part
    return made


def _resize_grad(weights: Weights) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        multiply = node.hardware.matmul
        aligned, half_pixels = _is_aligned(node)
        if aligned and half_pixels:
            raise invalid("If half_pixel_centers is True, align_corners must be False.")

        def gradient(grads: Array, original: Array) -> Array:
            for name, value, kind in (
                ("input_grad", grads, "resized"),
                ("original_image", original, "original"),
            ):
                if value.ndim != 4:
                    raise invalid(f"{name} must be 4-dimensional{shapes.show(value.shape)}")
                if 0 in value.shape[1:3]:
                    raise invalid(f"{kind} dimensions must be positive")
            axes = (
                _Axis(grads, old, new, align_corners=aligned, half_pixels=half_pixels)
                for old, new in zip(original.shape[1:3], grads.shape[1:3], strict=True)
            )
            return _spread(multiply, grads, original.dtype, *map(weights, axes))

        return gradient

    return make


def _nearest_grad(node: NodeContext) -> Function:
    aligned, half_pixels = _is_aligned(node)

    def gradient(grads: Array, size: Array) -> Array:
        if grads.ndim != 4:
            raise invalid(f"input must be 4-dimensional{shapes.show(grads.shape)}")
        for condition, is_met in (
            ("be 1-dimensional", size.ndim == 1),
            ("have two elements", size.size == 2),
        ):
            if not is_met:
                raise invalid(f"shape_t must {condition}{shapes.show(size.shape)}")
        sizes = size.tolist()
        if min(sizes) <= 0:
            raise invalid("shape_t's elements must be positive")
        if not grads.size:
            return np.zeros_like(grads, shape=(len(grads), *sizes, grads.shape[-1]))
        axes = (
            _Axis(grads, old, new, align_corners=aligned, half_pixels=half_pixels)
            for old, new in zip(sizes, grads.shape[1:3], strict=True)
        )
        down, right = (axis.nearest() for axis in axes)
        return _summed(_summed(grads, down, sizes[0], 1), right, sizes[1], 2)

    return gradient


register(Kernel("ResizeBilinear", _resize(_bilinear)))
register(Kernel("ResizeNearestNeighbor", _resize(_nearest)))
register(Kernel("ResizeBicubic", _resize(_bicubic)))
register(Kernel("ResizeArea", _resize(_area)))
register(Kernel("ResizeBilinearGrad", _resize_grad(_Axis.linear_weights)))
register(Kernel("ResizeBicubicGrad", _resize_grad(_Axis.cubic_weights)))
register(Kernel("ResizeNearestNeighborGrad", _nearest_grad))
