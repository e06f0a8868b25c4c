"""Columns that share a table of embeddings."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

columns = tf.feature_column


def ids(name: str, size: int = 4) -> Any:
    return columns.categorical_column_with_identity(name, size)


def test_two_columns_look_into_one_table_of_parts() -> None:
    made = columns.shared_embedding_columns([ids("b"), ids("a")], 2, trainable=False)
    assert [column.name for column in made] == ["b_shared_embedding", "a_shared_embedding"]
    with tf.variable_scope("m", partitioner=tf.fixed_size_partitioner(2)):
        layer = columns.input_layer({"a": [[1]], "b": [[1]]}, made)
    assert [variable.op.name for variable in tf.global_variables()] == [
        f"m/input_layer/a_b_shared_embedding/embedding_weights/part_{part}" for part in range(2)
    ]
    assert not tf.trainable_variables()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(layer)
    np.testing.assert_array_equal(found[:, :2], found[:, 2:])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: columns.shared_embedding_columns([ids("a"), ids("b", 5)], 2), "same number of"),
        (
            lambda: columns.shared_embedding_columns(
                [ids("a"), columns.categorical_column_with_hash_bucket("b", 4)], 2
            ),
            "must have the same type",
        ),
        (lambda: columns.shared_embedding_columns([columns.numeric_column("x")], 2), "subclasses"),
        (lambda: columns.shared_embedding_columns([ids("a")], 0), "Invalid dimension 0"),
        (lambda: columns.shared_embedding_columns([ids("a")], 2, initializer=3), "callable"),
        (lambda: columns.shared_embedding_columns([ids("a")], 2, ckpt_to_load_from="x"), "both"),
    ],
)
def test_columns_that_cannot_share_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_collection_with_other_variables_is_refused() -> None:
    made = columns.shared_embedding_columns(
        [ids("a")], 2, shared_embedding_collection_name="tables"
    )
    tf.add_to_collection("tables", tf.Variable(tf.zeros([3, 2])))
    with pytest.raises(ValueError, match="of unexpected shape"):
        columns.input_layer({"a": [[1]]}, made)
    tf.add_to_collection("tables", tf.Variable(1.0))
    with pytest.raises(ValueError, match="can only contain one variable"):
        columns.input_layer({"a": [[1]]}, made)
