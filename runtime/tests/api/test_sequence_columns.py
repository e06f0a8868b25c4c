"""The inputs of recurrent networks that feature columns make."""

import math
from typing import Any

import clusters
import examples
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import capstan as tf

columns = tf.feature_column
layer = tf.contrib.feature_column.sequence_input_layer

ROWS = np.arange(10, dtype=np.float32).reshape(5, 2) + 1
ids_of_examples = st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=5)


def sparse(examples: list[list[Any]], dtype: Any = tf.int64) -> Any:
    """Return lists of different lengths as a SparseTensor, [batch, longest list]."""
    places = [(row, at) for row, values in enumerate(examples) for at in range(len(values))]
    flat = [value for values in examples for value in values]
    return tf.SparseTensor(
        tf.constant(places, tf.int64, [len(places), 2]),
        tf.constant(flat, dtype, [len(flat)]),
        [len(examples), max(map(len, examples))],
    )


def identity(key: str = "a") -> Any:
    return columns.sequence_categorical_column_with_identity(key, 5)


@pytest.mark.e2e
@hypothesis.settings(max_examples=examples.share(30))
@hypothesis.given(ids_of_examples)
def test_each_step_has_the_vector_of_its_id_and_the_rest_is_zero(examples: list[list[int]]) -> None:
    column = columns.embedding_column(identity(), 2, initializer=tf.constant_initializer(ROWS))
    with tf.Graph().as_default(), tf.Session() as session:
        steps, lengths = layer({"a": sparse(examples)}, [column])
        session.run(tf.global_variables_initializer())
        found, counted = session.run([steps, lengths])
    expected = np.zeros((len(examples), max(map(len, examples)), 2), np.float32)
    for row, ids in enumerate(examples):
        expected[row, : len(ids)] = ROWS[ids]
    np.testing.assert_allclose(found, expected)
    assert counted.tolist() == list(map(len, examples))
    assert counted.dtype == np.int64


@pytest.mark.e2e
@hypothesis.settings(max_examples=examples.share(30))
@hypothesis.given(ids_of_examples, st.integers(1, 3))
def test_a_step_that_lacks_numbers_counts_as_a_step(examples: list[list[int]], size: int) -> None:
    # The batch is so wide that its rows can be divided into steps.
    values = [*examples, [1] * (size * 4)]
    column = columns.sequence_numeric_column("a", size, default_value=9.0)
    with tf.Graph().as_default(), tf.Session() as session:
        steps, lengths = session.run(layer({"a": sparse(values, tf.float32)}, column))
    expected = np.full((len(values), size * 4), 9.0)
    for row, numbers in enumerate(values):
        expected[row, : len(numbers)] = numbers
    np.testing.assert_array_equal(steps, expected.reshape(len(values), 4, size))
    assert lengths.tolist() == [math.ceil(len(numbers) / size) for numbers in values]


def test_several_columns_are_side_by_side_in_the_order_of_their_names() -> None:
    made = [columns.sequence_numeric_column("z"), columns.indicator_column(identity())]
    given = {"a": sparse([[1, 0], [3]]), "z": sparse([[5, 6], [7]], tf.float32)}
    steps, lengths = layer(given, made)
    assert steps.shape.as_list() == [2, 2, 6]
    with tf.Session() as session:
        found, counted = session.run([steps, lengths])
    assert counted.tolist() == [2, 1]
    assert found.tolist() == [
        [[0, 1, 0, 0, 0, 5], [1, 0, 0, 0, 0, 6]], [[0, 0, 0, 1, 0, 7], [0, 0, 0, 0, 0, 0]],
    ]  # fmt: skip


def test_columns_whose_sequences_have_different_lengths_fail_the_step() -> None:
    made = [columns.sequence_numeric_column("z"), columns.indicator_column(identity())]
    given = {"a": sparse([[1, 0], [3, 1]]), "z": sparse([[5, 6], [7]], tf.float32)}
    _, lengths = layer(given, made)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(lengths)


@pytest.mark.parametrize(
    "column, message",
    [
        (columns.numeric_column("a"), "must be of type _SequenceDenseColumn"),
        (identity(), "must be of type _SequenceDenseColumn"),
        (
            columns.indicator_column(columns.categorical_column_with_identity("a", 5)),
            "In indicator_column: a_indicator. categorical_column must be of type",
        ),
        (
            columns.embedding_column(columns.categorical_column_with_identity("a", 5), 2),
            "In embedding_column: a_embedding. categorical_column must be of type",
        ),
    ],
)
def test_a_column_without_sequences_is_refused(column: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        layer({"a": sparse([[1]])}, [column])


def test_numbers_that_are_not_sparse_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must be a SparseTensor\. key: a"):
        layer({"a": [[1.0]]}, columns.sequence_numeric_column("a"))


def test_the_context_of_an_example_stands_behind_each_step() -> None:
    join = tf.contrib.feature_column.concatenate_context_input
    joined = join([[1.0], [2.0]], [[[3.0, 4.0]] * 2, [[5.0, 6.0]] * 2])
    with tf.Session() as session:
        assert session.run(joined).tolist() == [[[3, 4, 1]] * 2, [[5, 6, 2]] * 2]
    for context, steps in (([1.0], [[[1.0]]]), ([[1.0]], [[1.0]]), ([[1]], [[[1.0]]])):
        with pytest.raises(ValueError, match="must have"):
            join(context, steps)


def rows_of_part(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
    """Return the first values of a table, or of a part of it."""
    start = 0 if partition_info is None else partition_info.var_offset[0]
    return tf.constant(ROWS[start : start + shape[0]] / 9, dtype)


def trained(target: str, device: Any, parts: int) -> Any:
    """Return the losses of a model of the sequences that users clicked on, and its table."""
    with tf.Graph().as_default(), tf.device(device):
        shown = columns.categorical_column_with_identity("shown", 5)
        tables = columns.shared_embedding_columns(
            [shown, identity("clicked")], 2, initializer=rows_of_part
        )
        given = {"shown": [1, 4, 2], "clicked": sparse([[1, 2, 0], [], [3]])}
        with tf.variable_scope("m", partitioner=tf.fixed_size_partitioner(parts)):
            advertisement = columns.input_layer(given, tables[:1])
            steps, lengths = layer(given, tables[1:])
        with tf.variable_scope("rnn", initializer=tf.constant_initializer(0.1)):
            cell = tf.nn.rnn_cell.GRUCell(2)
            _, interest = tf.nn.dynamic_rnn(cell, steps, lengths, dtype=tf.float32)
        loss = tf.reduce_sum(tf.square(interest * advertisement - 0.5))
        step = tf.train.AdagradOptimizer(0.1).minimize(loss)
        table = tf.concat([part for part in tf.global_variables() if "/m" in f"/{part.name}"
                           and "Adagrad" not in part.name], 0)  # fmt: skip
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, step])[0] for _ in range(5)]
            return losses, session.run(table)


@pytest.mark.e2e
def test_parameter_servers_train_a_shared_table_in_parts_as_one_process_does() -> None:
    servers = clusters.start(ps=2, worker=1)
    setter = tf.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:0")
    losses, table = trained(servers["worker:0"].target, setter, 2)
    expected_losses, expected = trained("", None, 1)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    np.testing.assert_allclose(table, expected, rtol=1e-5)
    assert losses[-1] < losses[0]
    assert table.shape == (5, 2)
    assert not np.allclose(table, ROWS / 9)
