"""Layers that round to few levels, in ranges that they learn.

Source: contrib/quantize/python/quant_ops.py.
"""

from typing import Any

from capstan.api import (
    init_ops,
    math_ops,
    quantization_ops,
    reduce_ops,
    scope_block,
    state_ops,
    variable_scope,
)
from capstan.framework import collections as keys
from capstan.train import moving_averages


def LastValueQuantize(  # the name of TensorFlow's function
    inputs: Any,
    per_channel: bool = False,
    init_min: float = -6.0,
    init_max: float = 6.0,
    vars_collection: str | None = None,
    name_prefix: str = "LastValueQuant",
    reuse: Any = None,
    is_training: bool = True,
    num_bits: int = 8,
    narrow_range: bool = False,
    symmetric: bool = False,
) -> Any:
    """Return `inputs` rounded to 2**num_bits levels between their least and greatest element.

    The range is kept in the variables `min` and `max`. If `is_training` is false, it is read from
    them. With `per_channel`, each channel, the last axis, has a range of its own. With
    `narrow_range`, there is one level less.
    """

    def keep(variable: Any, value: Any, name: str) -> Any:
        return state_ops.assign(variable, value, name=f"Assign{name}Last")

    return _quantized(
        inputs, per_channel, (init_min, init_max), vars_collection, name_prefix, reuse,
        is_training, num_bits, narrow_range, symmetric, keep,
    )  # fmt: skip


def MovingAvgQuantize(
    inputs: Any,
    per_channel: bool = False,
    init_min: float = -6.0,
    init_max: float = 6.0,
    ema_decay: float = 0.999,
    vars_collection: str | None = keys.GraphKeys.MOVING_AVERAGE_VARIABLES,
    name_prefix: str = "MovingAvgQuantize",
    reuse: Any = None,
    is_training: bool = True,
    num_bits: int = 8,
    narrow_range: bool = False,
    symmetric: bool = False,
) -> Any:
    """Return `inputs` rounded as `LastValueQuantize` does, in the moving average of the ranges."""

    def keep(variable: Any, value: Any, name: str) -> Any:
        return moving_averages.assign_moving_average(
            variable, value, ema_decay, name=f"Assign{name}Ema"
        )

    return _quantized(
        inputs, per_channel, (init_min, init_max), vars_collection, name_prefix, reuse,
        is_training, num_bits, narrow_range, symmetric, keep,
    )  # fmt: skip


def _quantized(
    inputs: Any, per_channel: bool, initial: tuple[float, float], collection: str | None,
    name: str, reuse: Any, is_training: bool, bits: int, narrow: bool, symmetric: bool, keep: Any,
) -> Any:  # fmt: skip
    with scope_block.variable_scope(
        None, default_name=name, values=(inputs,), reuse=reuse
    ) as scope:
        scope.set_partitioner(None)  # The ends of a range are not worth several parts.
        shape = [inputs.shape.as_list()[-1]] if per_channel else []
        ends = [
            _variable(end, shape, value, collection)
            for end, value in zip(("min", "max"), initial, strict=True)
        ]
        if is_training:
            found = _range(
                inputs, bits, per_channel=per_channel, narrow=narrow, symmetric=symmetric
            )
            ends = [
                keep(end, value, kind)
                for end, value, kind in zip(ends, found, ("Min", "Max"), strict=True)
            ]
        rounded = (
            quantization_ops.fake_quant_with_min_max_vars_per_channel
            if per_channel
            else quantization_ops.fake_quant_with_min_max_vars
        )
        return rounded(inputs, ends[0], ends[1], num_bits=bits, narrow_range=narrow)


def _variable(name: str, shape: list[int], value: float, collection: str | None) -> Any:
    return variable_scope.get_variable(
        name,
        shape=shape,
        initializer=init_ops.constant_initializer(value),
        collections=[*filter(None, (collection,)), keys.GraphKeys.GLOBAL_VARIABLES],
        trainable=False,
    )


def _range(
    inputs: Any, bits: int, *, per_channel: bool, narrow: bool, symmetric: bool
) -> tuple[Any, Any]:
    """Return the range of a batch, which has 0 in it, or in its middle."""
    axes = [*range(inputs.shape.ndims - 1)] if per_channel else None
    low = reduce_ops.reduce_min(inputs, axes, name="BatchMin")
    high = reduce_ops.reduce_max(inputs, axes, name="BatchMax")
    if not symmetric:
        return math_ops.minimum(low, 0.0), math_ops.maximum(high, 0.0)
    ratio = -1.0 if narrow else -((1 << bits) - 2) / (1 << bits)
    return math_ops.minimum(low, high / ratio), math_ops.maximum(high, low * ratio)
