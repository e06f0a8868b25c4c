"""Functions between RGB and the colour spaces of television (python/ops/image_ops_impl.py).

Each takes float images with three channels on the last axis, and returns images of their shape and
dtype. The brightness Y is between 0 and 1 if the RGB values are.
"""

from collections.abc import Callable
from typing import Any

from capstan.api import tensor_products
from capstan.core import shapes
from capstan.framework import convert

_Colours = Callable[[Any], Any]


def _function(name: str, weights: list[list[float]], purpose: str) -> _Colours:
    """Return the public function that multiplies the channels of images by a matrix."""

    def colours(images: Any) -> Any:
        value = convert.convert_to_tensor(images, name="images")
        known = shapes.with_rank_at_least(value.shape.internal, 1)
        if known is None:
            raise ValueError(f"{name} needs images of a known rank; call set_shape on {value.name}")
        shapes.merge_dimension(known[-1], 3)
        matrix = convert.convert_to_tensor(weights, value.dtype, "kernel")
        return tensor_products.tensordot(value, matrix, [[len(known) - 1], [0]])

    colours.__name__ = colours.__qualname__ = name
    colours.__doc__ = (
        f"{purpose}\n\nRaises:\n"
        "    ValueError: the images do not have 3 channels, or their rank is unknown.\n"
    )
    return colours


rgb_to_yiq = _function(
    "rgb_to_yiq",
    [
        [0.299, 0.59590059, 0.2115],
        [0.587, -0.27455667, -0.52273617],
        [0.114, -0.32134392, 0.31119955],
    ],
    "Return RGB images as YIQ images.",
)
yiq_to_rgb = _function(
    "yiq_to_rgb",
    [
        [1, 1, 1],
        [0.95598634, -0.27201283, -1.10674021],
        [0.6208248, -0.64720424, 1.70423049],
    ],
    "Return YIQ images as RGB images. They may be out of the range from 0 to 1.",
)
rgb_to_yuv = _function(
    "rgb_to_yuv",
    [
        [0.299, -0.14714119, 0.61497538],
        [0.587, -0.28886916, -0.51496512],
        [0.114, 0.43601035, -0.10001026],
    ],
    "Return RGB images as YUV images.",
)
yuv_to_rgb = _function(
    "yuv_to_rgb",
    [
        [1, 1, 1],
        [0, -0.394642334, 2.03206185],
        [1.13988303, -0.58062185, 0],
    ],
    "Return YUV images as RGB images. They may be out of the range from 0 to 1.",
)
