"""`tf.nn`'s convolutions over images (python/ops/nn_ops.py, nn_impl.py).

A format is "NHWC" (the default: batch, height, width, channels) or "NCHW". A padding is "SAME",
"VALID", or for a convolution a list with a pair of numbers for each axis.
"""

from collections.abc import Sequence
from typing import Any, Final

from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw

__all__ = [
    "atrous_conv2d", "conv1d", "conv2d", "conv2d_backprop_filter", "conv2d_backprop_input",
    "conv2d_transpose", "convolution", "depthwise_conv2d", "depthwise_conv2d_native",
    "separable_conv2d",
]  # fmt: skip


_OLD_FORMATS: Final[dict[str | None, str]] = {"NHWC": "NWC", "NCHW": "NCW"}
"""The older names of the formats of sequences."""


def per_axis(value: Any, count: int, channels_first: bool, name: str) -> list[int]:
    """Return one number per axis. `value` is one number, `count` for the spatial axes, or all.

    Raises:
        ValueError: `value`, the argument `name`, has another length.
    """
    if value is None:
        value = [1]
    given = [int(value)] if not isinstance(value, Sequence) else [int(part) for part in value]
    if len(given) == count + 2:
        return given
    if len(given) == 1:
        given *= count
    if len(given) != count:
        raise ValueError(
            f"{name} should be of length 1, {count} or {count + 2} but was {len(given)}"
        )
    return [1, 1, *given] if channels_first else [1, *given, 1]


def row_layout(data_format: str | None) -> tuple[int, str]:
    """Return the axis of the row and the format of images that are made of sequences.

    Raises:
        ValueError: the format of the sequences is neither "NWC" nor "NCW".
    """
    if data_format not in (None, "NWC", "NCW"):
        raise ValueError(f"data_format must be 'NWC' or 'NCW', not {data_format!r}")
    return (2, "NCHW") if data_format == "NCW" else (1, "NHWC")


def per_row_axis(value: Any, layout: str, name: str) -> list[int]:
    """Return one number per axis of images of one row, for the argument `name` on sequences.

    Raises:
        ValueError: `value` is neither a number nor one number for each axis of the sequences.
    """
    return [1, *per_axis(value, 1, layout == "NCHW", name)]


def is_channels_first(data_format: str | None) -> bool:
    """Return whether the channels come before the axes of an image.

    Raises:
        ValueError: the format is neither "NHWC" nor "NCHW".
    """
    if data_format not in (None, "NHWC", "NCHW"):
        raise ValueError(f"data_format must be 'NHWC' or 'NCHW', not {data_format!r}")
    return data_format == "NCHW"


def geometry(strides: Any, padding: Any, data_format: str | None, dilations: Any) -> Any:
    """Return the attributes of a convolution for the arguments of a public function."""
    channels_first = is_channels_first(data_format)
    attrs: dict[str, Any] = {
        "strides": per_axis(strides, 2, channels_first, "strides"),
        "dilations": per_axis(dilations, 2, channels_first, "dilations"),
        "data_format": data_format or "NHWC",
    }
    if isinstance(padding, list | tuple):
        pairs = _explicit_paddings(padding, channels_first)
        return {**attrs, "padding": "EXPLICIT", "explicit_paddings": pairs}
    return {**attrs, "padding": padding}


def _explicit_paddings(padding: Sequence[Any], channels_first: bool) -> list[int]:
    if len(padding) != 4:
        raise ValueError(f"A list of paddings must have 4 pairs of numbers, not {padding}")
    for pair in padding:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ValueError(f"Each padding in a list must be a pair of numbers: {padding}")
    numbers = [int(number) for pair in padding for number in pair]
    if min(numbers) < 0:
        raise ValueError(f"All elements of explicit paddings must be nonnegative: {padding}")
    channels = 1 if channels_first else 3
    if any((*padding[0], *padding[channels])):
        raise ValueError(
            f"Nonzero explicit padding in the batch or depth dimensions is not supported: {padding}"
        )
    return numbers


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """Return the convolution of images with filters [height, width, channels, outputs].

    Filters of a fraction of the channels of the images, such as a quarter, convolve as many groups
    of channels. Each group has an equal part of the outputs.

    Raises:
        ValueError: the padding or format is unknown, or the shapes do not fit.
        InvalidArgumentError: in the step, the strides or the dilations skip images or channels.
    """
    attrs = geometry(strides, padding, data_format, dilations)
    kernel = filter if filters is None else filters
    return raw.Conv2D(input, kernel, use_cudnn_on_gpu=use_cudnn_on_gpu, **attrs, name=name)


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """Return the gradient for the filters of a convolution, given the gradient for its output."""
    attrs = geometry(strides, padding, data_format, dilations)
    return raw.Conv2DBackpropFilter(input, filter_sizes, out_backprop, **attrs, name=name)


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Any:
    """Return the gradient for the images of a convolution, given the gradient for its output."""
    attrs = geometry(strides, padding, data_format, dilations)
    kernel = filter if filters is None else filters
    return raw.Conv2DBackpropInput(input_sizes, kernel, out_backprop, **attrs, name=name)


