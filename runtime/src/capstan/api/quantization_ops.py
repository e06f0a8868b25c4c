"""Quantized numbers, and TensorFlow 1's fake quantization: numbers rounded to quantized ones.

A tensor of a quantized type, such as `tf.quint8`, has levels of a range. The limits of the range
are two scalars beside the tensor. Fake quantization gives numbers of the type of the inputs. A
network that trains with it learns weights that lose little when they are quantized. Sources:
core/ops/array_ops.cc, python/ops/array_ops.py.
"""

from typing import Any

from capstan.core.dtypes import qint32, quint8
from capstan.framework.raw import raw

__all__ = [
    "dequantize",
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "quantize",
    "quantize_v2",
    "quantized_concat",
]  # fmt: skip


def fake_quant_with_min_max_args(
    inputs: Any, min: float = -6, max: float = 6, num_bits: int = 8,
    narrow_range: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """Round float32 numbers to 2^`num_bits` levels from `min` to `max`.

    The limits move a little, so that 0 is a level. With `narrow_range`, there is one level less.
    `num_bits` is between 2 and 16. A step raises InvalidArgumentError unless `min` < `max`.
    """
    return raw.FakeQuantWithMinMaxArgs(
        inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


def fake_quant_with_min_max_args_gradient(
    gradients: Any, inputs: Any, min: float = -6, max: float = 6, num_bits: int = 8,
    narrow_range: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """Return the gradient of `fake_quant_with_min_max_args`: `gradients` between the limits."""
    return raw.FakeQuantWithMinMaxArgsGradient(
        gradients, inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range,
        name=name,
    )  # fmt: skip


def fake_quant_with_min_max_vars(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Round as `fake_quant_with_min_max_args`, with scalar tensors as limits.

    The limits have gradients too. If both are 0, the result is 0.
    """
    return raw.FakeQuantWithMinMaxVars(
        inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


def fake_quant_with_min_max_vars_gradient(
    gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int = 8,
    narrow_range: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """Return the gradients of `fake_quant_with_min_max_vars`: of `inputs`, `min` and `max`."""
    return raw.FakeQuantWithMinMaxVarsGradient(
        gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


def fake_quant_with_min_max_vars_per_channel(
    inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Round as `fake_quant_with_min_max_vars`, with limits [d] for `inputs` [..., d]."""
    return raw.FakeQuantWithMinMaxVarsPerChannel(
        inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int = 8,
    narrow_range: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """Return the gradients of `fake_quant_with_min_max_vars_per_channel`."""
    return raw.FakeQuantWithMinMaxVarsPerChannelGradient(
        gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name
    )


def quantize_and_dequantize(
    input: Any, input_min: Any, input_max: Any, signed_input: bool = True, num_bits: int = 8,
    range_given: bool = False, round_mode: str = "HALF_TO_EVEN", name: str | None = None,
    narrow_range: bool = False,
) -> Any:  # fmt: skip
    """Round float32 or float64 numbers to the values that an integer of `num_bits` can stand for.

    0 is one of the values, and the largest one is the limit that is further from 0. The limits are
    those of `input`, or `input_min` and `input_max` with `range_given`. `round_mode` says how
    halves are rounded: "HALF_TO_EVEN" or "HALF_UP". The gradient leaves the rounding out. A step
    raises InvalidArgumentError if `input_min` > `input_max`.
    """
    return raw.QuantizeAndDequantizeV2(
        input, input_min, input_max, signed_input=signed_input, num_bits=num_bits,
        range_given=range_given, round_mode=round_mode, narrow_range=narrow_range, name=name,
    )  # fmt: skip


def quantize(
    input: Any, min_range: Any, max_range: Any, T: Any, mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO", name: str | None = None,
) -> Any:  # fmt: skip
    """Return float32 numbers as levels of the quantized type `T`, and the limits of the levels.

    The limits are moved so that 0 is between them and they are not too close together. Numbers
    outside of them become the lowest or the highest level. `mode` is "MIN_COMBINED" (the levels
    divide the range), "MIN_FIRST" (0 is a level) or "SCALED" (0 is level 0, and the limits follow).
    `round_mode` is "HALF_AWAY_FROM_ZERO" or, only with "SCALED", "HALF_TO_EVEN".

    Returns:
        A named tuple of `output`, with the shape of `input`, and of the scalars `output_min` and
        `output_max`. A step raises InvalidArgumentError if `min_range` > `max_range`.
    """
    return raw.QuantizeV2(
        input, min_range, max_range, T=T, mode=mode, round_mode=round_mode, name=name
    )


def quantize_v2(
    input: Any, min_range: Any, max_range: Any, T: Any, mode: str = "MIN_COMBINED",
    name: str | None = None, round_mode: str = "HALF_AWAY_FROM_ZERO",
) -> Any:  # fmt: skip
    """Return what `quantize` returns. Only the order of the arguments differs."""
    return quantize(input, min_range, max_range, T, mode, round_mode, name)


def dequantize(
    input: Any, min_range: Any, max_range: Any, mode: str = "MIN_COMBINED", name: str | None = None
) -> Any:
    """Return the float32 numbers of a tensor of a quantized type. `quantize` explains `mode`."""
    return raw.Dequantize(input, min_range, max_range, mode=mode, name=name)


def quantized_concat(
    concat_dim: Any, values: Any, input_mins: Any, input_maxes: Any, name: str | None = None
) -> Any:
    """Join tensors of a quantized type along the axis `concat_dim`.

    The result has a range that has 0 and the ranges of all tensors in it. That of a signed type is
    symmetric.

    Returns:
        A named tuple of `output` and of the scalars `output_min` and `output_max`.
    """
    return raw.QuantizedConcat(concat_dim, values, input_mins, input_maxes, name=name)


def quantized_conv2d(
    input: Any, filter: Any, min_input: Any, max_input: Any, min_filter: Any, max_filter: Any,
    strides: Any, padding: str, out_type: Any = qint32, dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return the convolution of quint8 images and filters, as qint32.

    `strides` are equal for rows and columns. Returns a named tuple of `output` and of the scalars
    `min_output` and `max_output`.
    """
    return raw.QuantizedConv2D(
        input, filter, min_input, max_input, min_filter, max_filter, strides=list(strides),
        padding=padding, out_type=out_type, dilations=list(dilations), name=name,
    )  # fmt: skip


def quantized_max_pool(
    input: Any, min_input: Any, max_input: Any, ksize: Any, strides: Any, padding: str,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return the highest level in each window of quint8 images, and the limits of the images.

    The result is a named tuple of `output`, `min_output` and `max_output`.
    """
    return raw.QuantizedMaxPool(
        input, min_input, max_input, ksize=list(ksize), strides=list(strides), padding=padding,
        name=name,
    )  # fmt: skip


def quantized_avg_pool(
    input: Any, min_input: Any, max_input: Any, ksize: Any, strides: Any, padding: str,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return the average level in each window of quint8 images, rounded down, and the limits.

    The result is a named tuple of `output`, `min_output` and `max_output`.
    """
    return raw.QuantizedAvgPool(
        input, min_input, max_input, ksize=list(ksize), strides=list(strides), padding=padding,
        name=name,
    )  # fmt: skip


def quantized_relu_x(
    features: Any, max_value: Any, min_features: Any, max_features: Any, out_type: Any = quint8,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return quint8 or qint32 levels between that of 0 and that of `max_value`.

    TensorFlow has this function, but cannot run it. The result is a named tuple of `activations`,
    `min_activations` and `max_activations`.
    """
    return raw.QuantizedReluX(
        features, max_value, min_features, max_features, out_type=out_type, name=name
    )
