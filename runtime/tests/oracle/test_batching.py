"""A function whose calls are joined gives TensorFlow's results and errors."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)
FUNCTIONS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "one result": (lambda tf, x: x * 2.0, ROWS),
    "two results": (lambda tf, x: (x + 1.0, tf.reduce_sum(x, 1)), ROWS),
    "padded": (lambda tf, x: x + tf.reduce_sum(x), ROWS),
    "a scalar": (lambda tf, x: x, np.float32(1)),
    "too many rows": (lambda tf, x: x, np.zeros([5, 2], np.float32)),
    "no axes": (lambda tf, x: tf.reduce_sum(x), ROWS),
    "other rows": (lambda tf, x: tf.concat([x, x], 0), ROWS),
    "an error": (lambda tf, x: tf.check_numerics(x / 0.0, "an error"), ROWS),
}


def outcome(tf: Any, function: Callable[[Any, Any], Any], given: Any) -> list[Any]:
    """Return the values of the results, or the class of the error.

    TensorFlow 1.15 returns a list of results. Later versions return what the function returns.
    """
    with tf.Graph().as_default(), tf.Session() as session:
        decorate = tf.nondifferentiable_batch_function(1, 4, 0, allowed_batch_sizes=[1, 4])
        results = decorate(lambda x: function(tf, x))(tf.placeholder_with_default(given, None))
        tensors = list(results) if isinstance(results, list | tuple) else [results]
        try:
            return [each.tolist() for each in session.run(tensors)]
        except tf.errors.OpError as error:
            return [type(error).__name__]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_the_rows_of_its_arguments(v1: Any, name: str) -> None:
    assert outcome(capstan, *FUNCTIONS[name]) == outcome(v1, *FUNCTIONS[name])


def test_a_batch_of_one_step_is_that_of_tensorflow(v1: Any) -> None:
    def values(tf: Any) -> list[Any]:
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(ROWS)
            made = tf.raw_ops.Batch(
                in_tensors=[x, tf.constant(["a", "b", "c"])], num_batch_threads=1,
                max_batch_size=4, batch_timeout_micros=0, grad_timeout_micros=10**7,
                allowed_batch_sizes=[2, 4],
            )  # fmt: skip
            rows, words = made.batched_tensors
            options = {"batch_index": made.batch_index, "id": made.id}
            result = tf.raw_ops.Unbatch(batched_tensor=rows * 2.0, timeout_micros=10**7, **options)
            joined = tf.raw_ops.UnbatchGrad(original_input=rows, grad=x, **options)
            index = made.batch_index[:, 1:]
            found = session.run([rows, words, index, result, joined])
            shapes = [each.shape.as_list() for each in (rows, words, made.batch_index, result)]
            return [*(each.tolist() for each in found), *shapes]

    assert values(capstan) == values(v1)
