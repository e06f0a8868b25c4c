"""`tf.contrib.sparsemax`: probabilities that are 0 for most classes, and their loss."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

LOGITS = np.random.RandomState(7).uniform(-3, 3, (20, 6))
LABELS = np.eye(6)[np.arange(20) % 6]


def nearest(row: Any) -> Any:
    """Return the nearest probabilities by a search for the threshold."""
    low, high = row.min() - 1, row.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(row - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(row - low, 0)


def run(build: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build())


@pytest.mark.parametrize("kind, tolerance", [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_sparsemax_gives_the_nearest_probabilities(kind: Any, tolerance: float) -> None:
    found = run(lambda: tf.contrib.sparsemax.sparsemax(LOGITS.astype(kind)))
    assert found.dtype == kind
    np.testing.assert_allclose(found, [nearest(row) for row in LOGITS], atol=tolerance)
    assert (found == 0).mean() > 0.3


def test_infinite_logits_have_no_share_or_no_result() -> None:
    rows = np.array(
        [[0.5, -np.inf, 0.3], [np.inf, 1, 2], [np.nan, 1, 2], [-np.inf, -np.inf, -np.inf]]
    )
    found = run(lambda: tf.contrib.sparsemax.sparsemax(rows))
    np.testing.assert_allclose(found[0], [0.6, 0, 0.4])
    assert np.isnan(found[1:]).all()


def test_the_loss_has_the_gradient_of_the_probabilities_minus_the_labels() -> None:
    def build() -> Any:
        logits = tf.constant(LOGITS)
        shares = tf.contrib.sparsemax.sparsemax(logits)
        loss = tf.contrib.sparsemax.sparsemax_loss(logits, shares, LABELS)
        perfect = tf.contrib.sparsemax.sparsemax_loss(logits, shares, shares)
        return loss, tf.gradients(loss, logits)[0], shares - LABELS, perfect

    loss, slope, wanted, perfect = run(build)
    assert loss.shape == (20,)
    assert (loss >= 0).all()
    np.testing.assert_allclose(slope, wanted, atol=1e-12)
    np.testing.assert_allclose(perfect, np.zeros(20), atol=1e-12)


def test_a_class_without_a_share_has_the_gradient_0() -> None:
    def build() -> Any:
        logits = tf.constant(LOGITS)
        shares = tf.contrib.sparsemax.sparsemax(logits)
        weights = np.arange(6.0)
        return shares, tf.gradients(shares * weights, logits)[0]

    shares, slope = run(build)
    for row, found in zip(shares, slope, strict=True):
        weights = np.arange(6.0) * (row > 0)
        wanted = np.where(row > 0, weights - weights.sum() / (row > 0).sum(), 0)
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_a_class_that_is_excluded_costs_nothing() -> None:
    def build() -> Any:
        logits = np.array([[0.5, -np.inf, 0.3]])
        shares = tf.contrib.sparsemax.sparsemax(logits)
        return tf.contrib.sparsemax.sparsemax_loss(logits, shares, [[1.0, 0.0, 0.0]])

    np.testing.assert_allclose(run(build), [0.16])
