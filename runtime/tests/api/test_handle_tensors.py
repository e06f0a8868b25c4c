"""Tensors of handles of resource variables: lists, arrays and queues of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.framework.raw import raw
from capstan.python.framework import function


def read(handle: Any) -> Any:
    return raw.ReadVariableOp(handle, dtype=tf.float32)


def chosen_in_the_step(a: Any, b: Any) -> Any:
    return tf.stack([a, b])[tf.placeholder_with_default(1, [])]


def in_a_loop(a: Any, b: Any) -> Any:
    handles = tf.stack([a, b])
    return tf.while_loop(lambda i, _: i < 2, lambda i, _: (i + 1, handles[i]), [0, handles[0]])[1]


def in_an_array(a: Any, b: Any) -> Any:
    return tf.TensorArray(tf.resource, 2).write(0, a).write(1, b).read(1)


def in_an_unstacked_array(a: Any, b: Any) -> Any:
    return tf.TensorArray(tf.resource, 2).unstack(tf.stack([a, b])).read(1)


def in_a_stacked_array(a: Any, b: Any) -> Any:
    return tf.TensorArray(tf.resource, 2).write(0, a).write(1, b).stack()[1]


def in_a_queue(a: Any, b: Any) -> Any:
    queue = tf.FIFOQueue(1, [tf.resource], shapes=[[]])
    with tf.control_dependencies([queue.enqueue(b)]):
        return queue.dequeue()


def in_a_function(a: Any, b: Any) -> Any:
    return function.Defun(tf.resource)(lambda handles: tf.identity(handles)[1])(tf.stack([a, b]))


def in_a_dataset(a: Any, b: Any) -> Any:
    handles = tf.data.Dataset.from_tensor_slices(tf.stack([a, b])).skip(1)
    return initialized(handles.concatenate(tf.data.Dataset.from_tensors(b)).repeat())


def in_the_function_of_a_dataset(a: Any, b: Any) -> Any:
    handles = tf.data.Dataset.from_tensors(b).map(tf.identity)
    return initialized(handles.repeat())


def initialized(dataset: tf.data.Dataset) -> Any:
    iterator = tf.data.make_initializable_iterator(dataset)
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    return iterator.get_next()


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "a stack": lambda a, b: tf.stack([a, b])[1],
    "a matrix": lambda a, b: tf.stack([tf.stack([a, b]), tf.stack([b, a])])[1, 0],
    "parts": lambda a, b: tf.unstack(tf.stack([a, b]))[1],
    "halves": lambda a, b: tf.squeeze(tf.split(tf.stack([a, b]), 2)[1]),
    "another shape": lambda a, b: tf.reshape(tf.stack([a, b]), [2, 1])[1, 0],
    "one more axis": lambda a, b: tf.squeeze(tf.expand_dims(b, 0)),
    "a gather": lambda a, b: tf.gather(tf.stack([a, b]), 1),
    "a default": lambda a, b: tf.placeholder_with_default(tf.stack([a, b]), [None])[1],
    "a default of one": lambda a, b: tf.placeholder_with_default(b, []),
    "a choice": lambda a, b: tf.where(tf.placeholder_with_default(False, []), a, b),
    **{
        each.__name__: each
        for each in (
            chosen_in_the_step,
            in_a_loop,
            in_an_array,
            in_an_unstacked_array,
            in_a_stacked_array,
            in_a_queue,
            in_a_dataset,
            in_the_function_of_a_dataset,
            in_a_function,
        )
    },
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [[], [3]])
def test_a_variable_is_read_by_a_handle_from_among_others(way: str, shape: list[int]) -> None:
    a, b = (
        tf.get_variable(name, shape, use_resource=True, initializer=tf.constant_initializer(number))
        for number, name in enumerate("ab")
    )
    value = read(WAYS[way](a.handle, b.handle))
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        np.testing.assert_array_equal(session.run(value), np.ones(shape))


@pytest.mark.parametrize("shape", [[], [5, 6]])
def test_a_handle_is_a_scalar_and_its_readers_know_the_shape_of_the_variable(
    shape: list[int],
) -> None:
    handle = tf.get_variable("a", shape, use_resource=True).handle
    copies = [
        handle,
        tf.identity(handle),
        tf.cond(tf.placeholder(tf.bool, []), lambda: handle, lambda: tf.identity(handle)),
        tf.while_loop(lambda _: False, lambda each: each, [handle], [handle.shape]),
    ]
    for copy in copies:
        copy.set_shape(())
        assert copy.shape.as_list() == copy._shape_as_list() == []
        assert read(copy).shape.as_list() == shape
        assert tf.stack([copy, copy]).shape.as_list() == [2]
    with pytest.raises(ValueError, match="not compatible"):
        handle.set_shape(shape or [1])


def test_an_update_by_a_handle_from_a_stack_is_seen_afterwards() -> None:
    a, b = (
        tf.get_variable(name, [2], use_resource=True, initializer=tf.ones_initializer())
        for name in "ab"
    )
    handles = tf.stack([a.handle, b.handle])
    with tf.control_dependencies([raw.AssignAddVariableOp(handles[1], [1.0, 2.0])]):
        values = [a.read_value(), b.read_value()]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(values), [[1, 1], [2, 3]])


def test_a_list_of_handles_has_a_length() -> None:
    a, b = (
        tf.get_variable(name, [3], use_resource=True, initializer=tf.constant_initializer(number))
        for number, name in enumerate("ab")
    )
    scalar = np.zeros([0], np.int32)
    none = raw.TensorListReserve(scalar, 2, element_dtype=tf.resource)
    filled = raw.TensorListSetItem(raw.TensorListSetItem(none, 0, a.handle), 1, b.handle)
    made = raw.TensorListFromTensor(tf.stack([a.handle, b.handle]), scalar)
    longer = raw.TensorListPushBack(filled, a.handle)
    rest, last = raw.TensorListPopBack(filled, scalar, element_dtype=tf.resource)
    lengths = list(map(raw.TensorListLength, (filled, made, longer, rest)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(lengths) == [2, 2, 3, 1]
        np.testing.assert_array_equal(session.run(tf.shape(read(last))), [3])
        stacked = raw.TensorListStack(longer, scalar, element_dtype=tf.resource)
        np.testing.assert_array_equal(session.run(tf.shape(stacked)), [3])
        np.testing.assert_array_equal(session.run(tf.shape(read(stacked[2]))), [3])
        item = raw.TensorListGetItem(made, 1, scalar, element_dtype=tf.resource)
        np.testing.assert_array_equal(session.run(tf.shape(read(item))), [3])
        np.testing.assert_array_equal(session.run(read(last)), [1, 1, 1])
        gathered = raw.TensorListGather(made, [1, 0], scalar, element_dtype=tf.resource)
        assert gathered.shape.as_list() == [2]
        values = list(map(read, tf.unstack(gathered)))
        np.testing.assert_array_equal(session.run(values), [[1, 1, 1], [0, 0, 0]])


def test_rows_of_a_list_of_vectors_of_handles_are_a_vector_of_handles() -> None:
    a, b = (tf.get_variable(name, [5, 6], use_resource=True).handle for name in "ab")
    made = raw.TensorListFromTensor(tf.stack([[a, b], [b, a]]), [2])
    rows, lengths = raw.TensorListConcatV2(
        made, [2], np.zeros([0], np.int64), element_dtype=tf.resource
    )
    assert rows.shape.as_list() == [None]
    with tf.Session() as session:
        assert session.run([tf.shape(rows), lengths])[0].tolist() == [4]


def test_a_conditional_may_return_several_handles() -> None:
    a, b = (tf.get_variable(name, [5, 6], use_resource=True).handle for name in "ab")
    choice = tf.placeholder(tf.bool, [])
    both = tf.cond(choice, lambda: tf.stack([a, b]), lambda: tf.stack([b, a]))
    some = tf.cond(choice, lambda: tf.stack([a, b]), lambda: tf.stack([b]))
    assert both.shape.as_list() == tf.ensure_shape(both, [None]).shape.as_list() == [2]
    assert some.shape.as_list() == [None]
    sizes = [tf.shape(each) for each in (both, some, tf.ensure_shape(some, [None]), both[:1])]
    with tf.Session() as session:
        assert [size.tolist() for size in session.run(sizes, {choice: True})] == [
            [2],
            [2],
            [2],
            [1],
        ]
        assert [size.tolist() for size in session.run(sizes, {choice: False})] == [
            [2],
            [1],
            [1],
            [1],
        ]


def test_each_handle_counts_as_one_element() -> None:
    a = tf.get_variable("a", [5, 6], use_resource=True)
    b = tf.get_variable("b", [7], use_resource=True)
    handles = tf.stack([a.handle, b.handle, a.handle])
    assert tf.shape(a.handle).shape.as_list() == [0]
    assert handles.shape.as_list() == [3]
    with tf.Session() as session:
        assert session.run([tf.shape(handles), tf.size(handles), tf.rank(handles)])[1:] == [3, 1]


def test_a_function_maps_over_handles() -> None:
    names = "ab"
    handles = tf.stack(
        [
            tf.get_variable(
                name, [2], use_resource=True, initializer=tf.constant_initializer(number)
            ).handle
            for number, name in enumerate(names)
        ]
    )
    values = tf.map_fn(read, handles, dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(values), [[0, 0], [1, 1]])
