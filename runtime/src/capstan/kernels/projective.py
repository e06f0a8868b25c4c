"""The kernel of projective transforms of images (core/kernels/image/image_ops.h).

A transform maps each place of the new image to a place in the old image.
"""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, vector


def _reflected(places: Array, size: int) -> Array:
    if size <= 1:
        return np.zeros_like(places)
    period = np.float32(2 * size)
    below = np.where(places < period, period * np.trunc(-places / period) + places, places)
    below = np.where(below < -size, below + period, -below - 1)
    above = places - period * np.trunc(places / period)
    above = np.where(above >= size, period - above - 1, above)
    return _nearest(np.where(places < 0, below, np.where(places > size - 1, above, places)), size)


def _wrapped(places: Array, size: int) -> Array:
    if size <= 1:
        return np.zeros_like(places)
    last, whole = np.float32(size - 1), np.float32(size)
    below = places + whole * (np.trunc(-places / last) + 1)
    above = places - whole * np.trunc(places / last)
    return _nearest(np.where(places < 0, below, np.where(places > last, above, places)), size)


def _nearest(places: Array, size: int) -> Array:
    return np.clip(places, 0, np.float32(size - 1))


_MODES: Final[Mapping[bytes, Callable[[Array, int], Array]]] = {
    b"CONSTANT": lambda places, _: places,
    b"NEAREST": _nearest,
    b"REFLECT": _reflected,
    b"WRAP": _wrapped,
}
"""How a place outside of an image becomes one inside, by fill mode."""


def _transform(node: NodeContext) -> Function:
    interpolation, mode = node.attrs["interpolation"], node.attrs["fill_mode"]
    if interpolation not in (b"NEAREST", b"BILINEAR"):
        raise invalid(f"Invalid interpolation {_name(interpolation)}. Supported: NEAREST, BILINEAR")
    if mode not in _MODES:
        raise invalid(f"Invalid mode {_name(mode)}. Supported: {', '.join(map(_name, _MODES))}")
    take = _taken if interpolation == b"NEAREST" else _between
    inside = _MODES[mode]

    def transform(
        images: Array, transforms: Array, size: Array, fill: Array | None = None
    ) -> Array:
        _check(images, transforms, size)
        new = vector(size, "output_shape")
        if min(new) < 1:
            raise invalid(f"new_height, new_width must be positive, but are {new[0]}, {new[1]}")
        filled = np.asarray(0 if fill is None else fill, np.float32)
        result = np.empty((len(images), *new, images.shape[3]), images.dtype)
        for index, image in enumerate(images):
            rows, columns, is_valid = _places(transforms[index % len(transforms)], new)
            places = inside(rows, image.shape[0]), inside(columns, image.shape[1])
            values = take(image, *places, filled)
            values = np.where(is_valid[..., None], values, filled)
            result[index] = values.astype(images.dtype)
        return result

    return transform


def _name(text: bytes) -> str:
    return text.decode(errors="replace")


def _check(images: Array, transforms: Array, size: Array) -> None:
    if images.ndim != 4:
        raise invalid("Input images must have rank 4")
    if transforms.ndim != 2 or transforms.shape[1] != 8 or len(transforms) not in (1, len(images)):
        raise invalid(
            "Input transform should be num_images x 8 or 1 x 8, but has shape "
            f"{show(transforms.shape)}"
        )
    if size.shape != (2,):
        raise invalid(f"output shape must have two elements, but has shape {show(size.shape)}")


def _places(transform: Array, size: list[int]) -> tuple[Array, Array, Array]:
    """Return the rows and columns in the old image of all new pixels, and whether they exist."""
    y, x = np.meshgrid(*(np.arange(each, dtype=np.float32) for each in size), indexing="ij")
    a, b, c, d, e, f, g, h = transform
    depth = g * x + h * y + np.float32(1)
    is_valid = depth != 0
    depth = np.where(is_valid, depth, np.float32(1))
    return (d * x + e * y + f) / depth, (a * x + b * y + c) / depth, is_valid


def _pixels(image: Array, rows: Array, columns: Array, fill: Array) -> Array:
    """Return the pixels at whole places, and the fill value outside of the image."""
    height, width = image.shape[:2]
    if not height or not width:
        return np.broadcast_to(fill.astype(image.dtype), (*rows.shape, image.shape[2]))
    is_inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    chosen = image[
        np.clip(rows, 0, height - 1).astype(np.intp), np.clip(columns, 0, width - 1).astype(np.intp)
    ]
    return np.where(is_inside[..., None], chosen, fill.astype(image.dtype))


def _taken(image: Array, rows: Array, columns: Array, fill: Array) -> Array:
    # Halves are rounded away from 0.
    row, column = (np.trunc(each + np.copysign(np.float32(0.5), each)) for each in (rows, columns))
    return _pixels(image, row, column, fill)


def _between(image: Array, rows: Array, columns: Array, fill: Array) -> Array:
    """Return float32, whatever the type of the image is, as TensorFlow does."""
    top, left = np.floor(rows), np.floor(columns)
    bottom, right = top + np.float32(1), left + np.float32(1)

    def at(row: Array, column: Array) -> Array:
        return _pixels(image, row, column, fill).astype(np.float32)

    to_left, to_right = (columns - left)[..., None], (right - columns)[..., None]
    upper, lower = (to_right * at(row, left) + to_left * at(row, right) for row in (top, bottom))
    values: Array = (bottom - rows)[..., None] * upper + (rows - top)[..., None] * lower
    return values


register(Kernel("ImageProjectiveTransformV2", _transform))
register(Kernel("ImageProjectiveTransformV3", _transform))
