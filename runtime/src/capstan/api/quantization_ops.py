"""TensorFlow 1's fake quantization: numbers rounded to the levels of a quantized type.

A network that trains with it learns weights that lose little when they are quantized. The results
are numbers of the type of the inputs. Sources: core/ops/array_ops.cc, python/ops/array_ops.py.
"""

from typing import Any

from capstan.framework.raw import raw

__all__ = [
    "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel", "fake_quant_with_min_max_vars_per_channel_gradient",
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
