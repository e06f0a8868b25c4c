"""Learning rates that follow a cosine: `tf.train.cosine_decay` and its variants.

Sources: tensorflow/python/training/learning_rate_decay.py; Loshchilov and Hutter, SGDR,
https://arxiv.org/abs/1608.03983; Bello et al., https://arxiv.org/abs/1709.07417.
"""

import math
from typing import Any

from capstan.api import cond_ops, math_ops, random_ops
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.train.learning_rate_decay import scope


def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Any:
    """Return a rate that falls from `learning_rate` to `alpha * learning_rate` in `decay_steps`."""
    with scope(global_step, "cosine_decay", name or "CosineDecay"):
        rate = convert.convert_to_tensor(learning_rate, name="learning_rate")
        fraction, _ = _completed(global_step, decay_steps, rate)
        return raw.Mul(rate, (1 - alpha) * _half_cosine(fraction) + alpha)


def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Any:
    """Return a cosine decay that starts again when it has ended.

    Each period is `t_mul` times as long as the period before, and starts at `m_mul` times its rate.
    """
    with scope(global_step, "cosine decay restarts", name or "SGDRDecay") as name_scope:
        rate = convert.convert_to_tensor(learning_rate, name="learning_rate")
        first, floor, longer, factor = (
            math_ops.cast(number, rate.dtype) for number in (first_decay_steps, alpha, t_mul, m_mul)
        )
        periods = math_ops.cast(global_step, rate.dtype) / first

        def equal_periods() -> tuple[Any, Any]:
            restarts = raw.Floor(periods)
            return restarts, periods - restarts

        def growing_periods() -> tuple[Any, Any]:
            restarts = raw.Floor(raw.Log(1.0 - periods * (1.0 - longer)) / raw.Log(longer))
            length = raw.Pow(longer, restarts)
            before = (1.0 - length) / (1.0 - longer)
            return restarts, (periods - before) / length

        restarts, fraction = cond_ops.cond(raw.Equal(longer, 1.0), equal_periods, growing_periods)
        decayed = raw.Pow(factor, restarts) * _half_cosine(fraction)
        return raw.Mul(rate, (1 - floor) * decayed + floor, name=name_scope)


def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """Return learning_rate * ((alpha + linear decay) * cosine decay + beta)."""
    with scope(global_step, "linear cosine decay", name or "LinearCosineDecay") as name_scope:
        rate = convert.convert_to_tensor(learning_rate, name="learning_rate")
        periods, offset, floor = (
            math_ops.cast(number, rate.dtype) for number in (num_periods, alpha, beta)
        )
        fraction, _ = _completed(global_step, decay_steps, rate)
        cosine = _half_cosine(2.0 * periods * fraction)
        return raw.Mul(rate, (offset + 1.0 - fraction) * cosine + floor, name=name_scope)


def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Any:
    """Return the linear cosine decay with noise, whose variance falls as the steps grow."""
    default = name or "NoisyLinearCosineDecay"
    with scope(global_step, "noisy linear cosine decay", default) as name_scope:
        rate = convert.convert_to_tensor(learning_rate, name="learning_rate")
        variance, exponent, periods, offset, floor = (
            math_ops.cast(number, rate.dtype)
            for number in (initial_variance, variance_decay, num_periods, alpha, beta)
        )
        fraction, step = _completed(global_step, decay_steps, rate)
        deviation = raw.Sqrt(variance / raw.Pow(1.0 + step, exponent))
        noise = random_ops.random_normal(fraction.shape, stddev=deviation, dtype=rate.dtype)
        cosine = _half_cosine(2.0 * periods * fraction)
        return raw.Mul(rate, (offset + 1.0 - fraction + noise) * cosine + floor, name=name_scope)


def _completed(global_step: Any, decay_steps: Any, rate: Any) -> tuple[Any, Any]:
    """Return the completed fraction of the decay, at most 1, and the step that it belongs to."""
    steps = math_ops.cast(decay_steps, rate.dtype)
    step = raw.Minimum(math_ops.cast(global_step, rate.dtype), steps)
    return step / steps, step


def _half_cosine(fraction: Any) -> Any:
    """Return a value that falls from 1 to 0 while `fraction` grows from 0 to 1."""
    return 0.5 * (1.0 + raw.Cos(math.pi * fraction))
