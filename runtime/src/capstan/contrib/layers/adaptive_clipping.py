"""Clipping that adapts to the norms so far (contrib/layers/python/layers/optimizers.py)."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import (
    clip_ops,
    creation_ops,
    gather_ops,
    init_ops,
    math_ops,
    scope_block,
    variable_scope,
)
from capstan.core import dtypes
from capstan.framework.indexed_slices import IndexedSlices
from capstan.train import moving_averages, summary

Pairs = Sequence[tuple[Any, Any]]
"""Gradients and their variables."""


def adaptive_clipping_fn(
    std_factor: Any = 2.0,
    decay: Any = 0.95,
    static_max_norm: Any = None,
    global_step: Any = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: str | None = None,
) -> Callable[[Pairs], list[tuple[Any, Any]]]:
    """Return a function of pairs of gradients and variables, for example for `clip_gradients`.

    The function keeps moving averages of the logarithm of the global norm and of its square, with
    the factor `decay`. If a norm exceeds exp(mean + std_factor * deviation), it scales the
    gradients to the norm exp(mean). They never have a norm above `static_max_norm`, if it is given.
    With `global_step`, the averages move faster in the first steps. See section 3.2.1 of
    https://arxiv.org/abs/1412.1602.
    """

    def clip(pairs: Pairs) -> list[tuple[Any, Any]]:
        norm = clip_ops.global_norm([gradient for gradient, _ in pairs])
        with scope_block.variable_scope(name, "AdaptiveMaxNorm", [norm]):
            most, mean = _limits(norm, std_factor, decay, global_step, epsilon)
        if report_summary:
            summary.scalar("global_norm/adaptive_max_gradient_norm", most)
        factor = gather_ops.where(
            norm < most, creation_ops.ones_like(norm), math_ops.exp(mean) / norm
        )
        if static_max_norm is not None:
            factor = math_ops.minimum(static_max_norm / norm, factor)
        return [(_scaled(gradient, factor), variable) for gradient, variable in pairs]

    return clip


def _limits(
    norm: Any, std_factor: Any, decay: Any, global_step: Any, epsilon: float
) -> tuple[Any, Any]:
    """Return the largest norm that is not clipped, and the mean logarithm of the norms."""
    value = math_ops.log(norm + epsilon)
    if global_step is not None:
        count = math_ops.cast(global_step, dtypes.float32)
        decay = math_ops.minimum(decay, count / (count + 1.0))
    mean = _average("mean", value, decay)
    square_mean = _average("sq_mean", math_ops.square(value), decay)
    deviation = math_ops.sqrt(math_ops.maximum(epsilon, square_mean - math_ops.square(mean)))
    return math_ops.exp(mean + std_factor * deviation), mean


def _average(name: str, value: Any, decay: Any) -> Any:
    """Return the moving average of a value, which the same step updates."""
    average = variable_scope.get_variable(
        name, value.shape, value.dtype, init_ops.Zeros(), trainable=False
    )
    return moving_averages.assign_moving_average(average, value, decay, zero_debias=False)


def _scaled(gradient: Any, factor: Any) -> Any:
    if gradient is None:
        return None
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape)
    return gradient * factor
