"""The kernel of windows of images (core/kernels/{attention_ops.cc,eigen_attention.h}).

The noise around an image is not TensorFlow's, because TensorFlow's has no seed.
"""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid

Noise = Callable[[np.random.Generator, Array, Array], None]
"""Fills a window of an image with noise."""


def _zero(_: np.random.Generator, image: Array, window: Array) -> None:
    window[:] = 0


def _uniform(generator: np.random.Generator, image: Array, window: Array) -> None:
    low = image.min()
    window[:] = low + generator.random(window.shape, np.float32) * (image.max() - low)


def _gaussian(generator: np.random.Generator, image: Array, window: Array) -> None:
    """Draw numbers with the mean and the variance of each channel, and between its limits."""
    pixels = image.reshape(-1, image.shape[-1])
    drawn = generator.standard_normal(window.shape, np.float32)
    noise = pixels.mean(0) + drawn * pixels.std(0)
    window[:] = np.clip(noise, pixels.min(0), pixels.max(0))


_NOISES: Final[Mapping[bytes, Noise]] = {
    b"uniform": _uniform,
    b"gaussian": _gaussian,
    b"zero": _zero,
}


def _noise_of(node: NodeContext) -> Noise:
    name, is_uniform = node.attrs["noise"], node.attrs["uniform_noise"]
    if is_uniform and name not in (b"", b"uniform"):
        raise invalid("The uniform_noise and noise could not be specified at the same time")
    name = name or (b"uniform" if is_uniform else b"gaussian")
    if name not in _NOISES:
        raise invalid(
            "The noise could only be uniform, gaussian, or zero, got "
            f"{name.decode(errors='replace')}"
        )
    return _NOISES[name]


def _extract(node: NodeContext) -> Function:
    noise = _noise_of(node)
    is_first = node.op == "ExtractGlimpse"
    is_centered, is_normalized = node.attrs["centered"], node.attrs["normalized"]

    def extract(images: Array, size: Array, offsets: Array) -> Array:
        _check(images, size, offsets)
        generator = node.resources.keep(node.name, _generator)
        sizes = np.array(size.tolist(), np.float32)
        whole = np.array(images.shape[1:3], np.float32)
        places = offsets * whole if is_normalized else offsets
        if is_centered:
            # The second version takes offsets in pixels as they are.
            halved = places / np.float32(2) if is_normalized or is_first else places
            places = halved + whole / np.float32(2)
        if is_first or (is_centered and is_normalized):
            places = places - sizes / np.float32(2)
        corners = np.trunc(places).astype(np.intp)
        glimpses = np.empty((len(images), *size.tolist(), images.shape[3]), np.float32)
        if glimpses.size:
            for image, corner, window in zip(images, corners.tolist(), glimpses, strict=True):
                _cut(image, corner, window, lambda *parts: noise(generator, *parts))
        return glimpses

    return extract


def _generator() -> np.random.Generator:
    return np.random.Generator(np.random.Philox())


def _cut(
    image: Array, corner: list[int], window: Array, fill: Callable[[Array, Array], None]
) -> None:
    """Copy the part of an image that is under a window, and fill the rest of the window."""
    source, target = [], []
    for start, size, whole in zip(corner, window.shape, image.shape, strict=False):
        first, last = max(start, 0), min(start + size, whole)
        source.append(slice(first, max(last, first)))
        target.append(slice(first - start, max(last, first) - start))
    part = image[tuple(source)]
    if part.shape != window.shape:
        fill(image, window)
    if part.size:
        window[tuple(target)] = part


def _check(images: Array, size: Array, offsets: Array) -> None:
    if images.ndim != 4:
        raise invalid(
            "input must be 4-dimensional (batch_size, height, width, depth), got "
            f"{show(images.shape)}"
        )
    if size.shape != (2,) or (size < 0).any():
        raise invalid(f"size must be a vector of two sizes (height, width), got {size.tolist()}")
    if offsets.shape != (len(images), 2):
        raise invalid(f"offsets must have the shape [{len(images)},2], got {show(offsets.shape)}")


register(Kernel("ExtractGlimpse", _extract))
register(Kernel("ExtractGlimpseV2", _extract))
