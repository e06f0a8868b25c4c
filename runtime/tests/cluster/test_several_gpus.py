"""Steps on two GPUs of a task. The GPUs are simulated: nothing runs before somebody waits."""

from collections.abc import Iterator

import numpy as np
import pytest
import strict

import capstan as tf


@pytest.fixture(autouse=True)
def _devices() -> Iterator[None]:
    tf.reset_default_graph()
    with strict.installed(2):
        yield


def test_a_copy_between_devices_takes_the_value_that_the_source_computes() -> None:
    one, other = (strict.Strict(f"/device:GPU:{index}") for index in range(2))
    value = one.copy_in(np.ones(3, np.float32))
    there = other.copy_across(value + value, one)
    back = one.copy_across(there * there, other)
    found = one.copy_out(back)
    assert not np.array_equal(found, [4.0] * 3)
    one.stream.synchronize()
    assert found.tolist() == [4.0] * 3


def test_a_copy_of_a_failed_value_fails() -> None:
    one, other = (strict.Strict(f"/device:GPU:{index}") for index in range(2))
    value = one.copy_in(np.ones(3, np.float32))

    def fail() -> None:
        raise ValueError("the source is broken")

    one.enqueue(fail)
    other.copy_across(value, one)
    with pytest.raises(tf.errors.InternalError, match="the source is broken"):
        other.stream.synchronize()


def test_devices_exchange_values_in_both_directions_in_each_step() -> None:
    halves = [tf.placeholder(tf.float32, [4]) for _ in range(2)]
    values = list(halves)
    for _ in range(5):
        crossed = []
        for index in range(2):
            with tf.device(f"/gpu:{index}"):
                crossed.append(values[index] * 2.0 + values[1 - index])
        values = crossed
    feeds = dict(zip(halves, (np.ones(4), np.full(4, 3.0)), strict=True))
    with tf.Session() as session:
        for _ in range(20):
            found = session.run(values, feeds)
            assert [each.tolist() for each in found] == [[485.0] * 4, [487.0] * 4]


def test_a_variable_of_one_device_is_read_and_changed_from_another() -> None:
    with tf.device("/gpu:0"):
        v = tf.Variable(np.ones(3, np.float32))
    with tf.device("/gpu:1"):
        doubled = v * 2.0
    with tf.device("/gpu:0"):
        change = v.assign_add(doubled)
    with tf.Session() as session:
        session.run(v.initializer)
        assert [session.run(change)[0] for _ in range(4)] == [3.0, 9.0, 27.0, 81.0]
