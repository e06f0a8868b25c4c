"""Morphological filters of images (python/ops/nn_ops.py), and their patches (array_ops.py)."""

from typing import Any

from capstan.api import deprecation
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = ["extract_image_patches"]


def dilation2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """Return the largest sum of a pixel and the filter's element in each window.

    `input` is [batch, height, width, channels] and `filter` [height, width, channels]. `strides`
    and `rates` have 4 numbers, of which the first and the last are 1. The pixels of a window are
    `rates` apart. `filters` and `dilations` are newer names of `filter` and `rates`.

    Raises:
        ValueError: an argument has both of its names, the padding is not "SAME" or "VALID", or the
            shapes do not fit.
    """
    return raw.Dilation2D(
        input,
        deprecation.deprecated_argument_lookup("filters", filters, "filter", filter),
        strides=strides,
        rates=deprecation.deprecated_argument_lookup("dilations", dilations, "rates", rates),
        padding=padding,
        name=name,
    )


def erosion2d(
    value: Any, kernel: Any, strides: Any, rates: Any, padding: Any, name: str | None = None
) -> Any:
    """Return the smallest difference of a pixel and the kernel's element in each window.

    The arguments are those of `dilation2d`.

    Raises:
        ValueError: the padding is not "SAME" or "VALID", or the shapes do not fit.
    """
    with scoped(name, "erosion2d", (value, kernel)) as scope:
        kernel = convert.convert_to_tensor(kernel, name="kernel")
        turned = raw.ReverseV2(kernel, [0, 1])
        attrs = {"strides": strides, "rates": rates, "padding": padding}
        return raw.Neg(raw.Dilation2D(raw.Neg(value), turned, **attrs), name=scope)


def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: Any = None,
) -> Any:
    """Return the pixels of each window of images, as the channels of one pixel.

    `ksizes` or its newer name `sizes`, `strides` and `rates` have 4 numbers, of which the first and
    the last are 1. The pixels of a window are `rates` apart. The result is [batch, rows, columns,
    height * width * channels]. Padding is 0.

    Raises:
        ValueError: both names of the sizes are given, or the padding is not "SAME" or "VALID".
    """
    return raw.ExtractImagePatches(
        images,
        ksizes=deprecation.deprecated_argument_lookup("sizes", sizes, "ksizes", ksizes),
        strides=strides,
        rates=rates,
        padding=padding,
        name=name,
    )


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: Any, name: str | None = None
) -> Any:
    """Return the pixels of each window of images, as `extract_image_patches`."""
    return extract_image_patches(images, sizes, strides, rates, padding, name)
