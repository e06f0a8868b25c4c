"""Sparse tensors are added, compared and normalized as in TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare, outcome

import capstan

pytestmark = genuine.MARKS

SHAPE = (2, 3)
LEFT, RIGHT = [[0, 1], [1, 0], [1, 2]], [[0, 0], [0, 1], [1, 2]]


def left(v1: Any, dtype: Any = np.float32, shape: Any = SHAPE) -> Any:
    return v1.SparseTensor(LEFT, v1.constant(np.array([1, -2, 3], dtype)), shape)


def right(v1: Any, dtype: Any = np.float32, shape: Any = SHAPE) -> Any:
    return v1.SparseTensor(RIGHT, v1.constant(np.array([4, -1, 2], dtype)), shape)


def parts(sparse: Any) -> list[Any]:
    return [sparse.indices, sparse.values, sparse.dense_shape]


def fed(v1: Any, value: Any) -> Any:
    return v1.placeholder_with_default(value, None)


def repeated(v1: Any, places: Any) -> Any:
    return v1.SparseTensor(places, v1.range(1, len(places) + 1), [4])


def empty(v1: Any) -> Any:
    return v1.SparseTensor(np.zeros([0, 2], np.int64), np.zeros([0], np.float32), SHAPE)


def test_sums_and_extremes_are_tensorflows(v1: Any) -> None:
    dense = np.arange(6, dtype=np.float32).reshape(SHAPE)
    compare(
        v1,
        [
            *(
                lambda v1, limit=limit: parts(v1.sparse_add(left(v1), right(v1), limit))
                for limit in (None, 0, 0.5, 5, 6)
            ),
            lambda v1: parts(v1.sparse_add(left(v1, np.int64), right(v1, np.int64), thresh=1)),
            lambda v1: parts(v1.sparse_add(left(v1), empty(v1))),
            lambda v1: parts(v1.sparse.add(empty(v1), empty(v1))),
            lambda v1: parts(
                v1.sparse_add(repeated(v1, [[0], [0], [2]]), repeated(v1, [[0], [2], [2], [2]]))
            ),
            lambda v1: v1.sparse_add(left(v1), dense),
            lambda v1: v1.sparse_add(dense, right(v1)),
            lambda v1: v1.sparse_add(repeated(v1, [[3], [0], [3]]), [1, 2, 3, 4]),
            *(
                lambda v1, name=name, dtype=dtype: parts(
                    getattr(v1, name)(left(v1, dtype), right(v1, dtype))
                )
                for name in ("sparse_maximum", "sparse_minimum")
                for dtype in (np.float32, np.int64, np.float16)
            ),
            lambda v1: parts(v1.sparse_maximum(empty(v1), right(v1))),
            lambda v1: parts(v1.sparse_softmax(empty(v1))),
            lambda v1: parts(v1.sparse_add(left(v1, shape=fed(v1, np.int64([2, 3]))), right(v1))),
        ],
    )


def test_a_softmax_is_tensorflows(v1: Any) -> None:
    for shape, places in ((SHAPE, LEFT), ((2, 1, 3), [[0, 0, 2], [1, 0, 1], [0, 0, 0]])):
        values = []
        for tf in (v1, capstan):
            with tf.Graph().as_default(), tf.Session() as session:
                sparse = tf.SparseTensor(places, tf.constant([1.0, -2.0, 3.0]), shape)
                result = tf.sparse_softmax(sparse)
                slope = tf.gradients(result.values * [1.0, 2.0, 3.0], sparse.values)[0]
                values.append(session.run([result.values, slope]))
        np.testing.assert_allclose(values[1], values[0], rtol=1e-6)


def test_gradients_are_tensorflows(v1: Any) -> None:
    def of_sum(v1: Any) -> Any:
        a, b = left(v1), right(v1)
        values = v1.sparse_add(a, b, 0.5).values
        return v1.gradients(values * values, [a.values, b.values])

    def of_dense_sum(v1: Any) -> Any:
        a, b = left(v1), v1.ones(SHAPE)
        total = v1.sparse_add(a, b)
        return v1.gradients(total * total, [a.values, b])

    for case in (of_sum, of_dense_sum):
        assert outcome(capstan, case) == outcome(v1, case)


@pytest.mark.parametrize(
    "case",
    [
        lambda v1: v1.sparse_add([1], [2]),
        lambda v1: v1.sparse_add(left(v1), right(v1), 1, thresh=1),
        lambda v1: parts(
            v1.sparse_add(
                left(v1, shape=fed(v1, np.int64([2, 3]))),
                right(v1, shape=fed(v1, np.int64([2, 4]))),
            )
        ),
        lambda v1: parts(v1.sparse_add(left(v1), right(v1), fed(v1, np.float32([1])))),
        lambda v1: v1.sparse_add(left(v1), fed(v1, np.ones([2, 4], np.float32))),
        lambda v1: v1.sparse_add(left(v1), fed(v1, np.ones([6], np.float32))),
        lambda v1: v1.sparse_add(
            v1.SparseTensor([[0, 1], [1, 5]], [1, 2], SHAPE), np.ones(SHAPE, np.int32)
        ),
        lambda v1: parts(
            v1.sparse_maximum(
                left(v1, shape=fed(v1, np.int64([2, 3]))),
                right(v1, shape=fed(v1, np.int64([2, 4]))),
            )
        ),
        lambda v1: parts(v1.sparse_softmax(repeated_floats(v1))),
    ],
)
def test_errors_are_tensorflows(v1: Any, case: Any) -> None:
    found = outcome(capstan, case)
    assert isinstance(found, tuple)
    assert found == outcome(v1, case)


def repeated_floats(v1: Any) -> Any:
    return v1.SparseTensor([[0], [2]], [1.0, 2.0], fed(v1, np.int64([4])))


def test_a_program_of_tensorflow_runs_on_our_servers(v1: Any, tasks: genuine.Tasks) -> None:
    raw, fetches = genuine.tensorflow().raw_ops, []
    a, b = left(v1, np.float64), right(v1, np.float64)
    dense = v1.constant(np.arange(1, 4, dtype=np.float64))
    column = v1.constant([[2.0], [5.0]], v1.float64)
    for kind in (raw.SparseDenseCwiseMul, raw.SparseDenseCwiseDiv, raw.SparseDenseCwiseAdd):
        for other in (dense, column, v1.ones(SHAPE, v1.float64) * column):
            y = kind(sp_indices=a.indices, sp_values=a.values, sp_shape=a.dense_shape, dense=other)
            fetches.append(y)
            if kind is not raw.SparseDenseCwiseAdd:
                fetches += v1.gradients(y * y, [a.values, other])
    total = v1.sparse_add(a, b)
    normal = v1.sparse_softmax(total)
    fetches += [*parts(v1.sparse_maximum(a, b)), *parts(v1.sparse_minimum(a, b)), *parts(normal)]
    fetches += v1.gradients(v1.sin(normal.values), [a.values, b.values])
    with v1.Session() as local, v1.Session(tasks.target()) as session:
        expected, found = local.run(fetches), session.run(fetches)
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-9, strict=True)


@pytest.mark.parametrize("adjoint_a, adjoint_b", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("kind", [np.float64, np.complex64, np.complex128])
def test_products_with_a_dense_matrix_have_tensorflows_values_and_gradients(
    v1: Any, kind: Any, adjoint_a: int, adjoint_b: int
) -> None:
    random = np.random.RandomState(1)

    def drawn(*shape: int) -> Any:
        imaginary = 1j * random.normal(size=shape) if issubclass(kind, np.complexfloating) else 0
        return (random.normal(size=shape) + imaginary).astype(kind)

    values, dense = drawn(3), drawn(*((4, 3 - adjoint_a) if adjoint_b else (3 - adjoint_a, 4)))
    weights = drawn(3 if adjoint_a else 2, 4)

    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            x, b = tf.constant(values), tf.constant(dense)
            a = tf.SparseTensor([[0, 1], [0, 2], [1, 0]], x, [2, 3])
            y = tf.sparse_tensor_dense_matmul(a, b, bool(adjoint_a), bool(adjoint_b))
            return session.run([y, *tf.gradients(tf.abs(y * weights + y * y), [x, b])])

    for value, wanted in zip(run(capstan), run(v1), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-4, strict=True)
