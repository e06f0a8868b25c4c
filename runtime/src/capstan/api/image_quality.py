"""Measures of the difference between two images (python/ops/image_ops_impl.py).

Both images have the shape [..., height, width, channels]. The leading axes are broadcast against
each other, and the results have their shape, as float32. `max_val` is the distance between the
smallest and the largest value that a pixel of the images can have.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import (
    array_ops,
    check_ops,
    control_flow_ops,
    math_ops,
    nn,
    nn_convolution,
    reduce_ops,
)
from capstan.api.image_colours import convert_image_dtype
from capstan.api.scoped import scoped
from capstan.core import dtypes, shapes
from capstan.framework import convert

_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""The exponents of the scales of `ssim_multiscale`, by Wang, Simoncelli and Bovik."""
_PIXELS = [-3, -2, -1]


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Any:
    """Return the peak signal-to-noise ratio of pairs of images, in decibels. Equal images have inf.

    Raises:
        ValueError: the shapes do not fit together.
    """
    with scoped(name, "PSNR", [a, b]):
        first, second, largest = _floats(a, b, max_val)
        squares = math_ops.squared_difference(first, second)
        error = reduce_ops.reduce_mean(squares, _PIXELS)
        return 10 * (2 * _log10(largest) - _log10(error))


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """Return the structural similarity of pairs of images, from -1 to 1. Equal images have 1.

    It is the mean over windows of `filter_size` rows and columns, whose pixels have the weights of
    a normal distribution with the standard deviation `filter_sigma`. The step raises
    InvalidArgumentError if an image is smaller than a window.

    Raises:
        ValueError: the shapes do not fit together.
    """
    with scoped(None, "SSIM", [img1, img2]):
        first, second, largest = _floats(img1, img2, max_val)
        window = _Window(filter_size, filter_sigma, k1 * largest, k2 * largest)
        return reduce_ops.reduce_mean(window.similarity(first, second)[0], [-1])


def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = _WEIGHTS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Any:
    """Return the structural similarity of pairs of images over several scales, from 0 to 1.

    Each scale halves the height and the width, and its similarity is raised to the power of one of
    the `power_factors`. The images of the last scale must be as large as a window of `ssim`.

    Raises:
        ValueError: the shapes do not fit together.
    """
    with scoped(None, "MS-SSIM", [img1, img2]):
        first, second, largest = _floats(img1, img2, max_val)
        window = _Window(filter_size, filter_sigma, k1 * largest, k2 * largest)
        factors: list[Any] = []
        for scale in range(len(power_factors)):
            if scale:
                first, second = _halved(first), _halved(second)
            similarity, contrast = window.similarity(first, second)
            is_last = scale == len(power_factors) - 1
            factors.append(nn.relu(similarity if is_last else contrast))
        powers = math_ops.pow(array_ops.stack(factors, -1), list(power_factors))
        return reduce_ops.reduce_mean(reduce_ops.reduce_prod(powers, [-1]), [-1])


class _Window:
    """The weights of a window, and the constants that keep quotients away from 0 / 0."""

    def __init__(self, size: int, sigma: float, luminance: Any, contrast: Any) -> None:
        places = math_ops.cast(math_ops.range(size), dtypes.float32) - (size - 1) / 2
        exponents = math_ops.square(places) * (-0.5 / sigma**2)
        grid = array_ops.expand_dims(exponents, 0) + array_ops.expand_dims(exponents, 1)
        weights = nn.softmax(array_ops.reshape(grid, [1, -1]))
        self._weights = array_ops.reshape(weights, [size, size, 1, 1])
        self._size = size
        self._luminance, self._contrast = (math_ops.square(x) for x in (luminance, contrast))

    def similarity(self, first: Any, second: Any) -> tuple[Any, Any]:
        """Return the similarity and its factor of contrast and structure, for each channel."""
        channels = array_ops.shape(first)[-1]
        kernel = array_ops.tile(self._weights, array_ops.stack([1, 1, channels, 1]))
        kernel.set_shape([self._size, self._size, first.shape.as_list()[-1], 1])

        def mean(images: Any) -> Any:
            return _by_image(
                images,
                lambda flat: nn_convolution.depthwise_conv2d(flat, kernel, [1, 1, 1, 1], "VALID"),
            )

        means = mean(first), mean(second)
        product = 2 * means[0] * means[1]
        squares = math_ops.square(means[0]) + math_ops.square(means[1])
        luminance = (product + self._luminance) / (squares + self._luminance)
        mixed = 2 * mean(first * second) - product
        spread = mean(math_ops.square(first) + math_ops.square(second)) - squares
        contrast = (mixed + self._contrast) / (spread + self._contrast)
        pixels = [-3, -2]
        return (
            reduce_ops.reduce_mean(luminance * contrast, pixels),
            reduce_ops.reduce_mean(contrast, pixels),
        )


def _floats(a: Any, b: Any, max_val: Any) -> tuple[Any, Any, Any]:
    """Check that the shapes fit, and return images and the range of their pixels as float32."""
    first = convert.convert_to_tensor(a, name="a")
    second = convert.convert_to_tensor(b, name="b")
    for value in (first, second):
        shapes.with_rank_at_least(value.shape.internal, 3)
    first.shape[-3:].assert_is_compatible_with(second.shape[-3:])
    if first.shape.ndims is not None and second.shape.ndims is not None:
        shapes.broadcast(first.shape[:-3].internal, second.shape[:-3].internal)
    sizes = array_ops.shape(first)[-3:], array_ops.shape(second)[-3:]
    check = check_ops.assert_equal(*sizes, message="The images must have the same size")
    first = control_flow_ops.with_dependencies([check], first)
    largest = math_ops.cast(max_val, first.dtype)
    result = [convert_image_dtype(value, dtypes.float32) for value in (first, second, largest)]
    return result[0], result[1], result[2]


def _log10(value: Any) -> Any:
    return math_ops.log(value) / math_ops.log(math_ops.cast(10.0, dtypes.float32))


def _by_image(images: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function of a batch of images to images with any number of leading axes."""
    sizes = array_ops.shape(images)
    flat = function(array_ops.reshape(images, array_ops.concat([[-1], sizes[-3:]], 0)))
    return array_ops.reshape(flat, array_ops.concat([sizes[:-3], array_ops.shape(flat)[1:]], 0))


def _halved(images: Any) -> Any:
    """Return images of half the height and width. An odd last row or column counts twice."""

    def halved(flat: Any) -> Any:
        odd = math_ops.floormod(array_ops.shape(flat)[1:3], 2)
        margins = array_ops.reshape(array_ops.stack([0, 0, 0, odd[0], 0, odd[1], 0, 0]), [4, 2])
        even = array_ops.pad(flat, margins, mode="SYMMETRIC")
        return nn.avg_pool(even, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")

    return _by_image(images, halved)
