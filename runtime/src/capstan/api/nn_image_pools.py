"""Pools of `tf.nn` over images (python/ops/nn_ops.py).

The arguments are those of the convolutions in `nn_convolution`.
"""

from typing import Any

from capstan.api import nn_convolution
from capstan.api.scoped import scoped
from capstan.framework.raw import raw

__all__ = ["avg_pool", "avg_pool2d", "max_pool", "max_pool2d"]


def _pool(
    op: str, value: Any, ksize: Any, strides: Any, padding: Any, layout: str | None, scope: str
) -> Any:
    channels_first = nn_convolution.is_channels_first(layout)
    return getattr(raw, op)(
        value,
        ksize=nn_convolution.per_axis(ksize, 2, channels_first, "ksize"),
        strides=nn_convolution.per_axis(strides, 2, channels_first, "strides"),
        padding=padding,
        data_format=layout or "NHWC",
        name=scope,
    )


def max_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Any:
    """Return the largest element of each window of `ksize`."""
    value = value if input is None else input
    with scoped(name, "MaxPool", (value,)) as scope:
        return _pool("MaxPool", value, ksize, strides, padding, data_format, scope)


def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Any:
    """Return the mean of each window of `ksize`. Padding does not count."""
    value = value if input is None else input
    with scoped(name, "AvgPool", (value,)) as scope:
        return _pool("AvgPool", value, ksize, strides, padding, data_format, scope)


avg_pool2d = avg_pool


def max_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Any:
    """Return the largest element of each window of `ksize`."""
    return max_pool(input, ksize, strides, padding, data_format, name)
