"""Kernels that change the colours of images (core/kernels/image/{colorspace,adjust_*}_op.cc).

The last axis of images has red, green and blue. Colours are numbers from 0 to 1.
"""

from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Kernel, register
from capstan.kernels.rejection import invalid


def _to_hsv(images: Array) -> Array:
    # NumPy takes long for each row of three numbers.
    red, green, blue = np.moveaxis(images, -1, 0).copy()
    value = np.maximum(np.maximum(red, green), blue)
    spread = value - np.minimum(np.minimum(red, green), blue)
    with np.errstate(divide="ignore", invalid="ignore"):
        saturation = np.where(value > 0, spread / value, 0)
        sixth = np.where(spread > 0, 1 / (6 * spread), 0)
    hue = np.where(
        value == red,
        (green - blue) * sixth,
        np.where(value == green, (blue - red) * sixth + 2 / 6, (red - green) * sixth + 4 / 6),
    )
    hue = np.where(hue < 0, hue + 1, hue)
    return np.stack((hue, saturation, value), -1).astype(images.dtype, copy=False)


def _to_rgb(images: Array) -> Array:
    hue, saturation, value = np.moveaxis(images, -1, 0)
    sixths = hue * 6
    colours = np.stack((np.abs(sixths - 3) - 1, 2 - np.abs(sixths - 2), 2 - np.abs(sixths - 4)), -1)
    grey, saturation = 1 - saturation[..., np.newaxis], saturation[..., np.newaxis]
    mixed = (grey + saturation * np.clip(colours, 0, 1)) * value[..., np.newaxis]
    converted: Array = mixed.astype(images.dtype, copy=False)
    return converted


def _adjust_hue(images: Array, delta: Array) -> Array:
    hsv = _to_hsv(images.astype(np.float32))
    hsv[..., 0] = np.mod(hsv[..., 0] + delta.astype(np.float32), 1)
    return _to_rgb(hsv).astype(images.dtype)


def _adjust_saturation(images: Array, scale: Array) -> Array:
    hsv = _to_hsv(images.astype(np.float32))
    hsv[..., 1] = np.clip(hsv[..., 1] * scale.astype(np.float32), 0, 1)
    return _to_rgb(hsv).astype(images.dtype)


def _adjust_contrast(images: Array, factor: Any) -> Array:
    if images.ndim < 3:
        raise invalid(f"input must be at least 3-D, got shape{shapes.show(images.shape)}")
    pixels = images.astype(np.float32, copy=False)
    mean = pixels.mean((-3, -2), keepdims=True)
    adjusted: Array = (pixels - mean) * factor.astype(np.float32) + mean
    return adjusted.astype(images.dtype, copy=False)


def _adjust_bounded_contrast(images: Array, factor: Any, least: Any, most: Any) -> Array:
    adjusted = _adjust_contrast(images.astype(np.float32), factor)
    return np.clip(adjusted, least, most)


register(Kernel("RGBToHSV", constantly(_to_hsv)))
register(Kernel("HSVToRGB", constantly(_to_rgb)))
register(Kernel("AdjustHue", constantly(_adjust_hue)))
register(Kernel("AdjustSaturation", constantly(_adjust_saturation)))
register(Kernel("AdjustContrastv2", constantly(_adjust_contrast)))
register(Kernel("AdjustContrast", constantly(_adjust_bounded_contrast)))
