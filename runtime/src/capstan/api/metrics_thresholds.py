"""Metrics that compare predictions with many thresholds (python/ops/metrics_impl.py).

Predictions are in [0, 1]. A step with another prediction fails with InvalidArgumentError.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from capstan.api import check_ops, gather_ops, math_ops, reduce_ops, scope_block, state_ops
from capstan.api import metric_state as state
from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = [
    "false_negatives_at_thresholds", "false_positives_at_thresholds",
    "precision_at_thresholds", "recall_at_thresholds", "sensitivity_at_specificity",
    "specificity_at_sensitivity", "true_negatives_at_thresholds", "true_positives_at_thresholds",
]  # fmt: skip

Result = state.Result
Counts = Mapping[str, Any]
"""Weighted numbers of elements for each threshold, by kind."""

_TINY = 1e-7
KINDS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "true_positives": raw.LogicalAnd,
    "false_negatives": lambda is_true, found: raw.LogicalAnd(is_true, raw.LogicalNot(found)),
    "true_negatives": lambda is_true, found: raw.LogicalNot(raw.LogicalOr(is_true, found)),
    "false_positives": lambda is_true, found: raw.LogicalAnd(raw.LogicalNot(is_true), found),
}
"""The elements that a kind counts, from whether labels are true and predictions are above."""


def of_counts(
    compute: Callable[[Counts, str], Any],
    given: tuple[Any, Any, Any],
    thresholds: Any,
    kinds: Sequence[str],
    scope: tuple[str | None, str],
    collections: tuple[Any, Any],
) -> Result:
    """Return the metric `compute(counts, "value" or "update_op")` of the counts of some kinds.

    `given` has the labels, the predictions and the weights. `scope` has the name that the program
    chose, and the default. `collections` are those of the value and of the update.
    """
    labels, predictions, weights = given
    with scope_block.variable_scope(*scope, (predictions, labels, weights)):
        read, updates = _counts(labels, predictions, thresholds, weights, kinds)
        return state.finished(
            lambda: compute(read(), "value"), compute(updates, "update_op"), *collections
        )


def _counts(
    labels: Any, predictions: Any, thresholds: Any, weights: Any, kinds: Sequence[str]
) -> tuple[Callable[[], Counts], Counts]:
    """Return a function that reads the counts of all batches, and the counts with a new batch."""
    predictions = math_ops.cast(convert.convert_to_tensor(predictions), dtypes.float32)
    message = "predictions must be in [0, 1]"
    checks = [
        check_ops.assert_greater_equal(predictions, 0.0, message=message),
        check_ops.assert_less_equal(predictions, 1.0, message=message),
    ]
    with graphs.get_default_graph().control_dependencies(checks):
        predictions, labels = state.alike(raw.Identity(predictions), labels)
    limits = np.asarray(thresholds, np.float32)
    is_found = raw.Greater(raw.Reshape(predictions, [1, -1]), limits[:, None])
    is_true = raw.Reshape(math_ops.cast(labels, dtypes.bool_), [1, -1])
    share = None
    if weights is not None:
        wide, _ = state.weighted(raw.OnesLike(predictions), weights)
        share = raw.Reshape(wide, [1, -1])
    variables, updates = {}, {}
    for kind, chosen in KINDS.items():
        if kind in kinds:
            numbers = math_ops.cast(chosen(is_true, is_found), dtypes.float32)
            numbers = numbers if share is None else raw.Mul(numbers, share)
            variable = state.metric_variable([len(limits)], kind)
            updates[kind] = state_ops.assign_add(variable, reduce_ops.reduce_sum(numbers, 1))
            variables[kind] = variable
    return lambda: {kind: raw.Identity(variables[kind]) for kind in variables}, updates


def between(number: int, last: float = 1.0 + _TINY) -> Array:
    """Return `number` thresholds from just below 0 to `last`."""
    return enclosed(np.arange(1, number - 1, dtype=np.float64) / (number - 1), last)


def enclosed(rates: Any, last: float = 1.0 + _TINY) -> Array:
    """Return the sorted rates as thresholds, between one just below 0 and `last`."""
    return np.concatenate([[-_TINY], np.sort(rates), [last]]).astype(np.float32)


_Metric = Callable[..., Result]


def _at_thresholds(
    name: str, kinds: Sequence[str], scope: str, purpose: str, metric: Callable[[Counts, str], Any]
) -> _Metric:
    """Return the metric that computes `metric(counts, "value" or "update_op")`."""

    def at_thresholds(
        labels: Any,
        predictions: Any,
        thresholds: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Result:
        return of_counts(
            metric,
            (labels, predictions, weights),
            thresholds,
            kinds,
            (name, scope),
            (metrics_collections, updates_collections),
        )

    at_thresholds.__name__ = at_thresholds.__qualname__ = name
    at_thresholds.__doc__ = purpose
    return at_thresholds


def _counted(kind: str, purpose: str) -> _Metric:
    return _at_thresholds(
        f"{kind}_at_thresholds", [kind], kind, purpose, lambda counts, _: counts[kind]
    )


def share_at_thresholds(scope: str, name: str, kind: str, other: str, purpose: str) -> _Metric:
    """Return the metric of the share of `kind` in both kinds. `name` begins its tensors' names."""

    def share(counts: Counts, part: str) -> Any:
        chosen = counts[kind]
        return raw.RealDiv(chosen, _TINY + chosen + counts[other], name=f"{name}_{part}")

    return _at_thresholds(scope, [kind, other], scope, purpose, share)


