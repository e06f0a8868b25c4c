"""Sparse tensors are built, fed and fetched as in TensorFlow."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

VALUE = tf.SparseTensorValue(np.array([[0, 1], [2, 0]]), np.float32([1.5, 2.5]), np.array([3, 2]))


def check(found: tf.SparseTensorValue) -> None:
    assert isinstance(found, tf.SparseTensorValue)
    for part, expected in zip(found, VALUE, strict=True):
        np.testing.assert_array_equal(part, expected)


def test_a_sparse_tensor_has_a_static_shape_and_is_fetched_as_a_value():
    sparse = tf.SparseTensor([[0, 1], [2, 0]], [1.5, 2.5], [3, 2])
    assert (sparse.shape.as_list(), sparse.dtype) == ([3, 2], tf.float32)
    assert sparse.indices.op.name == "SparseTensor/indices"
    assert sparse.dense_shape.dtype == tf.int64
    with tf.Session() as session:
        check(session.run(sparse))
        check(session.run({"a": [sparse]})["a"][0])
        check(sparse.eval(session=session))
        check(session.run(tf.SparseTensor.from_value(VALUE)))


@pytest.mark.parametrize("shape", [None, [None, 2], [3, 2]])
def test_a_sparse_placeholder_is_fed_a_value_or_a_triple(shape: list[int | None] | None):
    fed = tf.sparse_placeholder(tf.float32, shape, name="fed")
    assert fed.values.op.name == "fed/values"
    assert fed.indices.shape.as_list() == [None, None if shape is None else 2]
    total = tf.reduce_sum(fed.values)
    with tf.Session() as session:
        for value in (VALUE, tuple(VALUE)):
            check(session.run(fed, {fed: value}))
            assert session.run(total, {fed: value}) == 4


@pytest.mark.parametrize(
    "indices, values, shape",
    [([0, 1], [1.0, 2.0], [3, 2]), ([[0, 1]], [1.0, 2.0], [3, 2]), ([[0, 1]], [1.0], [3])],
)
def test_parts_of_a_sparse_tensor_that_do_not_fit_are_refused(
    indices: list[object], values: list[float], shape: list[int]
):
    with pytest.raises(ValueError, match=r"[Ss]hape|[Dd]imension"):
        tf.SparseTensor(indices, values, shape)


def test_each_value_is_kept_or_not() -> None:
    with pytest.raises(ValueError, match=r"Shapes \(1,\) and \(2,\) are incompatible"):
        tf.sparse_retain(tf.convert_to_tensor_or_sparse_tensor(VALUE), [True])


def test_a_value_converts_to_a_sparse_tensor():
    converted = tf.convert_to_tensor_or_sparse_tensor(VALUE)
    assert isinstance(converted, tf.SparseTensor)
    assert tf.convert_to_tensor_or_sparse_tensor(converted) is converted
    assert isinstance(tf.convert_to_tensor_or_sparse_tensor([1.0]), tf.Tensor)
    with pytest.raises(RuntimeError, match="requested = int32, actual = float32"):
        tf.convert_to_tensor_or_sparse_tensor(converted, tf.int32)
    with pytest.raises(TypeError, match="Neither a SparseTensor nor SparseTensorValue"):
        tf.SparseTensor.from_value([1.0])


@pytest.mark.parametrize("kind", ["float32", "int32"])
def test_a_sparse_tensor_is_multiplied_and_divided_by_a_dense_one(kind: str) -> None:
    sparse = tf.SparseTensor([[0, 1], [2, 0]], tf.constant([6, 3], kind), [3, 2])
    row, column = tf.constant([2, 4], kind), tf.constant([[1], [2], [3]], kind)
    products = [sparse * row, row * sparse, sparse * column, sparse * 2]
    quotients = [sparse / row, sparse / column, sparse / 2]
    assert [each.op.name for each in products[:2]] == ["mul", "mul_1"]
    assert {each.dtype for each in quotients} == {tf.float32 if kind == "float32" else tf.float64}
    with tf.Session() as session:
        found = session.run([*products, *quotients])
    assert [each.values.tolist() for each in found] == [
        [24, 6], [24, 6], [6, 9], [12, 6], [1.5, 1.5], [6, 1], [3, 1.5]
    ]  # fmt: skip
    assert all(each.indices.tolist() == [[0, 1], [2, 0]] for each in found)


def test_a_sparse_tensor_is_no_divisor() -> None:
    sparse = tf.SparseTensor([[0]], [1.0], [1])
    with pytest.raises(TypeError):
        tf.constant([1.0]) / sparse


@pytest.mark.parametrize(
    ("is_list", "size", "error", "message"),
    [
        (False, [5], TypeError, "vocab_size has to be a Tensor or Python int. Found .*list"),
        (False, 5.0, TypeError, "vocab_size has to be a Tensor or Python int. Found .*float"),
        (True, 5, TypeError, "vocab_size has to be a list of Tensors or Python ints. Found .*int"),
        (True, [5.0], TypeError, "vocab_size has to be a list of .* Found .*float"),
        (True, [5, 6], ValueError, "sp_ids and vocab_size have to have equal lengths."),
    ],
)
def test_the_sizes_of_merged_rows_fit_the_ids(
    is_list: bool, size: Any, error: type[Exception], message: str
) -> None:
    ids = tf.SparseTensor([[0, 0], [1, 0]], [1, 2], [2, 1])
    with pytest.raises(error, match=message):
        tf.sparse_merge([ids] if is_list else ids, ids, size)


@pytest.mark.parametrize("size", [[5], [5, 6]])
@pytest.mark.parametrize("is_list", [False, True])
def test_a_size_of_merged_rows_is_a_scalar(is_list: bool, size: list[int]) -> None:
    ids = tf.SparseTensor([[0, 0], [1, 0]], [1, 2], [2, 1])
    vector = tf.constant(size)
    with pytest.raises(ValueError, match="rank"):
        tf.sparse_merge([ids] if is_list else ids, ids, [vector] if is_list else vector)
    with tf.Session() as session:
        merged = session.run(tf.sparse_merge([ids], ids, [tf.constant(5, tf.int32)]))
    assert merged.dense_shape.tolist() == [2, 5]
