"""tf.contrib.losses.mean_pairwise_squared_error."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

RANDOM = np.random.default_rng(2)
LABELS, FOUND = RANDOM.normal(size=(2, 3, 4)).astype(np.float32)


def mean_of_pairs(errors: Any, count: float) -> float:
    return float(2 * np.sum(errors**2) / count - 2 * np.sum(errors) ** 2 / count**2)


@pytest.mark.parametrize("weights", [1.0, 0.5, 0.0, [1.0, 0.0, 2.0]])
def test_pairs_of_equal_elements_count_too(weights: Any) -> None:
    expected = 0.0
    for row, weight in zip(FOUND - LABELS, np.broadcast_to(weights, 3), strict=True):
        pairs = (row[:, None] - row) ** 2
        assert mean_of_pairs(row, 4) == pytest.approx(pairs.mean(), rel=1e-4)
        expected += weight * pairs.mean()
    with tf.Graph().as_default(), tf.Session() as session:
        loss = tf.contrib.losses.mean_pairwise_squared_error(FOUND, LABELS, weights)
        assert tf.get_collection(tf.GraphKeys.LOSSES) == [loss]
        assert session.run(loss) == pytest.approx(expected, rel=1e-4)


def test_shapes_that_differ_are_refused() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="are incompatible"):
            tf.contrib.losses.mean_pairwise_squared_error(FOUND, LABELS[:2])
        unknown = tf.placeholder(tf.float32)
        with pytest.raises(ValueError, match="ndims cannot be None"):
            tf.contrib.losses.mean_pairwise_squared_error(unknown, unknown)
