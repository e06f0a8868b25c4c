"""tf.contrib.metrics: the points and the areas of curves, against values of TensorFlow 1.15's tests
and NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import capstan as tf

metrics = tf.contrib.metrics


def updated(metric: Any, batches: Sequence[dict[Any, Any]] = ({},)) -> Any:
    value, update = metric
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for batch in batches:
            session.run(update, batch)
        return session.run(value)


def area_under_roc(labels: Any, scores: Any, weights: Any) -> float:
    """Compare every positive example with every negative one."""
    positive, negative = scores[labels > 0], scores[labels == 0]
    wins = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    of_pairs = weights[labels > 0][:, None] * weights[labels == 0]
    return float((wins * of_pairs).sum() / of_pairs.sum())


@pytest.mark.parametrize(
    ("labels", "scores", "curve", "points"),
    [
        ([[1]], [[1]], "ROC", [[0, 1], [0, 1], [0, 0]]),
        ([[0]], [[0]], "ROC", [[1, 1], [0, 1], [0, 1]]),
        ([[0]], [[1]], "ROC", [[1, 1], [1, 1], [0, 1]]),
        ([[1]], [[0]], "PR", [[1, 1], [0, 1], [0, 1]]),
        (
            [[1, 0, 0, 1, 1, 1]],
            [[0.2, 0.3, 0.4, 0.6, 0.7, 0.8]],
            "ROC",
            [[1, 1], [0, 0.75], [0, 0]],
        ),
        (
            [[1, 0, 0, 1, 1, 1]],
            [[0.2, 0.3, 0.4, 0.6, 0.7, 0.8]],
            "PR",
            [[1, 4 / 6], [0.75, 1], [0, 1]],
        ),
    ],
)
def test_curve_points_are_those_of_each_threshold(
    labels: Any, scores: Any, curve: str, points: Any
) -> None:
    metric = metrics.streaming_curve_points(
        tf.constant(labels, tf.float32),
        tf.constant(scores, tf.float32),
        num_thresholds=3,
        curve=curve,
        metrics_collections=["read"],
        updates_collections=["change"],
    )
    np.testing.assert_allclose(updated(metric), points, atol=1e-5)
    assert (tf.get_collection("read"), tf.get_collection("change")) == ([metric[0]], [metric[1]])
    assert isinstance(metric[1], tf.Operation)
    assert {variable.name for variable in tf.local_variables()} == {
        f"curve_points/{kind}:0"
        for kind in ("true_positives", "false_negatives", "false_positives", "true_negatives")
    }


@pytest.mark.parametrize(
    ("labels", "scores", "curve", "area"),
    [
        ([0, 1, 1, 0], [1, 0, 1, 0], "ROC", 0.5),
        ([1, 0, 1, 0], [2.5, -2.5, 2.5, -2.5], "ROC", 1.0),
        ([1, 1, 1], [1.0, 1.0, 1.0], "ROC", 0.0),
        ([0, 0, 0], [1.0, 1.0, 1.0], "ROC", 0.0),
        ([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], "PR", 0.79166),
        ([0, 0, 1, 0, 1, 0, 1], [0.1, 0.4, 0.35, 0.8, 0.1, 0.135, 0.81], "PR", 0.610317),
        ([[0, 0, 0, 0, 1, 1, 1]], [[0.0, 0.1, 0.2, 0.33, 0.3, 0.4, 0.5]], "PR", 0.90277),
    ],
)
def test_dynamic_auc_takes_each_prediction_as_a_threshold(
    labels: Any, scores: Any, curve: str, area: float
) -> None:
    found = updated(metrics.streaming_dynamic_auc(tf.constant(labels), tf.constant(scores), curve))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, area, atol=1e-5)


@pytest.mark.parametrize("has_weights", [True, False])
def test_dynamic_auc_is_that_of_all_batches(has_weights: bool) -> None:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, (3, 20))
    scores = np.round(rng.random((3, 20)) + 0.3 * labels, 1)
    weights = rng.uniform(0, 3, (3, 20)) if has_weights else np.ones((3, 20))
    places = [tf.placeholder(each, [20]) for each in (tf.int32, tf.float64, tf.float32)]
    metric = metrics.streaming_dynamic_auc(
        places[0], places[1], weights=places[2] if has_weights else None
    )
    batches = [
        dict(zip(places, batch, strict=True)) for batch in zip(labels, scores, weights, strict=True)
    ]
    wanted = area_under_roc(labels.ravel(), scores.ravel(), weights.ravel())
    np.testing.assert_allclose(updated(metric, batches), wanted, rtol=1e-6)


def test_dynamic_auc_refuses_unknown_curves_and_labels() -> None:
    with pytest.raises(ValueError, match="curve must be either ROC or PR, LIFT unknown"):
        metrics.streaming_dynamic_auc(tf.ones([2]), tf.ones([2]), "LIFT")
    with pytest.raises(ValueError, match=r"Shapes .* are incompatible"):
        metrics.streaming_dynamic_auc(tf.ones([6]), tf.ones([5]))
    labels = tf.placeholder(tf.int32, [2])
    metric = metrics.streaming_dynamic_auc(labels, tf.constant([0.5, 0.5]))
    for wrong, message in (([2, 1], "at least one is >1"), ([-1, 0], "at least one is <0")):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=f"labels must be 0 or 1, {message}"
        ):
            updated(metric, [{labels: wrong}])


def test_equal_thresholds_count_the_predictions_at_or_above_each() -> None:
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 2, (2, 50)) > 0
    scores = rng.integers(0, 17, (2, 50)) / np.float32(16)
    weights = rng.uniform(0.5, 2, (2, 50)).astype(np.float32)
    places = [tf.placeholder(each, [50]) for each in (tf.bool, tf.float32, tf.float32)]
    metric = metrics.precision_recall_at_equal_thresholds(*places, num_thresholds=5)
    assert {variable.name for variable in tf.local_variables()} == {
        f"precision_recall_at_equal_thresholds/variables/{kind}_buckets:0" for kind in ("tp", "fp")
    }
    batches = [
        dict(zip(places, batch, strict=True)) for batch in zip(labels, scores, weights, strict=True)
    ]
    found = updated(metric, batches)
    assert found._fields == ("tp", "fp", "tn", "fn", "precision", "recall", "thresholds")
    np.testing.assert_allclose(found.thresholds, [0, 0.25, 0.5, 0.75, 1])
    for at, threshold in enumerate(found.thresholds):
        above = scores >= threshold
        right, wrong = (weights[above & kind].sum() for kind in (labels, ~labels))
        missed, left = (weights[~above & kind].sum() for kind in (labels, ~labels))
        counts = [right, wrong, left, missed]
        np.testing.assert_allclose(
            [values[at] for values in found[:6]],
            [*counts, right / (right + wrong), right / (right + missed)],
            rtol=1e-5,
        )
    assert {values.dtype for values in found} == {np.dtype(np.float32)}


def test_equal_thresholds_have_a_default_and_refuse_other_values() -> None:
    labels, scores = tf.constant([True, False]), tf.constant([0.9, 0.4], tf.float64)
    found = updated(metrics.precision_recall_at_equal_thresholds(labels, scores, name="rates"))
    assert {(values.shape, values.dtype) for values in found} == {((201,), np.dtype(np.float64))}
    with pytest.raises(TypeError):
        metrics.precision_recall_at_equal_thresholds(tf.constant([1, 0]), scores)
    fed = tf.placeholder(tf.float32, [2])
    metric = metrics.precision_recall_at_equal_thresholds(labels, fed)
    for outside in (1.5, -0.5):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"
        ):
            updated(metric, [{fed: [outside, 0.5]}])


def test_the_area_of_histograms_is_that_of_their_bins() -> None:
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, (3, 40)) > 0
    scores = np.round(rng.normal(0.4 * labels, 1), 1).astype(np.float32)
    places = [tf.placeholder(tf.bool, [None]), tf.placeholder(tf.float32, [None])]
    metric = metrics.auc_using_histogram(*places, [-2.0, 2.0], nbins=10)
    assert [variable.name for variable in tf.local_variables()] == [
        f"auc_using_histogram/hist_accumulate/hist_{kind}_acc:0" for kind in ("true", "false")
    ]
    batches = [dict(zip(places, batch, strict=True)) for batch in zip(labels, scores, strict=True)]
    found = updated(metric, batches)
    assert (found.dtype, metric[0].op.type) == (np.float32, "Add")
    bins = np.clip(np.floor((scores.ravel() + 2) / np.float32(0.4)), 0, 9)
    wanted = area_under_roc(labels.ravel(), bins, np.ones(labels.size))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert np.isnan(updated(metric, ()))


def test_the_area_of_histograms_refuses_other_labels() -> None:
    with pytest.raises(ValueError, match="Argument boolean_labels should have dtype bool"):
        metrics.auc_using_histogram(tf.constant([1, 0]), tf.ones([2]), [0.0, 1.0])
    metric = metrics.auc_using_histogram(
        tf.constant([[True, False]] * 2), tf.ones([2, 2]), [0.0, 1.0], collections=["own"]
    )
    assert len(tf.get_collection("own")) == 2
    with tf.Session() as session:
        session.run(tf.variables_initializer(tf.get_collection("own")))
        with pytest.raises(tf.errors.InvalidArgumentError, match="boolean_labels should have rank"):
            session.run(metric[1])


def test_the_average_precision_of_given_classes_is_that_of_their_order() -> None:
    labels = np.array([[0, 1, 2, 3, 4], [0, 2, 4, 5, 6]], np.int64)
    order = np.array([[5, 3, 6, 0, 1], [1, 3, 0, 6, 5]])
    for weights in (None, [0.3, 0.6]):
        for k in range(1, 5):
            metric = metrics.streaming_sparse_average_precision_at_top_k(
                tf.constant(order[:, :k]), labels, weights
            )
            precisions = [average_precision(*row) for row in zip(labels, order[:, :k], strict=True)]
            wanted = np.average(precisions, weights=weights)
            np.testing.assert_allclose(updated(metric), wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="The last dimension of predictions_idx must be set"):
        metrics.streaming_sparse_average_precision_at_top_k(
            tf.placeholder(tf.int64, [None, None]), labels
        )


def average_precision(labels: Any, order: Any) -> float:
    hits = np.isin(order, labels)
    precisions = np.cumsum(hits) / np.arange(1, len(order) + 1)
    return float((precisions * hits).sum() / min(len(labels), len(order)))


def test_every_name_of_contrib_metrics_is_there() -> None:
    assert "streaming_recall_at_k" in dir(metrics)
    found = updated(
        metrics.streaming_recall_at_k(tf.constant([[0.1, 0.9], [0.6, 0.4]]), tf.constant([1, 1]), 1)
    )
    assert found == 0.5
