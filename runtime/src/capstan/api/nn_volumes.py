"""`tf.nn`'s convolutions and pools over volumes (python/ops/nn_ops.py), and their patches.

A format is "NDHWC" (the default: batch, depth, height, width, channels) or "NCDHW". A padding is
"SAME" or "VALID". Strides, dilations and sizes of windows have one number for each axis. The pools
also take one number, or three, for the spatial axes.
"""

from typing import Any

from capstan.api import nn_convolution
from capstan.api.scoped import scoped
from capstan.framework.raw import raw

__all__ = ["extract_volume_patches"]

_ONES = (1, 1, 1, 1, 1)


def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Any = _ONES,
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """Return the convolution of volumes with filters [depth, height, width, channels, outputs].

    Raises:
        ValueError: the padding or format is unknown, or the shapes do not fit.
    """
    kernel = filter if filters is None else filters
    return raw.Conv3D(
        input,
        kernel,
        strides=list(strides),
        padding=padding,
        data_format=data_format,
        dilations=list(dilations),
        name=name,
    )


def conv3d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """Return volumes of `output_shape` whose convolution with the filters has the shape of `value`.

    This is the gradient of `conv3d` by its input. The filters are [depth, height, width, outputs,
    inputs]. The strides and the dilations may also be one number, or three.
    """
    value = value if input is None else input
    kernel = filter if filters is None else filters
    is_first = data_format == "NCDHW"
    with scoped(name, "conv3d_transpose", (value, kernel, output_shape)) as scope:
        return raw.Conv3DBackpropInputV2(
            output_shape,
            kernel,
            value,
            strides=nn_convolution.per_axis(strides, 3, is_first, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=nn_convolution.per_axis(dilations, 3, is_first, "dilations"),
            name=scope,
        )


def conv3d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Any = _ONES,
    name: str | None = None,
) -> Any:
    """Return the gradient for the filters of a convolution, given the gradient for its output."""
    return raw.Conv3DBackpropFilterV2(
        input,
        filter_sizes,
        out_backprop,
        strides=list(strides),
        padding=padding,
        data_format=data_format,
        dilations=list(dilations),
        name=name,
    )


conv3d_backprop_filter_v2 = conv3d_backprop_filter


def max_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Any:
    """Return the largest element of each window of `ksize`."""
    return _pooled("MaxPool3D", input, ksize, strides, padding, data_format, name)


def avg_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Any:
    """Return the mean of each window of `ksize`. Padding does not count."""
    return _pooled("AvgPool3D", input, ksize, strides, padding, data_format, name)


def _pooled(
    op: str, value: Any, ksize: Any, strides: Any, padding: str, layout: str, name: str | None
) -> Any:
    channels_first = layout == "NCDHW"
    attrs = {
        "ksize": nn_convolution.per_axis(ksize, 3, channels_first, "ksize"),
        "strides": nn_convolution.per_axis(strides, 3, channels_first, "strides"),
        "padding": padding,
        "data_format": layout,
    }
    return getattr(raw, op)(value, **attrs, name=name)


def extract_volume_patches(
    input: Any, ksizes: Any, strides: Any, padding: Any, name: str | None = None
) -> Any:
    """Return the elements of each window of volumes, as the channels of one element.

    `ksizes` and `strides` have 5 numbers, of which the first and the last are 1. The result is
    [batch, planes, rows, columns, depth * height * width * channels]. Padding is 0.

    Raises:
        ValueError: the padding is not "SAME" or "VALID", or a list has another length.
    """
    return raw.ExtractVolumePatches(
        input, ksizes=ksizes, strides=strides, padding=padding, name=name
    )
