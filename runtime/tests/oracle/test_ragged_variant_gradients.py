"""Gradients pass through ragged tensors in variants as in TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

SPLITS = np.array([0, 2, 2, 5])
DEEP = [np.array([0, 2, 2, 3]), np.array([0, 2, 3, 5])]
VALUES = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8], [9, 10]], np.float32)


def encoded(tf: Any, splits: Any, values: Any, *, batched: bool) -> Any:
    return tf.raw_ops.RaggedTensorToVariant(
        rt_nested_splits=splits, rt_dense_values=values, batched_input=batched
    )


def decoded(tf: Any, variants: Any, rank: int, before: int = -1) -> Any:
    found = tf.raw_ops.RaggedTensorFromVariant(
        encoded_ragged=variants,
        input_ragged_rank=before,
        output_ragged_rank=rank,
        Tvalues=tf.float32,
        Tsplits=tf.int64,
    )
    return found.output_dense_values


def squares(tf: Any, splits: Any, *, batched: bool) -> Any:
    x = tf.constant(VALUES)
    variants = encoded(tf, splits, tf.square(x), batched=batched)
    y = decoded(tf, variants, len(splits))
    return [y, *tf.gradients(y * VALUES[::-1], x)]


def without_splits(tf: Any) -> Any:
    x = tf.constant(VALUES)
    y = decoded(tf, encoded(tf, [], x * 3.0, batched=False), 0)
    return [y, *tf.gradients(y * VALUES, x)]


def of_dense_rows(tf: Any) -> Any:
    """Encode the rows of a tensor, and read them as a ragged tensor."""
    x = tf.constant(VALUES)
    y = decoded(tf, encoded(tf, [], tf.square(x), batched=True), 1, 0)
    return [y, *tf.gradients(y * np.arange(10, dtype=np.float32), x)]


def of_numbers(tf: Any) -> Any:
    x = tf.placeholder_with_default(VALUES[0], None)
    return [decoded(tf, encoded(tf, [], x, batched=True), 1, 0)]


def of_no_rows(tf: Any) -> Any:
    x = tf.placeholder_with_default(VALUES[:0], None)
    return [tf.shape(encoded(tf, [], x, batched=True))]


def of_a_scalar(tf: Any) -> Any:
    x = tf.placeholder_with_default(np.float32(1), None)
    return [tf.shape(encoded(tf, [], x, batched=True))]


def of_some_rows(tf: Any) -> Any:
    """Read two of three rows. The gradient of the first row is missing."""
    x = tf.constant(VALUES)
    variants = encoded(tf, [SPLITS], x * 2.0, batched=True)
    y = decoded(tf, variants[1:], 1)
    return [y, *tf.gradients(y * VALUES[2:], x)]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "one variant": lambda tf: squares(tf, [SPLITS], batched=False),
    "dense rows": of_dense_rows,
    "no rows": of_no_rows,
    "a batch": lambda tf: squares(tf, [SPLITS], batched=True),
    "a deep batch": lambda tf: squares(tf, DEEP, batched=True),
    "one deep variant": lambda tf: squares(tf, DEEP, batched=False),
    "no splits": without_splits,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_pass_through_variants(v1: Any, tasks: genuine.Tasks, name: str) -> None:
    check(PROGRAMS[name], (v1, ""), (capstan, ""), (v1, tasks.target()))


def test_a_row_without_a_gradient_has_zeros(v1: Any, tasks: genuine.Tasks) -> None:
    check(of_some_rows, (v1, ""), (capstan, ""), (v1, tasks.target()))


@pytest.mark.parametrize("program", [of_numbers, of_a_scalar])
def test_rows_have_axes(v1: Any, program: Callable[[Any], Any]) -> None:
    for tf in (v1, capstan):
        with tf.Graph().as_default():
            fetches = program(tf)
            with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
                session.run(fetches)


def check(program: Callable[[Any], Any], *sessions: tuple[Any, str]) -> None:
    """Check that a program has the same values in all sessions: a module, and the target."""
    results = []
    for tf, target in sessions:
        with tf.Graph().as_default(), tf.device("/job:worker/task:0" if target else None):
            fetches = program(tf)
            with tf.Session(target) as session:
                results.append(session.run(fetches))
    for found in results[1:]:
        for value, expected in zip(found, results[0], strict=True):
            np.testing.assert_array_equal(value, expected)
