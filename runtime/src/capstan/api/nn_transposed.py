"""Transposed convolutions, and the gradients of those of single channels (python/ops/nn_ops.py).

A transposed convolution is the gradient of a convolution by its input.
"""

from collections.abc import Sized
from typing import Any

import numpy as np

from capstan.api import array_ops, nn_convolution, nn_volumes
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "atrous_conv2d_transpose", "conv1d_transpose", "conv_transpose",
    "depthwise_conv2d_backprop_filter", "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native_backprop_filter", "depthwise_conv2d_native_backprop_input",
]  # fmt: skip


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Return sequences of `output_shape` whose convolution has the shape of `input`.

    The filters are [width, outputs, inputs].

    Raises:
        ValueError: the format is not "NWC" or "NCW", or the shapes do not fit.
    """
    row, layout = nn_convolution.row_layout(data_format)
    with scoped(name, "conv1d_transpose", (input, filters, output_shape)) as scope:
        steps = nn_convolution.per_row_axis(strides, layout, "stride")
        rates = nn_convolution.per_row_axis(dilations, layout, "dilations")
        sizes = array_ops.concat([output_shape[:row], [1], output_shape[row:]], 0)
        result = raw.Conv2DBackpropInput(
            sizes,
            raw.ExpandDims(filters, 0),
            raw.ExpandDims(input, row),
            strides=steps,
            padding=padding,
            data_format=layout,
            dilations=rates,
            name=scope,
        )
        return raw.Squeeze(result, squeeze_dims=[row])


def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Any:
    """Return sequences, images or volumes whose convolution has the shape of `input`.

    `output_shape` has 3, 4 or 5 elements. `strides` and `dilations` are a number, one number for
    each spatial axis, or one for each axis.

    Raises:
        ValueError: `output_shape` has another number of elements, or is not a tensor or list.
    """
    with scoped(name, "conv_transpose", (input, filters, output_shape)) as scope:
        if isinstance(output_shape, graphs.Tensor):
            length = output_shape.shape.as_list()[0]
        elif isinstance(output_shape, Sized):
            length = len(output_shape)
        else:
            raise ValueError(  # noqa: TRY004 - as in TensorFlow
                "output_shape must be a tensor or sized collection."
            )
        if length not in (3, 4, 5):
            raise ValueError(f"output_shape must be of length 3, 4 or 5 but was {length}.")
        shapes = (input, filters, output_shape)
        if length == 3:
            return conv1d_transpose(*shapes, strides, padding, data_format, dilations, scope)
        is_first = (data_format or "").startswith("NC")
        steps = nn_convolution.per_axis(strides, length - 2, is_first, "strides")
        rates = nn_convolution.per_axis(dilations, length - 2, is_first, "dilations")
        if length == 4:
            return nn_convolution.conv2d_transpose(
                *shapes, steps, padding, data_format, scope, dilations=rates
            )
        return nn_volumes.conv3d_transpose(
            *shapes, steps, padding, data_format or "NDHWC", scope, dilations=rates
        )


def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: str, name: str | None = None
) -> Any:
    """Return images of `output_shape` whose `atrous_conv2d` has the shape of `value`.

    The filters are [height, width, outputs, inputs], and their elements `rate` pixels apart.

    Raises:
        ValueError: `rate` is below 1, the padding is unknown, or the shapes do not fit.
    """
    with scoped(name, "atrous_conv2d_transpose", (value, filters, output_shape)) as scope:
        value = convert.convert_to_tensor(value, name="value")
        filters = convert.convert_to_tensor(filters, name="filters")
        if rate < 1:
            raise ValueError(f"rate {rate} cannot be less than one")
        if padding not in ("SAME", "VALID"):
            raise ValueError(f"padding must be either VALID or SAME, not {padding!r}")
        _check_channels(value.shape, filters.shape, output_shape)
        ones = [1, 1, 1, 1]
        return nn_convolution.conv2d_transpose(
            value, filters, output_shape, ones, padding, name=scope, dilations=rate
        )


def _check_channels(images: Any, filters: Any, output_shape: Any) -> None:
    if not images.dims[3].is_compatible_with(filters.dims[3]):
        raise ValueError(
            "value's input channels does not match filters' input channels, "
            f"{images.dims[3]} != {filters.dims[3]}"
        )
    if isinstance(output_shape, list | tuple | np.ndarray) and len(output_shape) == 4:
        (*_, channels) = output_shape
        if not isinstance(channels, graphs.Tensor) and not filters.dims[2].is_compatible_with(
            int(channels)
        ):
            raise ValueError(
                "output_shape does not match filter's output channels, "
                f"{channels} != {filters.dims[2]}"
            )


def depthwise_conv2d_native_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """Return the gradient for the images of `depthwise_conv2d`, given that for its output."""
    attrs = nn_convolution.geometry(strides, padding, data_format, dilations)
    return raw.DepthwiseConv2dNativeBackpropInput(
        input_sizes, filter, out_backprop, **attrs, name=name
    )


def depthwise_conv2d_native_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """Return the gradient for the filters of `depthwise_conv2d`, given that for its output."""
    attrs = nn_convolution.geometry(strides, padding, data_format, dilations)
    return raw.DepthwiseConv2dNativeBackpropFilter(
        input, filter_sizes, out_backprop, **attrs, name=name
    )


depthwise_conv2d_backprop_input = depthwise_conv2d_native_backprop_input
depthwise_conv2d_backprop_filter = depthwise_conv2d_native_backprop_filter
