"""The elements of one dataset for several devices."""

from typing import Any

import pytest

import capstan as tf
from capstan.python.data.experimental.ops import threadpool
from capstan.python.data.ops import multi_device_iterator_ops

DEVICES = ["/cpu:1", "/cpu:2"]


def elements(source: tf.data.Dataset, **sizes: int) -> Any:
    return multi_device_iterator_ops.MultiDeviceIterator(source, DEVICES, **sizes)


def test_devices_get_the_elements_in_turn() -> None:
    source = tf.data.Dataset.range(5).map(lambda x: {"x": x, "text": tf.as_string(x)})
    iterator = elements(source, max_buffer_size=3)
    found = iterator.get_next()
    assert [each["x"].device for each in found] == ["/device:CPU:1", "/device:CPU:2"]
    assert iterator.element_spec == source.element_spec
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        for _ in range(2):
            session.run(iterator.initializer)
            assert session.run(found) == [{"x": 0, "text": b"0"}, {"x": 1, "text": b"1"}]
            assert session.run(found) == [{"x": 2, "text": b"2"}, {"x": 3, "text": b"3"}]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(found)


@pytest.mark.parametrize("place", [0, 1])
def test_a_step_for_one_device_takes_the_elements_of_all(place: int) -> None:
    iterator = elements(tf.data.Dataset.range(4))
    element = iterator.get_next()[place]
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        session.run(iterator.initializer)
        assert [session.run(element) for _ in range(2)] == [place, 2 + place]


def test_devices_that_step_separately_get_the_elements_in_turn() -> None:
    iterator = elements(tf.data.Dataset.range(7))
    first, second = iterator.get_next()
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        for _ in range(2):
            session.run(iterator.initializer)
            steps = (first, second, second, second, first, first)
            assert [session.run(step) for step in steps] == [0, 1, 3, 5, 2, 4]


def test_a_device_gets_its_element_by_its_name() -> None:
    iterator = elements(tf.data.Dataset.range(4))
    element = iterator.get_next("/cpu:2")
    assert element.device == "/device:CPU:2"
    with pytest.raises(ValueError, match="'/cpu:7' is not in list"):
        iterator.get_next("/cpu:7")
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        session.run(iterator.initializer)
        assert [session.run(element) for _ in range(2)] == [1, 3]


def test_the_end_is_an_optional_without_a_value() -> None:
    iterator = elements(tf.data.Dataset.range(3))
    found = iterator.get_next_as_optional()
    has_values = [each.has_value() for each in found]
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run([has_values, [each.get_value() for each in found]]) == [
            [True, True],
            [0, 1],
        ]
        assert session.run([has_values, found[0].get_value()]) == [[True, False], 2]
        assert session.run(has_values) == [False, False]


def test_an_error_belongs_to_the_device_whose_turn_it_is() -> None:
    source = tf.data.Dataset.range(4).map(lambda x: tf.check_numerics(1 / (x - 1), "infinite"))
    first, second = elements(source).get_next()
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 3})) as session:
        session.run(first.graph.get_operation_by_name("group_deps"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="infinite"):
            session.run(second)
        assert [session.run(first), session.run(first), session.run(second)] == [-1, 1, 0.5]


def test_a_thread_pool_sets_the_options_of_a_dataset() -> None:
    pool = threadpool.PrivateThreadPool(3, display_name="images", max_intra_op_parallelism=2)
    options = threadpool.override_threadpool(tf.data.Dataset.range(2), pool).options()
    assert options.experimental_threading.private_threadpool_size == 3
    assert options.experimental_threading.max_intra_op_parallelism == 2


def test_a_pool_of_threads_may_leave_the_threads_of_an_operation_open() -> None:
    pool = threadpool.PrivateThreadPool(3, max_intra_op_parallelism=None)
    options = threadpool.override_threadpool(tf.data.Dataset.range(2), pool).options()
    assert options.experimental_threading.private_threadpool_size == 3
    assert options.experimental_threading.max_intra_op_parallelism == 1
