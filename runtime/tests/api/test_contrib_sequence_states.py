"""`tf.contrib.training.batch_sequences_with_states` hands out segments with their states."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

training = tf.contrib.training


def inputs(lengths: Any) -> tuple[Any, Any, Any]:
    """Return the key, the values 10 * number + time, and the number of sequences, once each."""
    number = tf.train.range_input_producer(len(lengths), num_epochs=1, shuffle=False).dequeue()
    length = tf.gather(lengths, number)
    values = tf.cast(10 * number + tf.range(length), tf.float32)
    return tf.string_join(["key", tf.as_string(number)]), tf.expand_dims(values, 1), number


@contextmanager
def running(session: Any) -> Iterator[None]:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    try:
        yield
    finally:
        coordinator.request_stop()
        coordinator.join(threads)


def steps(fetches: Any) -> list[Any]:
    """Return the values of all steps until the input ends."""
    found = []
    with tf.Session() as session, running(session):
        while True:
            try:
                found.append(session.run(fetches))
            except tf.errors.OutOfRangeError:
                return found


def test_each_segment_gets_the_state_that_the_one_before_it_saved() -> None:
    key, values, number = inputs([5, 2, 1, 4])
    batch = training.batch_sequences_with_states(
        key, {"values": values}, {"number": number}, None, {"sum": tf.zeros([1]), "steps": 0},
        num_unroll=2, batch_size=2, num_threads=1, capacity=2,
    )  # fmt: skip
    total = batch.state("sum") + tf.reduce_sum(batch.sequences["values"], 1)
    saves = [
        batch.save_state("sum", total),
        batch.save_state("steps", batch.state("steps") + 1),
    ]
    rows = [
        *(batch.key, batch.next_key, batch.sequence, batch.sequence_count, batch.length),
        *(batch.total_length, batch.context["number"], batch.state("steps")),
    ]
    assert batch.sequences["values"].shape.as_list() == [None, 2, 1]
    found = steps([rows, batch.sequences["values"], total, batch.batch_size, saves])
    segments = {}
    for row, parts, totals, size, _ in found:
        assert size == len(totals) <= 2
        for *fields, part, sums in zip(*row, parts, totals, strict=True):
            segments[fields[0].decode()] = [*fields[1:], part.ravel().tolist(), sums.item()]
    assert segments == {
        "00000_of_00003:key0": [b"00001_of_00003:key0", 0, 3, 2, 5, 0, 0, [0, 1], 1],
        "00001_of_00003:key0": [b"00002_of_00003:key0", 1, 3, 2, 5, 0, 1, [2, 3], 6],
        "00002_of_00003:key0": [b"STOP:key0", 2, 3, 1, 5, 0, 2, [4, 0], 10],
        "00000_of_00001:key1": [b"STOP:key1", 0, 1, 2, 2, 1, 0, [10, 11], 21],
        "00000_of_00001:key2": [b"STOP:key2", 0, 1, 1, 1, 2, 0, [20, 0], 20],
        "00000_of_00002:key3": [b"00001_of_00002:key3", 0, 2, 2, 4, 3, 0, [30, 31], 61],
        "00001_of_00002:key3": [b"STOP:key3", 1, 2, 2, 4, 3, 1, [32, 33], 126],
    }


@pytest.mark.parametrize("is_tuple", [True, False])
def test_a_network_goes_on_from_segment_to_segment(is_tuple: bool) -> None:
    cell = (
        tf.nn.rnn_cell.LSTMCell(3, initializer=tf.constant_initializer(0.2))
        if is_tuple
        else tf.nn.rnn_cell.GRUCell(3, kernel_initializer=tf.constant_initializer(0.2))
    )
    names: Any = ("c", "h") if is_tuple else "h"
    key, values, _ = inputs([5, 3])
    starts = {name: tf.zeros([3]) for name in names}
    batch = training.batch_sequences_with_states(
        key, {"values": values}, {}, None, starts, num_unroll=2, batch_size=1, num_threads=1
    )
    parts = tf.unstack(batch.sequences["values"], axis=1)
    outputs, _ = tf.nn.static_state_saving_rnn(cell, parts, batch, names, batch.length, "rnn")
    whole = tf.constant([[[0.0], [1.0], [2.0], [3.0], [4.0]], [[10.0], [11.0], [12.0], [0], [0]]])
    with tf.variable_scope("", reuse=True):
        expected, _ = tf.nn.dynamic_rnn(cell, whole, [5, 3], dtype=tf.float32, scope="rnn")
    found: dict[bytes, list[Any]] = {}
    with tf.Session() as session, running(session):
        for _ in range(5):
            keys, made = session.run([batch.key, tf.stack(outputs, 1)])
            found.setdefault(keys[0][-4:], []).extend(made[0])
        wanted = session.run(expected)
    np.testing.assert_allclose(found[b"key0"][:5], wanted[0], rtol=1e-5)
    np.testing.assert_allclose(found[b"key1"][:3], wanted[1, :3], rtol=1e-5)


def test_sequences_and_context_may_be_sparse() -> None:
    key, values, number = inputs([3, 2])
    time = tf.cast(tf.shape(values)[0], tf.int64)
    rows = tf.range(time)
    sparse = tf.SparseTensor(
        tf.stack([rows, rows % 2], 1), 10 * tf.cast(number, tf.int64) + rows, [time, 2]
    )
    context = tf.SparseTensor([[1]], tf.reshape(number, [1]) + 7, [4])
    given = {"context": context}
    batch = training.batch_sequences_with_states(
        key, {"dense": values, "sparse": sparse}, given, None, {"state": 0},
        num_unroll=2, batch_size=1, num_threads=1, make_keys_unique=True, make_keys_unique_seed=3,
    )  # fmt: skip
    assert list(given) == ["context"]
    found = steps(
        [
            tf.sparse.to_dense(batch.sequences["sparse"]),
            tf.sparse.to_dense(batch.context["context"]),
            batch.save_state("state", batch.state("state")),
        ]
    )
    assert [each[0].tolist() for each in found] == [
        [[[0, 0], [0, 1]]], [[[2, 0], [0, 0]]], [[[10, 0], [0, 11]]],
    ]  # fmt: skip
    assert [each[1].tolist() for each in found] == [[[0, 7, 0, 0]]] * 2 + [[[0, 8, 0, 0]]]


@pytest.mark.parametrize("is_sparse", [False, True])
def test_sequences_without_padding_need_whole_segments(is_sparse: bool) -> None:
    key, values, _ = inputs([3])
    if is_sparse:
        values = tf.SparseTensor([[0, 0]], [1], [tf.cast(tf.shape(values)[0], tf.int64), 1])
    batch = training.batch_sequences_with_states(
        key, {"values": values}, {}, 3, {"state": 0}, 2, 1, pad=False
    )
    error = "should be a multiple of: 2, but saw value: 3. Consider setting pad=True."
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(batch.key)
        with pytest.raises(tf.errors.InvalidArgumentError, match=error):
            coordinator.join(threads)


def saver(**more: Any) -> Any:
    arguments: dict[str, Any] = {
        "batch_size": 1, "num_unroll": 2, "input_length": 2, "input_key": "key",
        "input_sequences": {"x": tf.zeros([2, 3])}, "input_context": {},
        "initial_states": {"state": tf.zeros([2])},
    }  # fmt: skip
    return training.SequenceQueueingStateSaver(**{**arguments, **more})


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"input_sequences": {}}, ValueError, "at least one sequence tensor"),
        ({"initial_states": {}}, ValueError, "initial_states may not be empty"),
        ({"input_context": [1]}, TypeError, "context must be a dict"),
        ({"input_context": {3: 1}}, TypeError, "context key must be string: 3"),
        ({"input_context": {"a:b": 1}}, ValueError, "may not have a colon: 'a:b'"),
        ({"capacity": 1, "batch_size": 2}, ValueError, "capacity 1 needs to be >= batch_size 2"),
        ({"input_length": 2.0}, TypeError, "length dtype must be int32"),
        ({"input_key": 2}, TypeError, "key dtype must be string"),
    ],
)
def test_wrong_arguments_are_named(more: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        saver(**more)


def test_shapes_must_be_known_and_fit() -> None:
    unknown = tf.placeholder(tf.float32, [None, None])
    with pytest.raises(ValueError, match="Shape for sequence x is not fully defined"):
        saver(input_sequences={"x": unknown})
    made = saver()
    with pytest.raises(KeyError, match="state was not declared: other"):
        made.next_batch.save_state("other", 1)
    with pytest.raises(ValueError, match="Shape check failed for state state"):
        made.next_batch.save_state("state", tf.zeros([1, 3]))
    wrong = made.next_batch.save_state("state", tf.placeholder_with_default([[1.0]], None))
    with tf.Session() as session:
        session.run(made.prefetch_op)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Shape of state state should be"):
            session.run(wrong)


def test_a_sequence_waits_until_there_is_room() -> None:
    number = tf.placeholder(tf.int32, [])
    made = saver(capacity=1, input_key=tf.as_string(number))
    batch = made.next_batch
    fetches = [batch.key, batch.state("state")]
    with tf.Session() as session:
        session.run(made.prefetch_op, {number: 0})
        fill = session.make_callable(made.prefetch_op, [number])
        coordinator = tf.train.Coordinator()

        def fill_once() -> None:
            fill(1)
            coordinator.request_stop()

        thread = tf.train.LooperThread(coordinator, None, target=fill_once)
        thread.start()
        keys = [session.run(fetches)[0][0] for _ in range(2)]
        coordinator.join([thread])
    assert keys == [b"00000_of_00001:0", b"00000_of_00001:1"]