def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """Return images of `output_shape` whose convolution with the filters has the shape of `value`.

    This is the gradient of `conv2d` by its input. The filters are [height, width, outputs, inputs].
    """
    value = value if input is None else input
    kernel = filter if filters is None else filters
    with scoped(name, "conv2d_transpose", (value, kernel, output_shape)) as scope:
        attrs = geometry(strides, padding, data_format, dilations)
        return raw.Conv2DBackpropInput(output_shape, kernel, value, **attrs, name=scope)


def atrous_conv2d(
    value: Any, filters: Any, rate: int, padding: Any, name: str | None = None
) -> Any:
    """Return the convolution with filters whose elements are `rate` pixels apart."""
    if rate < 1:
        raise ValueError(f"rate {rate} cannot be less than one")
    return conv2d(value, filters, [1, 1, 1, 1], padding, dilations=rate, name=name)


def convolution(
    input: Any,
    filter: Any,
    padding: Any,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Any:
    """Return the convolution of sequences (rank 3), images (rank 4) or volumes (rank 5).

    Raises:
        ValueError: the input has another rank, or the ranks of the input and of the filters are
            unknown.
    """
    kernel = filter if filters is None else filters
    rate = dilation_rate if dilations is None else dilations
    with scoped(name, "convolution", (input, kernel)) as scope:
        input = convert.convert_to_tensor(input, name="input")
        rank = input.shape.ndims
        if rank is None:
            rank = convert.convert_to_tensor(kernel).shape.ndims
        if rank == 3:
            return conv1d(
                input, kernel, strides or 1, padding, data_format=data_format,
                name=scope, dilations=rate,
            )  # fmt: skip
        if rank == 5:
            layout = data_format or "NDHWC"
            channels_first = layout == "NCDHW"
            return raw.Conv3D(
                input, kernel, padding=padding, data_format=layout, name=scope,
                strides=per_axis(strides, 3, channels_first, "strides"),
                dilations=per_axis(rate, 3, channels_first, "dilation_rate"),
            )  # fmt: skip
        if rank != 4:
            raise ValueError(f"convolution needs an input of rank 3, 4 or 5, not {input.shape}")
        return conv2d(input, kernel, strides, padding, True, data_format, rate, scope)


def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Any:
    """Return the convolution of sequences [batch, width, channels], or "NCW", with filters."""
    value = value if input is None else input
    row, layout = row_layout(_OLD_FORMATS.get(data_format, data_format))
    with scoped(name, "conv1d", (value, filters)) as scope:
        strides = per_row_axis(stride, layout, "stride")
        rates = per_row_axis(dilations, layout, "dilations")
        images, kernel = raw.ExpandDims(value, row), raw.ExpandDims(filters, 0)
        result = conv2d(images, kernel, strides, padding, True, layout, rates, scope)
        return raw.Squeeze(result, squeeze_dims=[row])


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Any:
    """Convolve each channel with its own filters, [height, width, channels, filters a channel]."""
    with scoped(name, "depthwise", (input, filter)) as scope:
        attrs = geometry(strides, padding, data_format, rate if dilations is None else dilations)
        return raw.DepthwiseConv2dNative(input, filter, **attrs, name=scope)


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """Convolve each channel with its own filters, [height, width, channels, filters a channel]."""
    attrs = geometry(strides, padding, data_format, dilations)
    return raw.DepthwiseConv2dNative(input, filter, **attrs, name=name)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Any:
    """Return a depthwise convolution followed by a convolution with filters of one pixel."""
    with scoped(name, "separable_conv2d", (input, depthwise_filter, pointwise_filter)) as scope:
        each = depthwise_conv2d(
            input, depthwise_filter, strides, padding, rate, "depthwise", data_format, dilations
        )
        return conv2d(each, pointwise_filter, 1, "VALID", data_format=data_format, name=scope)
