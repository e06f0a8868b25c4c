"""Metrics that sort predictions into bins of one width (tf.contrib.metrics).

The behaviour follows contrib/metrics/python/ops/metric_ops.py and histogram_ops.py. A batch of n
predictions and m bins takes time and memory in proportion to n + m, not to n * m.
"""

from typing import Any, NamedTuple

from capstan.api import (
    check_ops,
    check_types,
    control_flow_ops,
    counting_ops,
    gather_ops,
    histogram_ops,
    init_ops,
    math_ops,
    ordering_ops,
    reduce_ops,
    scope_block,
    state_ops,
    variable_scope,
    weight_shapes,
)
from capstan.api import metric_state as state
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import collections, convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["auc_using_histogram", "precision_recall_at_equal_thresholds"]

_LEAST = 1e-7
"""The least number that something is divided by."""


class PrecisionRecallData(NamedTuple):
    """Vectors with an element for each threshold."""

    tp: Any
    fp: Any
    tn: Any
    fn: Any
    precision: Any
    recall: Any
    thresholds: Any


def precision_recall_at_equal_thresholds(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> tuple[PrecisionRecallData, Any]:
    """Return the counts and rates at thresholds from 0 to 1 of equal distance, and an update.

    A prediction at or above a threshold is positive. There are 201 thresholds by default. The
    labels are bools. The results have the dtype of the predictions, and are counted in float64. A
    step with a prediction outside [0, 1] raises InvalidArgumentError.

    Raises:
        TypeError: the labels are not bools.
        ValueError: the shapes do not fit.
    """
    number = 201 if num_thresholds is None else num_thresholds
    weights = 1.0 if weights is None else weights
    check_types.assert_type(labels, dtypes.bool_)
    with scope_block.variable_scope(
        name, "precision_recall_at_equal_thresholds", (labels, predictions, weights)
    ):
        predictions, labels = _matching(predictions, labels)
        at = math_ops.cast(raw.Floor(predictions * (number - 1)), dtypes.int32)
        truth = math_ops.cast(labels, dtypes.float64)
        shares = state.as_wide(weights, predictions, dtypes.float64)
        with scoped(None, "variables"):
            buckets = [
                state.metric_variable([number], f"{kind}_buckets", dtypes.float64)
                for kind in ("tp", "fp")
            ]
        with scoped(None, "update_op"):
            changes = [
                state_ops.scatter_add(
                    bucket,
                    raw.Reshape(at, [-1]),
                    raw.Reshape(share * shares, [-1]),
                    use_locking is not False,
                )
                for bucket, share in zip(buckets, (truth, 1.0 - truth), strict=True)
            ]
        result = _rates(*buckets)
        thresholds = counting_ops.linspace(0.0, 1.0, number)
        kind = predictions.dtype.base_dtype
        data = PrecisionRecallData(*(math_ops.cast(each, kind) for each in (*result, thresholds)))
        return data, control_flow_ops.group(*changes)


def _matching(predictions: Any, labels: Any) -> tuple[Any, Any]:
    """Return tensors of one rank. The step fails if a prediction is outside [0, 1]."""
    predictions = convert.convert_to_tensor(predictions)
    message = "predictions must be in [0, 1]"
    ends = (convert.constant(end, predictions.dtype.base_dtype) for end in (0.0, 1.0))
    checks = [
        check(predictions, end, message=message)
        for check, end in zip(
            (check_ops.assert_greater_equal, check_ops.assert_less_equal), ends, strict=True
        )
    ]
    with graphs.get_default_graph().control_dependencies(checks):
        return state.alike(raw.Identity(predictions), labels)


def _rates(right_bins: Any, wrong_bins: Any) -> tuple[Any, ...]:
    """Return the first six vectors of the data, from the weights of the predictions of each bin."""
    right = reduce_ops.cumsum(right_bins, reverse=True, name="tp")
    wrong = reduce_ops.cumsum(wrong_bins, reverse=True, name="fp")
    left, missed = wrong[0] - wrong, right[0] - right
    least = convert.constant(_LEAST, dtypes.float64)
    precision = right / raw.Maximum(least, right + wrong)
    return right, wrong, left, missed, precision, right / raw.Maximum(least, right + missed)


def auc_using_histogram(
    boolean_labels: Any,
    scores: Any,
    score_range: Any,
    nbins: int = 100,
    collections: Any = None,
    check_shape: bool = True,
    name: str | None = None,
) -> state.Result:
    """Return the area under the ROC curve as a float32, and an operation for updates.

    Scores of true and of false labels are counted in `nbins` bins each. The first and the last bin
    have the scores outside `score_range`. Scores in one bin count as equal. The variables are in
    `collections`, by default the local variables. Without true or without false labels, the area is
    NaN. With `check_shape`, a step with labels or scores that are no vectors raises
    InvalidArgumentError.

    Raises:
        ValueError: the labels are not bools.
    """
    with scope_block.variable_scope(
        name, "auc_using_histogram", [boolean_labels, scores, score_range]
    ):
        labels, scores = weight_shapes.remove_squeezable_dimensions(boolean_labels, scores)
        score_range = convert.convert_to_tensor(score_range, name="score_range")
        labels, scores = _vectors(labels, scores, check_shape)
        counts = _histograms(labels, scores, score_range, nbins)
        kept, update = _accumulated(counts, nbins, collections)
        return _area(*kept), update


def _vectors(labels: Any, scores: Any, is_checked: bool) -> tuple[Any, Any]:
    if labels.dtype.base_dtype is not dtypes.bool_:
        raise ValueError(
            f"Argument boolean_labels should have dtype bool.  Found: {labels.dtype.name}"
        )
    if not is_checked:
        return labels, scores
    checks = [
        control_flow_ops.Assert(
            raw.Equal(1, raw.Rank(tensor)),
            [f"Argument {name} should have rank 1.  Found: ", tensor.name, raw.Shape(tensor)],
        )
        for name, tensor in (("boolean_labels", labels), ("scores", scores))
    ]
    with graphs.get_default_graph().control_dependencies(checks):
        return raw.Identity(labels), raw.Identity(scores)


def _histograms(labels: Any, scores: Any, score_range: Any, nbins: int) -> list[Any]:
    """Return the numbers of scores in each bin, of true and then of false labels."""
    with scope_block.variable_scope(None, "make_auc_histograms", [labels, scores, nbins]):
        return [
            histogram_ops.histogram_fixed_width(
                gather_ops.gather(scores, raw.Reshape(raw.Where(chosen), [-1])),
                score_range,
                nbins,
                dtypes.int64,
                f"hist_{kind}",
            )
            for kind, chosen in (("true", labels), ("false", raw.LogicalNot(labels)))
        ]


def _accumulated(counts: list[Any], nbins: int, names: Any) -> tuple[list[Any], Any]:
    """Return variables with the sums of the counts of all batches, and their update."""
    if names is None:
        names = [collections.GraphKeys.LOCAL_VARIABLES]
    with scope_block.variable_scope(None, "hist_accumulate", counts):
        kept = [
            variable_scope.get_variable(
                f"hist_{kind}_acc",
                [nbins],
                dtypes.int64,
                init_ops.zeros_initializer(),
                collections=names,
                trainable=False,
            )
            for kind in ("true", "false")
        ]
        changes = [variable.assign_add(count) for variable, count in zip(kept, counts, strict=True)]
        return kept, control_flow_ops.group(*changes, name="update_op")


def _area(of_true: Any, of_false: Any) -> Any:
    """Return the area of the trapezoids between the shares of bins, from the highest bin on."""
    rises, widths = (
        math_ops.cast(
            ordering_ops.reverse(math_ops.truediv(count, reduce_ops.reduce_sum(count)), [0]),
            dtypes.float32,
        )
        for count in (of_true, of_false)
    )
    heights = reduce_ops.cumsum(rises)
    others = reduce_ops.reduce_sum(widths[1:] * (heights[1:] + heights[:-1]) / 2.0)
    return math_ops.add(widths[0] * heights[0] / 2.0, others, name="auc")
