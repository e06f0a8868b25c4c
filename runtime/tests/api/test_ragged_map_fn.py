"""`map_fn` calls a function for each row of a ragged tensor."""

from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.ops.ragged import ragged_map_ops, ragged_tensor

ROWS = [[1, 2, 3], [], [4], [5, 6]]
NESTED = [[[1], [2, 3]], [], [[], [4, 5, 6]]]


def value(given: Any) -> Any:
    with tf.Session() as session:
        found = session.run(given)
    return found.to_list() if hasattr(found, "to_list") else found.tolist()


def vectors(ragged_rank: int = 1, kind: Any = tf.int32) -> Any:
    return ragged_tensor.RaggedTensorType(kind, ragged_rank)


def test_results_of_the_same_shape_are_stacked() -> None:
    for map_fn in (ragged_map_ops.map_fn, tf.map_fn):
        sums = map_fn(tf.reduce_sum, tf.ragged.constant(ROWS), dtype=tf.int32)
        assert value(sums) == [6, 0, 4, 11]
    assert value(ragged_map_ops.map_fn(tf.reduce_sum, tf.ragged.constant(ROWS))) == [6, 0, 4, 11]
    assert value(ragged_map_ops.map_fn(lambda x: x * 2, tf.constant([[1, 2]]))) == [[2, 4]]


@pytest.mark.parametrize("kind", [vectors(), tf.RaggedTensorSpec([None], tf.int32, 0)])
def test_results_of_different_lengths_are_joined(kind: Any) -> None:
    for map_fn in (ragged_map_ops.map_fn, tf.map_fn):
        doubled = map_fn(lambda x: x * 2, tf.ragged.constant(ROWS), dtype=kind)
        assert value(doubled) == [[2, 4, 6], [], [8], [10, 12]]
        made = map_fn(tf.range, tf.constant([2, 0, 3]), dtype=kind)
        assert value(made) == [[0, 1], [], [0, 1, 2]]
        assert made.ragged_rank == 1


def test_results_are_by_default_like_the_rows() -> None:
    assert value(tf.map_fn(lambda x: x + 1, tf.ragged.constant(ROWS))) == [
        [2, 3, 4], [], [5], [6, 7],
    ]  # fmt: skip
    assert value(tf.map_fn(lambda x: x + 1, tf.ragged.constant(NESTED))) == [
        [[2], [3, 4]], [], [[], [5, 6, 7]],
    ]  # fmt: skip
    pairs = tf.ragged.constant([[[1, 2]], [], [[3, 4], [5, 6]]], ragged_rank=1)
    assert value(tf.map_fn(lambda x: x, pairs)) == [[[1, 2]], [], [[3, 4], [5, 6]]]


def test_functions_take_and_return_structures() -> None:
    given = {"a": tf.ragged.constant(ROWS), "b": tf.constant([10, 20, 30, 40])}
    moved, counts = tf.map_fn(
        lambda x: (x["a"] + x["b"], tf.size(x["a"])), given, dtype=(vectors(), tf.int32)
    )
    assert value(moved) == [[11, 12, 13], [], [34], [45, 46]]
    assert value(counts) == [3, 0, 1, 2]


def test_a_ragged_tensor_without_rows_gives_none() -> None:
    empty = tf.ragged.constant([], tf.int32, ragged_rank=1)
    assert value(tf.map_fn(lambda x: x + 1, empty)) == []


def test_gradients_reach_the_rows() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    rows = tf.RaggedTensor.from_row_lengths(x, [2, 0, 1])
    squares = tf.map_fn(tf.square, rows)
    (slope,) = tf.gradients(squares.flat_values, x)
    assert np.allclose(value(slope), [2, 4, 6])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (vectors(2), r"declared ragged rank \(2\) mismatches the result \(1\)"),
        (vectors(1, tf.float32), "declared dtype .*float32.* mismatches the result .*int32"),
    ],
)
def test_a_result_of_another_type_is_refused(kind: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.map_fn(lambda x: x, tf.ragged.constant(ROWS), dtype=kind)


def test_scalars_are_no_rows_of_a_ragged_tensor() -> None:
    with pytest.raises(ValueError, match=r"the scalar .*/Sum:0.*To stack scalars, pass dtype=tf.i"):
        tf.map_fn(tf.reduce_sum, tf.ragged.constant(ROWS))


def test_all_rows_must_have_row_splits_of_one_type() -> None:
    one = tf.ragged.constant(ROWS, row_splits_dtype=tf.int32)
    with pytest.raises(ValueError, match="mismatched row_splits dtypes"):
        tf.map_fn(lambda x: x[0], (one, tf.ragged.constant(ROWS)), dtype=vectors())
    with pytest.raises(TypeError, match="fn must be callable"):
        tf.map_fn(3, one)
