"""Metrics of the k largest predictions of each example (python/ops/metrics_impl.py).

The labels of an example are classes, in a tensor or a SparseTensor. Of labels and predictions, only
the classes count that they have in common, or that one of them lacks.
"""

from typing import Any

from capstan.api import (
    cond_ops,
    math_ops,
    nn,
    reduce_ops,
    sets,
    sparse_math_ops,
    sparse_ops,
    state_ops,
)
from capstan.api import metric_state as state
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor

__all__ = [
    "precision_at_k", "precision_at_top_k", "recall_at_k", "recall_at_top_k",
    "sparse_precision_at_k",
]  # fmt: skip

Result = state.Result


def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the share of the k largest predictions that are labels.

    With `class_id`, only the predictions of this class count.
    """
    with scoped(name, name_at("precision", k, class_id), [predictions]) as scope:
        return precision_at_top_k(
            labels, largest(predictions, k), k, class_id, weights,
            metrics_collections, updates_collections, scope,
        )  # fmt: skip


def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the share of the predicted classes `predictions_idx` that are labels.

    With `class_id`, only the predictions of this class count. `k` is part of names.
    """
    return _share(
        "precision", "false_positive", labels, predictions_idx, k, class_id, weights,
        metrics_collections, updates_collections, name,
    )  # fmt: skip


def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the share of the labels that are among the k largest predictions.

    With `class_id`, only the labels of this class count.
    """
    with scoped(name, name_at("recall", k, class_id), [predictions]) as scope:
        return recall_at_top_k(
            labels, largest(predictions, k), k, class_id, weights,
            metrics_collections, updates_collections, scope,
        )  # fmt: skip


def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the share of the labels that are among the predicted classes `predictions_idx`.

    With `class_id`, only the labels of this class count. `k` is part of names.
    """
    return _share(
        "recall", "false_negative", labels, predictions_idx, k, class_id, weights,
        metrics_collections, updates_collections, name,
    )  # fmt: skip


def sparse_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Return the same as `precision_at_k`, whose old name this is."""
    return precision_at_k(
        labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name
    )


def largest(predictions: Any, k: int) -> Any:
    """Return the classes of the k largest predictions of each example."""
    return nn.top_k(predictions, k)[1]


def name_at(metric: str, k: int | None, class_id: int | None = None) -> str:
    """Return the default name of a metric at k."""
    at = f"{metric}_at_{'k' if k is None else k}"
    return at if class_id is None else f"{at}_class{class_id}"


def _share(
    metric: str,
    other: str,
    labels: Any,
    predictions_idx: Any,
    k: int | None,
    class_id: int | None,
    weights: Any,
    metrics_collections: Any,
    updates_collections: Any,
    name: str | None,
) -> Result:
    """Return true positives / (true positives + `other`)."""
    with scoped(name, name_at(metric, k, class_id), [predictions_idx]) as scope:
        found = math_ops.cast(predictions_idx, dtypes.int64)
        labels = with_last_axis(labels, found)
        right = _streaming("true_positive", labels, found, k, class_id, weights)
        wrong = _streaming(other, labels, found, k, class_id, weights)
        update = raw.RealDiv(right[1], raw.Add(right[1], wrong[1]), name="update")
        return state.finished(
            lambda: raw.RealDiv(right[0], raw.Add(right[0], wrong[0]), name=scope),
            update,
            metrics_collections,
            updates_collections,
        )


def _streaming(
    kind: str, labels: Any, found: Any, k: int | None, class_id: int | None, weights: Any
) -> tuple[Any, Any]:
    """Return the number of classes of a kind in all batches, and its update."""
    with scoped(None, name_at(kind, k, class_id), [found]) as scope:
        numbers = _weighted(number_of(kind, labels, found, class_id), weights)
        count = state.metric_variable([], scope, dtypes.float64)
        return count, state_ops.assign_add(count, reduce_ops.reduce_sum(numbers))


def number_of(kind: str, labels: Any, found: Any, class_id: int | None) -> Any:
    """Return for each example the number of classes of a kind, as float64."""
    if class_id is not None:
        labels, found = _only(labels, class_id), _only(found, class_id)
    if kind == "true_positive":
        chosen = sets.intersection(found, labels)
    else:
        chosen = sets.difference(found, labels, aminusb=kind == "false_positive")
    return math_ops.cast(sets.size(chosen), dtypes.float64)


def _weighted(numbers: Any, weights: Any) -> Any:
    if weights is None:
        return numbers
    return raw.Mul(numbers, math_ops.cast(convert.convert_to_tensor(weights), dtypes.float64))


def _only(classes: Any, class_id: int) -> SparseTensor:
    """Return the set of each example without the classes other than `class_id`."""
    if isinstance(classes, SparseTensor):
        return sparse_math_ops.sparse_retain(classes, raw.Equal(classes.values, class_id))
    sizes = raw.Shape(classes, out_type=dtypes.int64)
    wanted = raw.Fill(
        raw.ConcatV2([sizes[:-1], convert.constant([1], dtypes.int64)], 0),
        convert.constant(class_id, dtypes.int64),
    )
    chosen = sets.intersection(wanted, classes)
    return SparseTensor(chosen.indices, chosen.values, sizes)


def with_last_axis(labels: Any, found: Any) -> Any:
    """Return labels of the rank of `found`. Add an axis at the end if they lack it.

    Raises:
        ValueError: the ranks differ by more.
    """
    labels = sparse_ops.convert_to_tensor_or_sparse_tensor(labels)
    if isinstance(labels, SparseTensor):
        return _with_all_axes(labels, found)
    rank, wanted = labels.shape.ndims, found.shape.ndims
    if rank is None or wanted is None:
        return cond_ops.cond(
            raw.Equal(raw.Rank(found), raw.Rank(labels) + 1),
            lambda: raw.ExpandDims(labels, -1),
            lambda: raw.Identity(labels),
        )
    if rank not in (wanted, wanted - 1):
        raise ValueError(
            f"Unexpected labels shape {labels.shape} for predictions shape {found.shape}. "
            "Predictions rank should be the same rank as labels rank or labels rank plus one ."
        )
    return labels if rank == wanted else raw.ExpandDims(labels, -1)


def _with_all_axes(labels: SparseTensor, found: Any) -> SparseTensor:
    """Return sparse labels with as many axes as `found`. The new axes at the end have size 1."""
    lacking = raw.Sub(raw.Rank(found), raw.Size(labels.dense_shape))
    ones = raw.Fill(raw.Pack([lacking]), convert.constant(1, dtypes.int64))
    return sparse_math_ops.sparse_reshape(labels, raw.ConcatV2([labels.dense_shape, ones], 0))
