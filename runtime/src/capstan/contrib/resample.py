"""Elements of a batch at random rates (contrib/training/python/training/resample.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.api import (
    arrangement_ops,
    gather_ops,
    math_ops,
    random_ops,
    reduce_ops,
    scope_block,
    variable_scope,
)
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.train import moving_averages

__all__ = ["resample_at_rate", "weighted_resample"]


def resample_at_rate(
    inputs: Sequence[Any],
    rates: Any,
    scope: str | None = None,
    seed: int | None = None,
    back_prop: bool = False,
) -> list[Any]:
    """Return the inputs with each element as many times as a Poisson distribution says.

    The first axis of every input is the batch, and `rates` is a float vector with the mean number
    of copies of each element. All inputs have the same copies. An element may be missing, so the
    size of the batch may be 0. `back_prop` has no effect: the numbers of copies have no gradient,
    and gradients reach the elements themselves.
    """
    with scoped(scope, "resample_at_rate", [*inputs, rates]):
        rates = convert.convert_to_tensor(rates, name="rates")
        drawn = random_ops.random_poisson(rates, (), rates.dtype, seed=seed)
        indices = _repeat_range(math_ops.cast(drawn, dtypes.int32))
        return [gather_ops.gather(tensor, indices) for tensor in inputs]


def weighted_resample(
    inputs: Sequence[Any],
    weights: Any,
    overall_rate: Any,
    scope: str | None = None,
    mean_decay: float = 0.999,
    seed: int | None = None,
) -> tuple[list[Any], Any]:
    """Return the inputs with copies of elements by their weights, and the rate of each copy.

    `weights` is a tensor with a weight for each element of the batch. The rate of an element is its
    weight times `overall_rate` over the mean weight. A local variable holds the mean weight: the
    moving average of the batches, which `mean_decay` slows down. `resample_at_rate` describes the
    results.
    """
    with scoped(scope, "weighted_resample", inputs) as names:
        with scope_block.variable_scope(scope, "estimate_mean", inputs):
            mean_weight = variable_scope.get_local_variable(
                "estimated_mean",
                initializer=math_ops.cast(0, weights.dtype),
                dtype=weights.dtype,
            )
            mean = moving_averages.assign_moving_average(
                mean_weight, reduce_ops.reduce_mean(weights), mean_decay
            )
        rates = weights * overall_rate / mean
        drawn_rates, *drawn = resample_at_rate([rates, *inputs], rates, names, seed)
        return drawn, drawn_rates


def _repeat_range(counts: Any) -> Any:
    """Return each index of `counts` as many times as `counts` says: 0 1 1 for [1, 2]."""
    counts = convert.convert_to_tensor(counts, name="counts")
    indices = raw.Range(0, raw.Size(counts), 1)
    return arrangement_ops.repeat(indices, counts)
