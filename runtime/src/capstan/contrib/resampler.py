"""`tf.contrib.resampler`: bilinear samples of images (contrib/resampler/python/ops)."""

from typing import Any

from capstan.api import array_ops, math_ops, nd_ops
from capstan.api.absent import absent
from capstan.api.scoped import scoped
from capstan.core import alias, dtypes
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = ["resampler"]


def resampler(data: Any, warp: Any, name: str = "resampler") -> Any:
    """Return samples of images at points between the pixels.

    `data` has the shape [batch, height, width, channels], and `warp` [batch, ..., 2]: the x and y
    of each point, in pixels. The result has the shape [batch, ..., channels]. Pixels outside of the
    image are 0. The result has gradients for both arguments.
    """
    with scoped(name, "resampler", (data, warp)):
        data, warp = convert.convert_to_tensor(data), convert.convert_to_tensor(warp)
        x, y = warp[..., 0], warp[..., 1]
        left, top = raw.Floor(x), raw.Floor(y)
        corners = [
            _pixels(data, left + right, top + below)
            * array_ops.expand_dims(
                (1.0 - math_ops.abs(x - left - right)) * (1.0 - math_ops.abs(y - top - below)), -1
            )
            for right in (0.0, 1.0)
            for below in (0.0, 1.0)
        ]
        return math_ops.add_n(corners)


def _pixels(data: Any, x: Any, y: Any) -> Any:
    """Return the pixels at whole coordinates, which are 0 outside of the images."""
    sizes = array_ops.shape(data)
    height, width = sizes[1], sizes[2]
    x, y = math_ops.cast(x, dtypes.int32), math_ops.cast(y, dtypes.int32)
    is_inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    batch = math_ops.range(sizes[0])
    for _ in range(x.shape.ndims - 1):
        batch = array_ops.expand_dims(batch, -1)
    batch += 0 * x
    column = math_ops.minimum(math_ops.maximum(x, 0), width - 1)
    row = math_ops.minimum(math_ops.maximum(y, 0), height - 1)
    found = nd_ops.gather_nd(data, array_ops.stack([batch, row, column], -1))
    return found * array_ops.expand_dims(math_ops.cast(is_inside, data.dtype), -1)


alias.grow(__name__, {"python.ops.resampler_ops": (__name__,)})


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.resampler", name)


def __dir__() -> list[str]:
    return sorted(__all__)
