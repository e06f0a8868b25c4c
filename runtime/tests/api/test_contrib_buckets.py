"""`tf.contrib.training.bucket`: batches of elements that belong together."""

from typing import Any

import numpy as np
import pytest
from fresh_sessions import drained

import capstan as tf

training = tf.contrib.training


def number(limit: int) -> Any:
    """Return a tensor that counts from 0 below a limit."""
    return tf.train.range_input_producer(limit, num_epochs=1, shuffle=False).dequeue()


def by_bucket(steps: list[Any]) -> dict[int, list[list[int]]]:
    """Return the batches of each bucket, in order. The order of the buckets is that of threads."""
    found: dict[int, list[list[int]]] = {}
    for bucket, values in steps:
        found.setdefault(int(bucket), []).append(values.tolist())
    return found


def test_each_batch_has_the_elements_of_one_bucket_in_their_order() -> None:
    value = number(14)
    steps = drained(training.bucket([value], value % 3, 2, 3))
    assert by_bucket(steps) == {0: [[0, 3], [6, 9]], 1: [[1, 4], [7, 10]], 2: [[2, 5], [8, 11]]}


def test_a_batch_that_is_not_full_is_given_only_if_it_is_allowed() -> None:
    value = number(7)
    result = training.bucket([value], value % 2, 3, 2, allow_smaller_final_batch=True)
    assert result[1].shape.as_list() == [None]
    assert by_bucket(drained(result)) == {0: [[0, 2, 4], [6]], 1: [[1, 3, 5]]}


def test_the_buckets_may_have_batches_of_different_sizes() -> None:
    value = number(6)
    result = training.bucket([value], value % 2, [3, 1], 2, bucket_capacities=(3, 1))
    assert result[1].shape.as_list() == [None]
    assert by_bucket(drained(result)) == {0: [[0, 2, 4]], 1: [[1], [3], [5]]}


def test_the_batches_are_padded_and_keep_the_form_of_a_dictionary() -> None:
    value = number(4)
    element = {"range": tf.range(value), "value": value}
    _, batch = training.bucket(element, value % 2, tf.constant(2), 2, dynamic_pad=True)
    assert [batch["range"].shape.as_list(), batch["value"].shape.as_list()] == [[2, None], [2]]
    found = {tuple(step["value"]): step["range"].tolist() for step in drained(batch)}
    assert found == {(0, 2): [[0, 0], [0, 1]], (1, 3): [[0, 0, 0], [0, 1, 2]]}


def test_a_sparse_component_stays_sparse() -> None:
    value = number(4)
    sparse = tf.SparseTensor([[0]], tf.reshape(value, [1]), [2])
    _, (batch, _) = training.bucket([sparse, value], 0, 4, 1)
    (found,) = drained(batch)
    assert found.indices.tolist() == [[0, 0], [1, 0], [2, 0], [3, 0]]
    assert found.values.tolist() == [0, 1, 2, 3]
    assert found.dense_shape.tolist() == [4, 2]


def test_elements_to_drop_and_elements_of_no_bucket_are_left_out() -> None:
    value = number(9)
    result = training.bucket([value], value % 3, 1, 2, keep_input=value > 2)
    assert by_bucket(drained(result)) == {0: [[3], [6]], 1: [[4], [7]]}


def test_a_batch_has_lengths_between_two_boundaries() -> None:
    length = number(12)
    result = training.bucket_by_sequence_length(
        length, [length * 10], 2, [2, 5], shapes=[[]], allow_smaller_final_batch=True
    )
    steps = drained(result)
    assert all(np.array_equal(lengths * 10, values) for lengths, (values,) in steps)
    found = sorted(lengths.tolist() for lengths, _ in steps)
    assert found == [[0, 1], [2, 3], [4], [5, 6], [7, 8], [9, 10], [11]]


def test_lengths_come_with_a_dictionary_of_batches() -> None:
    length = number(4)
    element = {"range": tf.range(length)}
    lengths, batch = training.bucket_by_sequence_length(length, element, 2, [2], dynamic_pad=True)
    found = {tuple(step[0]): step[1].tolist() for step in drained([lengths, batch["range"]])}
    assert found == {(0, 1): [[0], [0]], (2, 3): [[0, 1, 0], [0, 1, 2]]}


def test_the_sizes_of_the_queues_are_summarized() -> None:
    training.bucket([tf.constant(1)], 0, 2, 2, capacity=5, name="both")
    _, fills = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    with tf.Session() as session:
        session.run(fills.enqueue_ops[0])
        found = tf.Summary.FromString(session.run(tf.summary.merge_all()))
    assert {value.tag: value.simple_value for value in found.value} == {
        "both/bucket/both/bucket_queue_0/size": 1,
        "both/bucket/both/bucket_queue_1/size": 0,
        "both/bucket/both/top_queue/fraction_of_5_full": 0,
    }


def test_each_queue_has_its_capacity_and_its_shared_name() -> None:
    training.bucket([1], 0, 1, 2, capacity=5, bucket_capacities=[3, 4], shared_name="kept")
    queues = {
        node.name: (node.attr["capacity"].i, node.attr["shared_name"].s)
        for node in tf.get_default_graph().as_graph_def().node
        if "capacity" in node.attr
    }
    assert queues == {
        "bucket/bucket_queue_0": (3, b"kept_0"),
        "bucket/bucket_queue_1": (4, b"kept_1"),
        "bucket/top_queue": (5, b"kept"),
    }


WRONG: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (ValueError, "batch_size .* exactly num_buckets", {"batch_size": [1, 2, 3]}),
    (ValueError, "bucket_capacities .* exactly num_buckets", {"bucket_capacities": [1]}),
    (ValueError, "at least one tensor", {"tensors": []}),
    (ValueError, "cannot be a vector", {"keep_input": [True]}),
]


@pytest.mark.parametrize("kind, message, change", WRONG)
def test_wrong_arguments_of_a_bucket_are_errors(
    kind: type[Exception], message: str, change: dict[str, Any]
) -> None:
    arguments = {"tensors": [1.0], "which_bucket": 0, "batch_size": 1, "num_buckets": 2}
    with pytest.raises(kind, match=message):
        training.bucket(**{**arguments, **change})


@pytest.mark.parametrize(
    "kind, message, boundaries",
    [
        (TypeError, "must be a list or tuple", 3),
        (ValueError, "must not be empty", []),
        (TypeError, "must be integers", [1, 2.5]),
        (ValueError, "sequential increasing lengths, but saw: 4 before 4", [1, 4, 4]),
    ],
)
def test_boundaries_must_be_integers_that_increase(
    kind: type[Exception], message: str, boundaries: Any
) -> None:
    with pytest.raises(kind, match=message):
        training.bucket_by_sequence_length(1, [1], 1, boundaries)
