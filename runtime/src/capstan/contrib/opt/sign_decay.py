"""Functions that fade the signs of `AddSignOptimizer` and `PowerSignOptimizer`.

Source: contrib/opt/python/training/sign_decay.py. A function takes the global step and returns a
factor, a float32 scalar. It raises ValueError without a global step.
"""

import math
from collections.abc import Callable
from typing import Any

from capstan.api import math_ops
from capstan.core import dtypes
from capstan.framework.raw import raw

Decay = Callable[[Any], Any]


def get_linear_decay_fn(decay_steps: int) -> Decay:
    """Return a function that falls from 1 to 0 in a line."""

    def linear_decay_fn(global_step: Any) -> Any:
        return 1.0 - _share(global_step, decay_steps, "linear_decay")

    return linear_decay_fn


def get_cosine_decay_fn(
    decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None
) -> Decay:
    """Return a function that follows a cosine between 1 and 0 for `num_periods`.

    It is 0 after `zero_after` periods.
    """

    def cosine_decay_fn(global_step: Any) -> Any:
        fraction = 2.0 * num_periods * _share(global_step, decay_steps, "cosine_decay")
        limit = None if zero_after is None else 2.0 * zero_after
        return _wave(fraction, fraction, limit)

    return cosine_decay_fn


def get_restart_decay_fn(
    decay_steps: int, num_periods: float = 1, zero_after: float | None = None
) -> Decay:
    """Return a function that falls from 1 to 0 as half a cosine, `num_periods` times.

    It is 0 after `zero_after` periods.
    """

    def restart_decay_fn(global_step: Any) -> Any:
        periods = num_periods * _share(global_step, decay_steps, "cosine_decay")
        return _wave(math_ops.mod(periods, 1.0), periods, zero_after)

    return restart_decay_fn


def _share(global_step: Any, decay_steps: int, kind: str) -> Any:
    """Return the share of the steps that were done, 1 at most."""
    if global_step is None:
        raise ValueError(f"global_step is required for {kind}.")
    done = math_ops.minimum(math_ops.cast(global_step, dtypes.int64), decay_steps)
    return math_ops.cast(done, dtypes.float32) / float(decay_steps)


def _wave(fraction: Any, passed: Any, limit: float | None) -> Any:
    wave = 0.5 * (1.0 + math_ops.cos(math.pi * fraction))
    if limit is None:
        return wave
    return raw.SelectV2(raw.GreaterEqual(passed, limit), raw.ZerosLike(wave), wave)
