"""The average precision of the k largest predictions of each example
(python/ops/metrics_impl.py). `metrics_top_k` says how labels are given.
"""

from typing import Any

from capstan.api import gather_ops, math_ops, reduce_ops, sets, state_ops
from capstan.api import metric_state as state
from capstan.api import metrics_top_k as top_k
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor

__all__ = ["average_precision_at_k", "sparse_average_precision_at_k"]

Result = state.Result


def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the mean over examples of the average precision of the k largest predictions.

    Raises:
        ValueError: `k` is below 1.
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}. `k` should be >= 1.")
    with scoped(name, top_k.name_at("average_precision", k), [predictions]) as scope:
        found = math_ops.cast(top_k.largest(predictions, k), dtypes.int64)
        classes = raw.Shape(predictions, out_type=dtypes.int64)[-1]
        labels = _in_range(top_k.with_last_axis(labels, found), classes)
        return _streaming(
            labels, found, k, weights, metrics_collections, updates_collections, scope
        )


def average_precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the mean over examples of the average precision of the classes `predictions_idx`.

    The classes of an example are in the order of their predictions, the largest first.

    Raises:
        ValueError: the last dimension of `predictions_idx` is not known.
    """
    found = math_ops.cast(convert.convert_to_tensor(predictions_idx), dtypes.int64)
    if found.shape.ndims == 0:
        raise ValueError("The rank of predictions_idx must be at least 1.")
    k = None if found.shape.ndims is None else found.shape.as_list()[-1]
    if k is None:
        raise ValueError("The last dimension of predictions_idx must be set.")
    labels = top_k.with_last_axis(labels, found)
    with scoped(name, top_k.name_at("average_precision", k), [found]) as scope:
        return _streaming(
            labels, found, k, weights, metrics_collections, updates_collections, scope
        )


def _streaming(
    labels: Any,
    found: Any,
    k: int,
    weights: Any,
    metrics_collections: Any,
    updates_collections: Any,
    scope: str,
) -> Result:
    precision = _average_precision(labels, found, k)
    if weights is None:
        number = math_ops.cast(raw.Size(precision), dtypes.float64)
    else:
        share = math_ops.cast(convert.convert_to_tensor(weights), dtypes.float64)
        share = raw.Mul(share, raw.OnesLike(precision))
        precision, number = raw.Mul(precision, share), reduce_ops.reduce_sum(share)
    with scoped(None, "max") as inner:
        count = state.metric_variable([], inner, dtypes.float64)
        new_count = state_ops.assign_add(count, number)
    with scoped(None, "total") as inner:
        total = state.metric_variable([], inner, dtypes.float64)
        new_total = state_ops.assign_add(total, reduce_ops.reduce_sum(precision))
    update = state.ratio(new_total, new_count, scope)
    return state.finished(
        lambda: state.ratio(total, count, "mean"),
        update,
        metrics_collections,
        updates_collections,
    )


def sparse_average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the same as `average_precision_at_k`, whose old name this is."""
    return average_precision_at_k(
        labels, predictions, k, weights, metrics_collections, updates_collections, name
    )


def _in_range(labels: Any, classes: Any) -> Any:
    """Return labels in which a label that is not a class is -1."""
    values = labels.values if isinstance(labels, SparseTensor) else labels
    values = math_ops.cast(values, dtypes.int64)
    kept = gather_ops.where(raw.GreaterEqual(values, classes), -raw.OnesLike(values), values)
    if isinstance(labels, SparseTensor):
        return SparseTensor(labels.indices, kept, labels.dense_shape)
    return kept


def _average_precision(labels: Any, found: Any, k: int) -> Any:
    """Return for each example the mean of the precisions at its right predictions."""
    first = [found[..., : number + 1] for number in range(k)]
    hits = [top_k.number_of("true_positive", labels, part, None) for part in first]
    right = raw.Pack(hits, axis=-1)
    before = raw.Pack([raw.ZerosLike(hits[0]), *hits[:-1]], axis=-1)
    precisions = right / convert.constant([float(n + 1) for n in range(k)], dtypes.float64)
    total = reduce_ops.reduce_sum(raw.Mul(precisions, right - before), -1)
    if isinstance(labels, SparseTensor):
        relevant = sets.size(labels)
    else:
        is_label = math_ops.cast(raw.GreaterEqual(labels, 0), dtypes.int32)
        relevant = reduce_ops.reduce_sum(is_label, -1)
    return raw.RealDiv(total, math_ops.cast(raw.Minimum(relevant, k), dtypes.float64))
