"""`tf.contrib.metrics.auc_with_confidence_intervals` has the formulas of DeLong et al."""

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import capstan as tf

pytestmark = pytest.mark.e2e

auc_with_confidence_intervals = tf.contrib.metrics.auc_with_confidence_intervals


def expected(labels: Any, predictions: Any, weights: Any, alpha: float, is_logit: bool) -> Any:
    """Compare every positive example with every negative one."""
    positive, negative = predictions[labels == 1], predictions[labels == 0]
    w1, w0 = weights[labels == 1], weights[labels == 0]
    wins = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    places_1, places_0 = wins @ w0 / w0.sum(), w1 @ wins / w1.sum()
    area = w1 @ places_1 / w1.sum()
    variance = sum(
        w @ (places - area) ** 2 / (w.sum() - 1) / w.sum()
        for w, places in ((w1, places_1), (w0, places_0))
    )
    reach = stats.norm.ppf((1 + alpha) / 2) * np.sqrt(variance)
    if not is_logit:
        return area, area - reach, area + reach
    wide = reach / (area * (1 - area))
    return area, *special.expit([special.logit(area) - wide, special.logit(area) + wide])


@pytest.mark.parametrize("is_logit", [True, False])
@pytest.mark.parametrize("alpha", [0.95, 0.5])
@pytest.mark.parametrize("has_weights", [True, False])
def test_the_area_of_all_batches_has_an_interval(
    is_logit: bool, alpha: float, has_weights: bool
) -> None:
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, (3, 40))
    predictions = np.round(rng.random((3, 40)) + 0.3 * labels, 1).astype(np.float32)
    weights = rng.uniform(0.5, 2, (3, 40)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        places = [tf.placeholder(tf.float32, [None]) for _ in range(3)]
        area, update = auc_with_confidence_intervals(
            *places[:2], places[2] if has_weights else None, alpha, is_logit, ["read"], ["change"]
        )
        assert tf.get_collection("read") == [area]
        assert tf.get_collection("change") == [update]
        session.run(tf.local_variables_initializer())
        assert session.run(area) == (0, 0, 0)
        for batch in zip(labels, predictions, weights, strict=True):
            session.run(update, dict(zip(places, batch, strict=True)))
        light = dict(zip(places, ([0, 1], [1, 0], [0.1, 0.1]), strict=True))
        if has_weights:
            session.run(update, light)
        found = session.run(area)
    used = weights if has_weights else np.ones_like(weights)
    wanted = expected(labels.ravel(), predictions.ravel(), used.ravel(), alpha, is_logit)
    np.testing.assert_allclose([found.auc, found.lower, found.upper], wanted, rtol=1e-4)


@pytest.mark.parametrize(
    ("labels", "predictions", "wanted"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], (1, 1, 1)),
        ([[1], [1], [0]], [0.1, 0.2, 0.8], (0, 0, 0)),
        ([1, 1], [0.1, 0.2], (0, 0, 0)),
        ([0, 0], [0.1, 0.2], (0, 0, 0)),
    ],
)
def test_sure_and_unknown_areas_have_no_interval(
    labels: Any, predictions: Any, wanted: Any
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        area, update = auc_with_confidence_intervals(labels, predictions)
        session.run(tf.local_variables_initializer())
        session.run(update)
        np.testing.assert_allclose(session.run(area), wanted, atol=1e-6)


def test_wrong_labels_and_confidences_are_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match=r"alpha must be between 0 and 1; currently 1\.00"):
            auc_with_confidence_intervals([0, 1], [0.1, 0.2], alpha=1)
        labels = tf.placeholder_with_default([0, 2], [2])
        _, update = auc_with_confidence_intervals(labels, [0.1, 0.2])
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="at least one is >1"):
            session.run(update)
