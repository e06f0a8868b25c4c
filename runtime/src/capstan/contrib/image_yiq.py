"""Hues, saturations and values that are changed in the YIQ space of colours
(contrib/image/python/ops/distort_image_ops.py).
"""

from typing import Any, Final

import numpy as np

from capstan.api import image_colours, math_ops, random_ops
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_YIQ: Final = np.array(
    [[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]], np.float32
)
"""The matrix from RGB to YIQ."""
_RGB: Final = np.array(
    [[1, 0.95617069, 0.62143257], [1, -0.2726886, -0.64681324], [1, -1.103744, 1.70062309]],
    np.float32,
)
"""The matrix from YIQ to RGB, with TensorFlow's digits."""


def adjust_hsv_in_yiq(
    image: Any,
    delta_hue: Any = 0,
    scale_saturation: Any = 1,
    scale_value: Any = 1,
    name: str | None = None,
) -> Any:
    """Return images [..., 3] whose colours are turned by `delta_hue` radians and scaled.

    `scale_saturation` scales the chrominance, and `scale_value` all three channels. The result has
    the type of `image`. It is computed in float32, as `tf.image.convert_image_dtype` converts.

    Raises:
        ValueError: the images have fewer than 3 axes, or not 3 channels.
    """
    with graphs.get_default_graph().name_scope(name or "adjust_hsv_in_yiq"):
        given = convert.convert_to_tensor(image)
        sizes = given.shape.as_list() if given.shape.ndims is not None else [None] * 3
        if len(sizes) < 3:
            raise ValueError(f"Shape must be at least rank 3 but is rank {len(sizes)}: {given}")
        if sizes[-1] not in (3, None):
            raise ValueError(f"input must have 3 channels but instead has {sizes[-1]} channels.")
        colours = image_colours.convert_image_dtype(given, dtypes.float32)
        hue, saturation, value = (
            convert.convert_to_tensor(each, dtypes.float32)
            for each in (delta_hue, scale_saturation, scale_value)
        )
        chroma = value * saturation
        aside, across = chroma * math_ops.cos(hue), chroma * math_ops.sin(hue)
        turn = raw.Pack(
            [raw.Pack([value, 0.0, 0.0]), raw.Pack([0.0, aside, -across]),
             raw.Pack([0.0, across, aside])]
        )  # fmt: skip
        matrix = math_ops.matmul(math_ops.matmul(_RGB, turn), _YIQ)
        flat = math_ops.matmul(raw.Reshape(colours, [-1, 3]), matrix, transpose_b=True)
        changed = raw.Reshape(flat, raw.Shape(colours))
        changed.set_shape(given.shape)
        return image_colours.convert_image_dtype(changed, given.dtype.base_dtype)


def random_hsv_in_yiq(
    image: Any,
    max_delta_hue: float = 0,
    lower_saturation: float = 1,
    upper_saturation: float = 1,
    lower_value: float = 1,
    upper_value: float = 1,
    seed: int | None = None,
) -> Any:
    """Change images by `adjust_hsv_in_yiq` with numbers that are drawn in each step.

    The hue is turned by up to `max_delta_hue` in both directions. The scales are between the given
    limits.

    Raises:
        ValueError: a limit is negative, or a lower limit is above the upper one.
    """
    limits = {
        "max_delta_hue": (max_delta_hue, max_delta_hue),
        "lower_saturation": (lower_saturation, upper_saturation),
        "lower_value": (lower_value, upper_value),
    }
    for what, (low, high) in limits.items():
        if low < 0:
            raise ValueError(f"{what} must be non-negative, but is {low}")
        if low > high:
            upper = what.replace("lower", "upper")
            raise ValueError(f"{what} must not be above {upper}, but is {low} > {high}")
    turn = _drawn(-max_delta_hue, max_delta_hue, seed)
    return adjust_hsv_in_yiq(
        image,
        turn,
        _drawn(lower_saturation, upper_saturation, seed),
        _drawn(lower_value, upper_value, seed),
    )


def _drawn(low: float, high: float, seed: int | None) -> Any:
    return low if low == high else random_ops.random_uniform([], low, high, seed=seed)
