"""The functions on the bits of integers give TensorFlow's values, and refuse what it refuses."""

import genuine
import numpy as np
import pytest
from oracle_tables import compare

import capstan
from capstan.python.ops import bitwise_ops, gen_bitwise_ops

pytestmark = genuine.MARKS

NUMBERS = np.array([-128, -3, 0, 5, 127], np.int8)


def test_the_functions_of_tf_bitwise_are_tensorflows(v1: object) -> None:
    compare(
        v1,
        [
            lambda tf: tf.bitwise.bitwise_and(NUMBERS, np.int8(6)),
            lambda tf: tf.bitwise.bitwise_or(x=[[1], [8]], y=[2, 4], name="or"),
            lambda tf: tf.bitwise.bitwise_xor(NUMBERS, NUMBERS[::-1].copy()),
            lambda tf: tf.bitwise.invert(NUMBERS),
            lambda tf: tf.bitwise.left_shift(NUMBERS, np.array([0, 1, 7, 8, -1], np.int8)),
            lambda tf: tf.bitwise.right_shift(NUMBERS, np.array([0, 1, 7, 8, -1], np.int8)),
            lambda tf: tf.bitwise.right_shift(NUMBERS.astype(np.uint8), np.uint8(3)),
        ],
    )


def test_operands_that_do_not_fit_are_refused_as_by_tensorflow(v1: object) -> None:
    compare(v1, [lambda tf: tf.bitwise.invert(2.5)])
    with capstan.Graph().as_default(), pytest.raises(ValueError, match="must be equal, but are 2"):
        capstan.bitwise.bitwise_or([1, 2], [1, 2, 3])


def test_the_functions_have_tensorflows_other_names() -> None:
    assert bitwise_ops.bitwise_and is capstan.bitwise.bitwise_and
    assert gen_bitwise_ops.population_count is not None
