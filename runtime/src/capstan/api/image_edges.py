"""Functions of the differences between the pixels of images (python/ops/image_ops_impl.py)."""

from typing import Any

import numpy as np

from capstan.api import array_ops, math_ops, nn_convolution, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import shapes
from capstan.framework import convert

_SOBEL = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
"""The weights of the neighbours of a pixel in the slope from top to bottom."""


def image_gradients(image: Any) -> tuple[Any, Any]:
    """Return the difference of each pixel to the pixel below, and to the pixel on its right.

    `image` has the shape [batch, height, width, channels]. The results have its shape and dtype.
    Their last row, or last column, is zero.

    Raises:
        ValueError: `image` does not have 4 axes.
    """
    value = convert.convert_to_tensor(image, name="image")
    if value.shape.ndims != 4:
        raise ValueError(
            "image_gradients expects a 4D tensor [batch_size, h, w, d], not "
            f"{shapes.show(value.shape.internal)}."
        )
    down = value[:, 1:] - value[:, :-1]
    right = value[:, :, 1:] - value[:, :, :-1]
    return (
        array_ops.pad(down, [[0, 0], [0, 1], [0, 0], [0, 0]]),
        array_ops.pad(right, [[0, 0], [0, 0], [0, 1], [0, 0]]),
    )


def sobel_edges(image: Any) -> Any:
    """Return the slopes of images from top to bottom and from left to right, by Sobel's filters.

    `image` has the shape [batch, height, width, channels], with at least two rows and two columns,
    and a float type. The result has one axis more, of size 2. Beyond the edges of an image stands
    its reflection.

    Raises:
        ValueError: `image` does not have 4 axes, or its number of channels is unknown.
    """
    value = convert.convert_to_tensor(image, name="image")
    known = shapes.with_rank(value.shape.internal, 4)
    channels = None if known is None else known[3]
    if known is None or channels is None:
        raise ValueError(
            "sobel_edges needs images of shape [batch, height, width, channels] with a known "
            f"number of channels, got {shapes.show(known)}"
        )
    filters = np.stack([_SOBEL, _SOBEL.T], -1)[:, :, np.newaxis]
    kernel = np.tile(filters, (1, 1, channels, 1)).astype(value.dtype.as_numpy_dtype)
    padded = array_ops.pad(value, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    slopes = nn_convolution.depthwise_conv2d(padded, kernel, [1, 1, 1, 1], "VALID")
    result = array_ops.reshape(slopes, array_ops.concat([array_ops.shape(value), [2]], 0))
    result.set_shape([*known, 2])
    return result


def total_variation(images: Any, name: str | None = None) -> Any:
    """Return the sum of the absolute differences between neighbouring pixels.

    The result is a scalar for one image [height, width, channels], and a vector for a batch.

    Raises:
        ValueError: `images` has neither 3 nor 4 axes.
    """
    with scoped(name, "total_variation"):
        value = convert.convert_to_tensor(images, name="images")
        if value.shape.ndims not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        down = value[..., 1:, :, :] - value[..., :-1, :, :]
        right = value[..., :, 1:, :] - value[..., :, :-1, :]
        sums = (reduce_ops.reduce_sum(math_ops.abs(part), [-3, -2, -1]) for part in (down, right))
        return math_ops.add(*sums)
