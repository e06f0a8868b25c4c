"""The values of ragged tensors that no result depends on have a gradient of zeros.

In TensorFlow 2.21, some of these gradients have the wrong size, or values of other rows, or values
that nothing has set.
"""

from typing import Any

import numpy as np
import pytest

import capstan as tf

VALUES = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8], [9, 10]], np.float32)
SPLITS = np.array([0, 2, 2, 5])
DEEP = [np.array([0, 2, 3]), np.array([0, 1, 3, 5])]
DEEPER = [np.array([0, 1, 3]), np.array([0, 1, 2, 4]), np.array([0, 1, 3, 3, 5])]


def encoded(splits: Any, values: Any, *, batched: bool) -> Any:
    return tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=splits, rt_dense_values=values, batched_input=batched
    )


def decoded(variants: Any, rank: int) -> Any:
    found = tf.raw_ops.RaggedTensorFromVariant(
        encoded_ragged=variants,
        input_ragged_rank=-1,
        output_ragged_rank=rank,
        Tvalues=tf.float32,
        Tsplits=tf.int64,
    )
    return found.output_dense_values


def gradient_of(y: Any, x: Any) -> list[Any]:
    (found,) = tf.gradients(y * 2.0, x)
    with tf.Session() as session:
        return session.run(found).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("splits", [[], [SPLITS], DEEP], ids=len)
def test_a_variant_that_is_not_decoded(splits: list[Any]) -> None:
    with tf.Graph().as_default():
        used, unused = tf.constant(VALUES), tf.constant(VALUES)
        variants = tf.stack([encoded(splits, each, batched=False) for each in (used, unused)])
        y = decoded(variants[0], len(splits))
        assert gradient_of(y, used) == np.full((5, 2), 2.0).tolist()
        assert gradient_of(y, unused) == np.zeros((5, 2)).tolist()


@pytest.mark.parametrize("splits", [[SPLITS], DEEP, DEEPER], ids=len)
@pytest.mark.parametrize("row", [0, 1])
def test_the_rows_that_are_not_decoded(splits: list[Any], row: int) -> None:
    start, limit = splits[0][row : row + 2]
    for inner in splits[1:]:
        start, limit = inner[[start, limit]]
    expected = np.zeros((5, 2))
    expected[start:limit] = 2.0
    with tf.Graph().as_default():
        x = tf.constant(VALUES)
        variants = encoded(splits, x, batched=True)
        y = decoded(variants[row : row + 1], len(splits))
        assert gradient_of(y, x) == expected.tolist()
