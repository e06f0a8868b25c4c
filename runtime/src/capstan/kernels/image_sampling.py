"""Kernels that resize images by a choice of filters (core/kernels/scale_and_translate_op.cc).

A new pixel is a mean of the old pixels around its place. The filter gives the weights, and is as
much wider as the image becomes smaller (`antialias`).
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, vector

_TINY: Final = 1000 * np.finfo(np.float32).tiny


class _Filter(NamedTuple):
    """The weights of pixels by their distance. They are 0 outside of the radius."""

    radius: float
    weigh: Callable[[Array], Array]


def _lanczos(radius: float) -> _Filter:
    def weigh(x: Array) -> Array:
        near = np.maximum(x, 1e-3) * math.pi
        weights = radius * np.sin(near) * np.sin(near / radius) / (near * near)
        return np.where(x > radius, 0, np.where(x <= 1e-3, 1, weights))

    return _Filter(radius, weigh)


def _cubic(near: tuple[float, ...], far: tuple[float, ...]) -> _Filter:
    """Return the filter of two polynomials: for distances below 1, and below 2."""

    def weigh(x: Array) -> Array:
        inner, outer = np.polyval(near, x), np.polyval(far, x)
        return np.where(x >= 2, 0, np.where(x >= 1, outer, inner))

    return _Filter(2, weigh)


_FILTERS: Final[Mapping[bytes, _Filter]] = {
    b"lanczos1": _lanczos(1),
    b"lanczos3": _lanczos(3),
    b"lanczos5": _lanczos(5),
    b"gaussian": _Filter(1.5, lambda x: np.where(x >= 1.5, 0, np.exp(-2 * x * x))),
    b"box": _Filter(1, lambda x: np.where(x < 0.5, 1, np.where(x == 0.5, 0.5, 0))),
    b"triangle": _Filter(1, lambda x: np.maximum(1 - x, 0)),
    b"keyscubic": _cubic((1.5, -2.5, 0, 1), (-0.5, 2.5, -4, 2)),
    b"mitchellcubic": _cubic((7 / 6, -2, 0, 8 / 9), (-7 / 18, 2, -10 / 3, 16 / 9)),
}


def _weights(chosen: _Filter, new: int, old: int, scale: Any, shift: Any, is_wide: bool) -> Array:
    """Return the weight of each old pixel (column) in each new pixel (row) of an axis.

    The weights of a new pixel outside of the image are 0.
    """
    back = np.float32(1) / scale
    width = max(back, np.float32(1)) if is_wide else np.float32(1)
    places = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * back - back * shift
    reach = np.float32(chosen.radius) * width
    first = np.clip(np.ceil(places - reach - np.float32(0.5)), 0, old - 1)
    last = np.clip(np.floor(places + reach - np.float32(0.5)), 0, old - 1)
    pixels = np.arange(old, dtype=np.float32)
    distances = np.abs(pixels + np.float32(0.5) - places[:, None]) / width
    weights = chosen.weigh(distances).astype(np.float32)
    is_near = (pixels >= first[:, None]) & (pixels <= last[:, None])
    weights *= is_near & (places >= 0)[:, None] & (places <= old)[:, None]
    totals = weights.sum(1, keepdims=True)
    result = np.zeros_like(weights)
    np.divide(weights, totals, result, where=np.abs(totals) >= _TINY)
    return result


def _filter_of(node: NodeContext) -> _Filter:
    name = node.attrs["kernel_type"]
    if name not in _FILTERS:
        raise invalid(f"Unrecognized kernel type: {name.decode(errors='replace')}")
    return _FILTERS[name]


def _check(images: Array, scale: Array, translation: Array) -> None:
    if images.ndim != 4:
        raise invalid(f"input must be 4-dimensional{shapes.show(images.shape)}")
    if not all(images.shape[1:3]):
        raise invalid("input image must be of non-zero size")
    if not images.shape[3]:
        raise invalid("image must have at least one channel")
    for name, pair in (("scale", scale), ("translation", translation)):
        if pair.shape != (2,):
            raise invalid(f"{name} must have two elements, but has shape {shapes.show(pair.shape)}")
    if not (scale > 0).all():
        raise invalid("Scale must be greater than zero.")


def _mixed(images: Array, rows: Array, columns: Array) -> Array:
    """Return the sums of pixels that the two matrices of weights give."""
    batch, height, width, depth = images.shape
    lines = rows @ images.reshape(batch, height, width * depth)
    mixed = columns @ lines.reshape(batch * len(rows), width, depth)
    result: Array = mixed.reshape(batch, len(rows), len(columns), depth)
    return result


def _scaled(node: NodeContext) -> Function:
    chosen, is_wide = _filter_of(node), node.attrs["antialias"]

    def scaled(images: Array, size: Array, scale: Array, translation: Array) -> Array:
        _check(images, scale, translation)
        height, width = vector(size, "size")
        if height < 1 or width < 1:
            raise invalid("output dimensions must be positive")
        rows, columns = (
            _weights(chosen, new, images.shape[1 + axis], scale[axis], translation[axis], is_wide)
            for axis, new in enumerate((height, width))
        )
        return _mixed(images.astype(np.float32, copy=False), rows, columns)

    return scaled


def _scaled_slope(node: NodeContext) -> Function:
    chosen, is_wide = _filter_of(node), node.attrs["antialias"]

    def slope(grads: Array, images: Array, scale: Array, translation: Array) -> Array:
        _check(images, scale, translation)
        if grads.ndim != 4:
            raise invalid(f"grads must be 4-dimensional{shapes.show(grads.shape)}")
        rows, columns = (
            _weights(
                chosen, grads.shape[1 + axis], images.shape[1 + axis], scale[axis],
                translation[axis], is_wide,
            )
            for axis in range(2)
        )  # fmt: skip
        return _mixed(grads, rows.T, columns.T)

    return slope


register(Kernel("ScaleAndTranslate", _scaled))
register(Kernel("ScaleAndTranslateGrad", _scaled_slope))
