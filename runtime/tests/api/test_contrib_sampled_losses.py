"""The losses of `tf.contrib.nn` over drawn classes."""

from typing import Any

import numpy as np
import pytest
from scipy import special

import capstan as tf

pytestmark = pytest.mark.e2e

RNG = np.random.default_rng(2)
WEIGHTS, BIASES = RNG.normal(size=(7, 3)), RNG.normal(size=7)
INPUTS, LABELS = RNG.normal(size=(4, 3)), np.array([[0], [6], [2], [1]])
DRAWN = np.array([5, 3, 1, 4])
COUNTS = np.full((4, 1), 0.5), np.array([0.2, 0.4, 0.6, 0.8])


def expected(chosen: Any) -> Any:
    """Return the losses over the true class and the chosen ones of the drawn classes."""
    logits = INPUTS @ WEIGHTS.T + BIASES
    true = np.take_along_axis(logits, LABELS, 1) - np.log(COUNTS[0])
    others = (logits - np.log(np.ones(7)))[:, DRAWN[chosen]] - np.log(COUNTS[1][chosen])
    others = np.where(DRAWN[chosen] == LABELS, -np.inf, others)
    joined = np.concatenate([true, others], 1)
    return special.logsumexp(joined, 1) - joined[:, 0]


def run(fetch: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetch)


def test_one_true_class_is_compared_with_drawn_ones() -> None:
    drawn = DRAWN.astype(np.int64), *COUNTS
    found = tf.contrib.nn.sampled_sparse_softmax_loss(
        tf.constant(WEIGHTS), tf.constant(BIASES), LABELS, INPUTS, 4, 7, drawn
    )
    np.testing.assert_allclose(run(found), expected(np.arange(4)), rtol=1e-6)


@pytest.mark.parametrize("temperature", [0.3, 5.0])
@pytest.mark.parametrize("strategy", ["div", "mod"])
def test_the_most_probable_classes_are_chosen(temperature: float, strategy: str) -> None:
    parts = [WEIGHTS[:4], WEIGHTS[4:]] if strategy == "div" else [WEIGHTS[::2], WEIGHTS[1::2]]
    found = tf.contrib.nn.rank_sampled_softmax_loss(
        [tf.constant(part) for part in parts], tf.constant(BIASES), LABELS, INPUTS, 4, 2, 7, 1,
        (DRAWN.astype(np.int64), *COUNTS), temperature, True, strategy,
    )  # fmt: skip
    logits = (INPUTS @ WEIGHTS.T + BIASES)[:, DRAWN] / temperature
    chosen = np.argsort(special.logsumexp(logits, 0))[-2:]
    np.testing.assert_allclose(run(found), expected(chosen), rtol=1e-6)


def test_the_default_sampler_draws_classes() -> None:
    weights, biases, inputs = (each.astype(np.float32) for each in (WEIGHTS, BIASES, INPUTS))
    weights = tf.Variable(weights)
    loss = tf.contrib.nn.rank_sampled_softmax_loss(
        weights, tf.constant(biases), tf.constant(LABELS), inputs, 5, 2, 7, 1, None, 1.0, True,
        "mod",
    )  # fmt: skip
    assert loss.shape.as_list() == [4]
    assert np.isfinite(run([loss, *tf.gradients(loss, weights)])[0]).all()


@pytest.mark.parametrize(
    ("sampled", "resampled", "strategy", "message"),
    [
        (8, 2, "mod", r"num_sampled \(8\) cannot be greater than num_classes \(7\)"),
        (4, 4, "mod", r"num_resampled \(4\) must be less than num_sampled \(4\)"),
        (4, 2, "other", "unsupported partition_strategy"),
    ],
)
def test_numbers_must_fit(sampled: int, resampled: int, strategy: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.contrib.nn.rank_sampled_softmax_loss(
            WEIGHTS, BIASES, LABELS, INPUTS, sampled, resampled, 7, 1, None, 1.0, True, strategy
        )
