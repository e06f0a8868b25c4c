"""What an initializer of a lookup table refuses while the graph is built."""

from typing import Any

import pytest

import capstan as tf


@pytest.mark.parametrize(
    "keys, values",
    [(["a", "b"], [1]), (["a", "b"], [[1, 2]]), (["a", "b"], 1), ([["a", "b"]], [[1, 2]])],
)
def test_an_initializer_takes_two_vectors_of_one_length(keys: Any, values: Any) -> None:
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
    with pytest.raises(ValueError, match="must be two vectors of the same length, but have"):
        tf.lookup.StaticHashTable(initializer, -1)


def test_vectors_of_unknown_length_are_taken() -> None:
    keys = tf.placeholder_with_default(["a", "b"], None)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, [1, 2]), -1)
    with tf.Session() as session:
        session.run(table.initializer)
        assert session.run(table.lookup(tf.constant(["b", "c"]))).tolist() == [2, -1]


def test_a_table_that_never_changes_refuses_to_have_no_keys() -> None:
    empty = tf.lookup.KeyValueTensorInitializer(
        tf.constant([], tf.string), tf.constant([], tf.int64)
    )
    tf.lookup.StaticHashTable(empty, -1)
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="cannot be empty tensors"),
    ):
        session.run(tf.tables_initializer())
