"""Convolutions and pools of `tf.keras.backend` (python/keras/backend.py).

`data_format` is channels_last, channels_first or None, which stands for `image_data_format()`.
`padding` is same or valid. A wrong value of either raises ValueError.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from capstan.api import array_ops
from capstan.api import nn as nn_ops
from capstan.api.layers import settings
from capstan.api.nn_transposed import atrous_conv2d_transpose
from capstan.keras import products
from capstan.keras.backend_images import temporal_padding

_LAST = ("NWC", "NHWC", "NDHWC")
_FIRST = ("NCW", "NCHW", "NCDHW")


def _is_first(data_format: str | None) -> bool:
    return settings.data_format(data_format) == "channels_first"


def _layout(data_format: str | None, rank: int) -> str:
    return (_FIRST if _is_first(data_format) else _LAST)[rank - 1]


def _padding(padding: str) -> str:
    if padding not in ("same", "valid"):
        raise ValueError(f"Invalid padding: {padding}. Use 'same' or 'valid'")
    return padding.upper()


def _per_axis(sizes: Sequence[int], data_format: str | None) -> list[int]:
    """Return sizes of the spatial axes with 1 for the batch and the channels."""
    return [1, 1, *sizes] if _is_first(data_format) else [1, *sizes, 1]


def conv1d(
    x: Any,
    kernel: Any,
    strides: int = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: int = 1,
) -> Any:
    """Return the convolution of sequences. The padding `causal` looks only at earlier steps."""
    if padding == "causal":
        x = temporal_padding(x, (dilation_rate * (kernel.shape.as_list()[0] - 1), 0))
        padding = "valid"
    return nn_ops.convolution(
        x, kernel, _padding(padding), strides, dilation_rate, None, _layout(data_format, 1)
    )


def conv2d(
    x: Any,
    kernel: Any,
    strides: Sequence[int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sequence[int] = (1, 1),
) -> Any:
    """Return the convolution of images."""
    return nn_ops.convolution(
        x, kernel, _padding(padding), strides, dilation_rate, None, _layout(data_format, 2)
    )


def conv3d(
    x: Any,
    kernel: Any,
    strides: Sequence[int] = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sequence[int] = (1, 1, 1),
) -> Any:
    """Return the convolution of volumes."""
    return nn_ops.convolution(
        x, kernel, _padding(padding), strides, dilation_rate, None, _layout(data_format, 3)
    )


def conv2d_transpose(
    x: Any,
    kernel: Any,
    output_shape: Sequence[Any],
    strides: Sequence[int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sequence[int] = (1, 1),
) -> Any:
    """Return the transposed convolution of images.

    If the first size of `output_shape` is None, it is that of the batch. Raises ValueError if the
    two dilation rates differ.
    """
    sizes = list(output_shape)
    if sizes[0] is None:
        sizes[0] = array_ops.shape(x)[0]
    if tuple(dilation_rate) == (1, 1):
        return nn_ops.conv2d_transpose(
            x, kernel, array_ops.stack(sizes), _per_axis(strides, data_format), _padding(padding),
            _layout(data_format, 2),
        )  # fmt: skip
    rate, other = dilation_rate
    if rate != other:
        raise ValueError(f"The dilation rates must be equal, but they are {rate} and {other}")
    if not _is_first(data_format):
        shape = array_ops.stack(sizes)
        return atrous_conv2d_transpose(x, kernel, shape, rate, _padding(padding))
    shape = array_ops.stack([sizes[0], *sizes[2:], sizes[1]])
    turned = array_ops.transpose(x, [0, 2, 3, 1])
    result = atrous_conv2d_transpose(turned, kernel, shape, rate, _padding(padding))
    return array_ops.transpose(result, [0, 3, 1, 2])


def separable_conv2d(
    x: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Sequence[int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Sequence[int] = (1, 1),
) -> Any:
    """Filter each channel by itself, and then mix the channels of each pixel."""
    return nn_ops.separable_conv2d(
        x, depthwise_kernel, pointwise_kernel, _per_axis(strides, data_format), _padding(padding),
        list(dilation_rate), None, _layout(data_format, 2),
    )  # fmt: skip


def pool2d(
    x: Any,
    pool_size: Sequence[int],
    strides: Sequence[int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    """Return the maxima or, if `pool_mode` is avg, the means of windows of images."""
    pool = _mode({"max": nn_ops.max_pool, "avg": nn_ops.avg_pool}, pool_mode)
    return _pooled(pool, x, pool_size, strides, padding, data_format)


def pool3d(
    x: Any,
    pool_size: Sequence[int],
    strides: Sequence[int] = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    """Return the maxima or, if `pool_mode` is avg, the means of windows of volumes."""
    pool = _mode({"max": nn_ops.max_pool3d, "avg": nn_ops.avg_pool3d}, pool_mode)
    return _pooled(pool, x, pool_size, strides, padding, data_format)


def _mode(pools: dict[str, Any], pool_mode: str) -> Any:
    if pool_mode not in pools:
        raise ValueError(f"Invalid pooling mode: {pool_mode}. Use 'max' or 'avg'")
    return pools[pool_mode]


def _pooled(
    pool: Any, x: Any, pool_size: Sequence[int], strides: Sequence[int], padding: str, layout: Any
) -> Any:
    rank = x.shape.ndims - 2
    for name, sizes in (("pool_size", pool_size), ("strides", strides)):
        if len(sizes) != rank:
            raise ValueError(f"`{name}` must have {rank} integers, not {sizes}")
    return pool(
        x, _per_axis(pool_size, layout), _per_axis(strides, layout), _padding(padding),
        data_format=_layout(layout, rank),
    )  # fmt: skip


def local_conv1d(
    inputs: Any,
    kernel: Any,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    data_format: str | None = None,
) -> Any:
    """Convolve sequences with a filter of its own for each step of the result.

    The kernel has the shape [steps, kernel_size * channels, filters].
    """
    steps = kernel.shape.as_list()[0]
    return local_conv2d(inputs, kernel, kernel_size, strides, (steps,), data_format)


def local_conv2d(
    inputs: Any,
    kernel: Any,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    output_shape: Sequence[int],
    data_format: str | None = None,
) -> Any:
    """Convolve images with a filter of its own for each of the `output_shape` pixels of the result.

    The kernel has the shape [pixels, elements of a window, filters].
    """
    _, width, filters = kernel.shape.as_list()
    before, behind = ([slice(None)] * 2, []) if _is_first(data_format) else ([slice(None)],) * 2
    windows = []
    for place in itertools.product(*map(range, output_shape)):
        starts = [at * stride for at, stride in zip(place, strides, strict=True)]
        parts = [slice(at, at + size) for at, size in zip(starts, kernel_size, strict=True)]
        window = inputs[(*before, *parts, *behind)]
        windows.append(array_ops.reshape(window, [1, -1, width]))
    products_of_pixels = products.batch_dot(array_ops.concat(windows, 0), kernel)
    result = array_ops.reshape(products_of_pixels, [*output_shape, -1, filters])
    rank = len(output_shape)
    pixels = range(rank)
    is_first = _is_first(data_format)
    order = [rank, rank + 1, *pixels] if is_first else [rank, *pixels, rank + 1]
    return array_ops.transpose(result, order)
