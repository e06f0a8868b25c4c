"""Programs make classes of linear operators, whose static shapes are TensorShapes."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

MATRIX = np.arange(6.0).reshape(2, 3)


class Wrapped(tf.linalg.LinearOperator):  # type: ignore[name-defined,misc]
    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        super().__init__(matrix.dtype)

    def _shape(self) -> Any:
        return self.matrix.shape

    def _shape_tensor(self) -> Any:
        return tf.shape(self.matrix)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return tf.matmul(self.matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)


@pytest.mark.parametrize("shape", [None, [None, None], [2, None], [2, 3]])
def test_a_class_of_a_program_may_not_know_its_shape(shape: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        operator = Wrapped(tf.placeholder_with_default(MATRIX, shape))
        known = tf.TensorShape(shape)
        assert (
            operator.shape.as_list() == known.as_list() if shape else operator.shape.ndims is None
        )
        assert operator.batch_shape.ndims == (None if shape is None else 0)
        assert operator.tensor_rank == known.ndims
        assert operator.range_dimension.value == (shape[0] if shape else None)
        found = session.run(
            [
                *(operator.to_dense(), operator.matvec(np.ones(3)), operator.shape_tensor()),
                *(operator.batch_shape_tensor(), operator.domain_dimension_tensor()),
                operator.tensor_rank_tensor(),
            ]
        )
    for value, expected in zip(found, [MATRIX, MATRIX.sum(1), [2, 3], [], 3, 2], strict=True):
        np.testing.assert_array_equal(value, expected)
