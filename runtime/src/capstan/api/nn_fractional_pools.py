"""Pools of `tf.nn` whose windows have random sizes (python/ops/nn_ops.py).

The windows over an axis of N elements have N // M elements or one more, where M is the number of
windows: N divided by the ratio of the axis, rounded down. The ratios of the batch and of the
channels are 1. The kernels run on CPUs only. The types are float32, float64, int32 and int64.
"""

from collections.abc import Sequence
from typing import Any

from capstan.framework.raw import raw

__all__ = ["fractional_avg_pool", "fractional_max_pool"]


def fractional_max_pool(
    value: Any,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any:
    """Return the largest element of each window of images [batch, rows, columns, channels].

    The result is a tuple. Its other two elements are the edges of the windows over rows and over
    columns, in int64: a window begins at its own edge and ends before the next edge. If the windows
    are `overlapping`, the element at the next edge belongs to both.

    Without `pseudo_random`, the larger windows are in random order. With it, the edges are evenly
    spaced, and one random number moves them all. If `deterministic`, each step has the same
    windows, and `seed` and `seed2` choose TensorFlow's. Otherwise each step draws new windows, and
    the step raises InvalidArgumentError if a seed is not 0. It also raises this error if an axis
    has fewer elements than a window.

    Raises:
        ValueError: there are not four ratios, a ratio is below 1, or the rank of `value` is not 4.
    """
    return raw.FractionalMaxPool(
        value, pooling_ratio=pooling_ratio,
        pseudo_random=pseudo_random, overlapping=overlapping, deterministic=deterministic,
        seed=seed, seed2=seed2, name=name,
    )  # fmt: skip


def fractional_avg_pool(
    value: Any,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any:
    """Return the mean of each window, as `fractional_max_pool`.

    The means of integers are rounded towards 0.
    """
    return raw.FractionalAvgPool(
        value, pooling_ratio=pooling_ratio,
        pseudo_random=pseudo_random, overlapping=overlapping, deterministic=deterministic,
        seed=seed, seed2=seed2, name=name,
    )  # fmt: skip