true_positives_at_thresholds = _counted(
    "true_positives", "Return the number of predictions that are rightly above each threshold."
)
true_negatives_at_thresholds = _counted(
    "true_negatives", "Return the number of predictions that are rightly not above each threshold."
)
false_positives_at_thresholds = _counted(
    "false_positives", "Return the number of predictions that are wrongly above each threshold."
)
false_negatives_at_thresholds = _counted(
    "false_negatives", "Return the number of predictions that wrongly are not above each threshold."
)
precision_at_thresholds = share_at_thresholds(
    "precision_at_thresholds",
    "precision",
    "true_positives",
    "false_positives",
    "Return the share of predictions above each threshold that are right.",
)
recall_at_thresholds = share_at_thresholds(
    "recall_at_thresholds",
    "recall",
    "true_positives",
    "false_negatives",
    "Return the share of true labels whose predictions are above each threshold.",
)


_SENSITIVITY = ("true_positives", "false_negatives")
_SPECIFICITY = ("true_negatives", "false_positives")


def _share(counts: Counts, kinds: tuple[str, str]) -> Any:
    """Return the share of the first kind in both."""
    first, second = (counts[kind] for kind in kinds)
    return raw.RealDiv(first, first + second + _TINY)


def _check_share(name: str, value: float) -> None:
    if value < 0 or value > 1:
        raise ValueError(f"`{name}` must be in the range [0, 1]. Currently, `{name}` is {value}.")


def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the share of the positive labels that are predicted to be positive.

    A prediction is positive above a threshold. Of `num_thresholds` thresholds, the metric uses the
    one whose specificity is closest to `specificity`.

    Raises:
        ValueError: `specificity` is not in [0, 1].
    """
    _check_share("specificity", specificity)

    def at_closest(counts: Counts, part: str) -> Any:
        distances = raw.Abs(_share(counts, _SPECIFICITY) - specificity)
        return gather_ops.gather(_share(counts, _SENSITIVITY), raw.ArgMin(distances, 0), name=part)

    return of_counts(
        at_closest,
        (labels, predictions, weights),
        between(num_thresholds),
        tuple(KINDS),
        (name, "sensitivity_at_specificity"),
        (metrics_collections, updates_collections),
    )


def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the share of false labels that are not found, at the threshold for `sensitivity`.

    Raises:
        ValueError: `sensitivity` is not in [0, 1].
    """
    _check_share("sensitivity", sensitivity)

    def at_closest(counts: Counts, part: str) -> Any:
        distances = raw.Abs(_share(counts, _SENSITIVITY) - sensitivity)
        # Of several equally good thresholds, the last one counts.
        from_end = raw.ArgMin(raw.ReverseV2(distances, [0]), 0)
        place = num_thresholds - 1 - from_end
        return gather_ops.gather(_share(counts, _SPECIFICITY), place, name=part)

    return of_counts(
        at_closest,
        (labels, predictions, weights),
        between(num_thresholds, 1.0 - _TINY),
        tuple(KINDS),
        (name, "specificity_at_sensitivity"),
        (metrics_collections, updates_collections),
    )
