"""tf.contrib.metrics: moments, rates and thresholds over several batches, against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf

metrics = tf.contrib.metrics
LABELS = np.array([[0, 1, 1, 0, 1], [1, 0, 0, 1, 1]], np.float32)
SCORES = np.array([[0.1, 0.4, 0.8, 0.6, 0.3], [0.9, 0.2, 0.7, 0.7, 0.4]], np.float32)
SHARES = np.array([[1, 2, 0, 1, 3], [2, 1, 1, 0.5, 1]], np.float32)


def streamed(metric: Callable[..., Any], *arrays: np.ndarray) -> float:
    """Return the metric of all batches, which the last update and the value agree on."""
    places = [tf.placeholder(tf.as_dtype(array.dtype), array.shape[1:]) for array in arrays]
    value, update = metric(*places)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for batch in zip(*arrays, strict=True):
            updated = session.run(update, dict(zip(places, batch, strict=True)))
        found = session.run(value)
    np.testing.assert_allclose(updated, found, rtol=1e-5)
    return found  # type: ignore[no-any-return]


def test_covariance_and_correlation_are_those_of_all_values() -> None:
    both = np.stack([SCORES.ravel(), LABELS.ravel()])
    found = streamed(metrics.streaming_covariance, SCORES, LABELS)
    np.testing.assert_allclose(found, np.cov(both)[0, 1], rtol=1e-5)
    correlation = streamed(metrics.streaming_pearson_correlation, SCORES, LABELS)
    np.testing.assert_allclose(correlation, np.corrcoef(both)[0, 1], rtol=1e-5)
    whole = SHARES.astype(np.int64)
    weighted = streamed(metrics.streaming_covariance, SCORES, LABELS, whole.astype(np.float32))
    np.testing.assert_allclose(weighted, np.cov(both, fweights=whole.ravel())[0, 1], rtol=1e-5)
    assert np.isnan(streamed(metrics.streaming_covariance, SCORES[:1, :1], LABELS[:1, :1]))


def test_values_are_counted_by_their_weights() -> None:
    assert streamed(metrics.count, SCORES) == 10
    assert streamed(metrics.count, SCORES, SHARES) == SHARES.sum()


def test_kappa_compares_agreement_with_chance() -> None:
    first = np.array([[0, 1, 2, 1], [2, 2, 0, 1]], np.int64)
    second = np.array([[0, 2, 2, 1], [2, 1, 0, 0]], np.int64)
    agreed = (first == second).sum()
    chance = sum((first == each).sum() * (second == each).sum() for each in range(3)) / first.size
    found = streamed(lambda *both: metrics.cohen_kappa(*both, num_classes=3), first, second)
    np.testing.assert_allclose(found, (agreed - chance) / (first.size - chance), rtol=1e-6)
    assert streamed(lambda *both: metrics.cohen_kappa(*both, num_classes=3), first, first) == 1
    with pytest.raises(ValueError, match=r"`num_classes` must be >= 2\."):
        metrics.cohen_kappa([0], [0], 1)


def test_rates_are_shares_of_the_labels() -> None:
    guesses = np.round(SCORES)
    is_wrong, is_true = guesses != LABELS, LABELS > 0
    false_positive = (is_wrong & ~is_true).sum() / (~is_true).sum()
    false_negative = (is_wrong & is_true).sum() / is_true.sum()
    np.testing.assert_allclose(
        streamed(metrics.streaming_false_positive_rate, guesses, LABELS), false_positive
    )
    np.testing.assert_allclose(
        streamed(metrics.streaming_false_negative_rate, guesses, LABELS), false_negative
    )
    for metric, rate in (
        (metrics.streaming_false_positive_rate_at_thresholds, false_positive),
        (metrics.streaming_false_negative_rate_at_thresholds, false_negative),
    ):
        found = streamed(
            lambda scores, labels, metric=metric: metric(scores, labels, [0.5]), SCORES, LABELS
        )
        np.testing.assert_allclose(found, [rate], rtol=1e-5)


def counted(threshold: float) -> tuple[float, float]:
    """Return precision and recall above a threshold."""
    is_found, is_true = threshold < SCORES, LABELS > 0
    right = (is_found & is_true).sum()
    return right / max(is_found.sum(), 1), right / is_true.sum()


def test_the_best_threshold_is_found() -> None:
    pairs = [counted(number / 199) for number in range(199)]
    best = max(2 * p * r / (p + r) for p, r in pairs if p + r)
    np.testing.assert_allclose(streamed(metrics.f1_score, LABELS, SCORES), best, rtol=1e-5)
    near = min(pairs, key=lambda pair: abs(pair[0] - 0.7))
    found = streamed(lambda *both: metrics.recall_at_precision(*both, 0.7), LABELS, SCORES)
    np.testing.assert_allclose(found, near[1], rtol=1e-5)
    above = min(pair for pair in pairs if pair[0] >= 0.7)
    strict = streamed(
        lambda *both: metrics.recall_at_precision(*both, 0.7, strict_mode=True), LABELS, SCORES
    )
    np.testing.assert_allclose(strict, next(r for p, r in pairs if p == above[0]), rtol=1e-5)
    last = [pair for pair in pairs if pair[1] >= 0.6][-1]
    found = streamed(lambda *both: metrics.precision_at_recall(*both, 0.6), LABELS, SCORES)
    np.testing.assert_allclose(found, last[0], rtol=1e-5)
    for metric in (metrics.recall_at_precision, metrics.precision_at_recall):
        with pytest.raises(ValueError, match=r"must be in the range \[0, 1\]"):
            metric(LABELS, SCORES, 1.5)


def test_the_classes_may_be_chosen_already() -> None:
    chosen = np.array([[[1, 2], [0, 3]]], np.int64)
    labels = np.array([[[1], [2]]], np.int64)
    assert streamed(metrics.streaming_sparse_precision_at_top_k, chosen, labels) == 0.25
    assert streamed(metrics.sparse_recall_at_top_k, labels, chosen) == 0.5


def test_the_modules_of_the_metrics_have_their_names() -> None:
    from capstan.contrib.losses.python.losses import loss_ops
    from capstan.contrib.metrics.python.metrics import classification
    from capstan.contrib.metrics.python.ops import metric_ops
    from capstan.contrib.rnn.python.ops import lstm_ops

    assert metric_ops.streaming_covariance is metrics.streaming_covariance
    assert classification.f1_score is metrics.f1_score
    assert loss_ops.log_loss is tf.contrib.losses.log_loss
    assert lstm_ops.LSTMBlockCell is tf.contrib.rnn.LSTMBlockCell


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("most", [None, 0, 3, 9])
def test_the_values_of_all_batches_are_joined(axis: int, most: int | None) -> None:
    sizes = (2, 0, 3, 1)
    batches = [np.full((n, 2) if axis == 0 else (2, n), at, np.int32) for at, n in enumerate(sizes)]
    shape = [None, 2] if axis == 0 else [2, None]
    place = tf.placeholder(tf.int32, shape)
    value, update = metrics.streaming_concat(place, axis, most, ["values"], ["updates"])
    assert value.shape.as_list() == shape
    assert (tf.get_collection("values"), tf.get_collection("updates")) == ([value], [update])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for count in range(len(batches) + 1):
            kept = min(99 if most is None else most, sum(sizes[:count]))
            wanted = np.concatenate([batches[1], *batches[:count]], axis).take(range(kept), axis)
            np.testing.assert_array_equal(session.run(value), wanted)
            if count < len(batches):
                number = session.run(update, {place: batches[count]})
                assert number == min(99 if most is None else most, sum(sizes[: count + 1]))


def test_values_of_unknown_shapes_are_not_joined() -> None:
    for shape, axis, message in (
        (None, 0, "known rank"),
        ([2, None], 0, "statically known size"),
        ([2, None], 2, r"axis = 2 not in \[0, 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            metrics.streaming_concat(tf.placeholder(tf.float32, shape), axis)


def test_the_variables_of_a_recall_are_named_by_its_number_of_classes() -> None:
    scores, labels = tf.constant([[0.1, 0.7, 0.2], [0.2, 0.3, 0.5]]), tf.constant([2, 0])
    _, two = metrics.streaming_recall_at_k(scores, labels, 2)
    metrics.streaming_recall_at_k(scores, labels, 1, name="named")
    names = [variable.op.name for variable in tf.local_variables()]
    assert names == ["recall_at_2/total", "recall_at_2/count", "named/total", "named/count"]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(two) == 0.5
