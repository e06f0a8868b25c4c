"""`tf.contrib.nn`: losses with their arguments in the old order, and functions around SELU."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

nn = tf.contrib.nn
LOGITS = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]], np.float32)
LABELS = np.array([[0.0, 1.0, 0.0], [0.5, 0.25, 0.25]], np.float32)


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def test_the_old_order_of_arguments_gives_the_losses() -> None:
    found = [
        nn.deprecated_flipped_softmax_cross_entropy_with_logits(LOGITS, LABELS),
        nn.deprecated_flipped_sigmoid_cross_entropy_with_logits(LOGITS, LABELS),
        nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(LOGITS, [1, 0]),
    ]
    expected = [
        tf.nn.softmax_cross_entropy_with_logits(labels=LABELS, logits=LOGITS),
        tf.nn.sigmoid_cross_entropy_with_logits(labels=LABELS, logits=LOGITS),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1, 0], logits=LOGITS),
    ]
    for one, other in zip(run(found), run(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def test_equal_elements_share_the_gradient_of_the_nth_element() -> None:
    rows = tf.constant([[3.0, 1.0, 3.0, 2.0], [5.0, 5.0, 5.0, 7.0]])
    third, second = nn.nth_element(rows, 2), nn.nth_element(rows, 1, reverse=True)
    (slope,) = tf.gradients(third * [6.0, 3.0], rows)
    found = run([third, second, slope])
    assert [each.tolist() for each in found] == [
        [3, 5], [3, 5], [[3, 0, 3, 0], [1, 1, 1, 0]],
    ]  # fmt: skip


def test_alpha_dropout_keeps_the_mean_and_the_variance() -> None:
    x = tf.random_normal([100, 100], seed=1)
    dropped = run(nn.alpha_dropout(x, 0.7, seed=2))
    assert abs(dropped.mean()) < 0.05
    assert abs(dropped.var() - 1) < 0.05
    values, counts = np.unique(dropped, return_counts=True)
    assert 0.25 < counts.max() / dropped.size < 0.35
    assert values[counts.argmax()] < 0
    assert nn.alpha_dropout(x, 1.0) is x
    with pytest.raises(ValueError, match=r"in the range \(0, 1\], got 0"):
        nn.alpha_dropout(x, 0)


def test_scaled_softplus_is_a_smooth_relu_with_its_gradients() -> None:
    x, alpha = tf.constant([-3.0, 0.5, 8.0]), tf.constant(0.5)
    y = nn.scaled_softplus(x, alpha, clip=6.0)
    smooth = 0.5 * np.log1p(np.exp(np.array([-3.0, 0.5]) / 0.5))
    np.testing.assert_allclose(run(y), [*smooth, 6.0], rtol=1e-5)
    (gradient,) = run(tf.gradients(y, [x]))
    slopes = 1 / (1 + np.exp(-np.array([-3.0, 0.5]) / 0.5))
    np.testing.assert_allclose(gradient, [*slopes, 0.0], rtol=1e-5)
