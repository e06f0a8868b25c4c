"""A fed value replaces a tensor, whether or not the node of the tensor runs."""

from typing import Any

import clusters
import numpy as np
import pytest

import capstan as tf
from capstan.framework.raw import raw


@pytest.fixture(scope="module")
def target() -> str:
    return clusters.start(ps=1, worker=1)["worker:0"].target


def test_a_fed_tensor_keeps_its_value_when_its_node_runs_before_its_readers() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder_with_default(1.0, [])
        fed = x + 1.0
        with tf.control_dependencies([fed.op]):
            after = tf.identity(x)
        assert session.run([after, fed * 2.0], {fed: 50.0}) == [1.0, 100.0]


@pytest.mark.e2e
def test_one_of_several_outputs_is_fed(target: str) -> None:
    for where in ("", target):
        with tf.Graph().as_default(), tf.device("/job:ps" if where else None):
            first, second = tf.split(tf.placeholder_with_default([1.0, 2.0, 3.0, 4.0], [4]), 2)
            with tf.device("/job:worker" if where else None):
                read = first + 0.0
            with tf.Session(where) as session:
                got = session.run([second, read, first * 2.0], {first: [7.0, 8.0]})
        np.testing.assert_equal([value.tolist() for value in got], [[3, 4], [7, 8], [14, 16]])


def test_a_fed_variable_reads_as_the_fed_value_and_is_not_changed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        var = tf.Variable(1.0)
        session.run(var.initializer)
        with tf.control_dependencies([var.op]):
            after = tf.placeholder_with_default(3.0, []) + 0.0
        assert session.run([after, var + 1.0], {var: 9.0}) == [3.0, 10.0]
        assert session.run(var) == 1.0


@pytest.mark.parametrize("reader", [None, "/job:ps", "/job:worker"])
def test_a_fed_tensor_has_its_value_even_if_its_branch_is_not_taken(
    target: str, reader: str | None
) -> None:
    with tf.Graph().as_default(), tf.device("/job:ps" if reader else None):
        chooses = tf.placeholder(tf.bool, [])
        off, on = raw.Switch(tf.placeholder_with_default(3.0, []), chooses)
        with tf.device(reader):
            read = on + 1.0
        further = read + 1.0
        with tf.Session(target if reader else "") as session:
            feeds: dict[Any, Any] = {chooses: False, on: 7.0}
            assert session.run([off, read, further], feeds) == [3.0, 8.0, 9.0]


@pytest.mark.parametrize(
    "dtype, value, named",
    [
        (tf.int32, 2**40, str(2**40)),
        (tf.int32, [1, 2**40], str(2**40)),
        (tf.int64, 2**70, str(2**70)),
        (tf.uint8, -1, "-1"),
        (tf.uint8, [[300]], "300"),
        (tf.float32, 10**400, "1000"),
        (tf.bool, 2, "2"),
        (tf.string, 1, "1"),
        (tf.string, ["a", 1.5], "1.5"),
    ],
)
def test_the_error_names_the_value_and_the_dtype_that_cannot_hold_it(
    dtype: tf.DType, value: Any, named: str
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(dtype)
        with pytest.raises(TypeError, match=f"{named}.* not compatible with .* type {dtype.name}"):
            session.run(tf.identity(x), {x: value})


def test_a_nest_of_tensors_is_fed_with_a_nest_of_values() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a, b, c = (tf.placeholder(tf.float32, [], name) for name in "abc")
        total = a + 10.0 * b + 100.0 * c
        assert session.run(total, {(a, (b, c)): (1.0, [2.0, 3.0])}) == 321
        assert session.run(total, {(a,): (1.0,), (b, c): (2.0, 3.0)}) == 321
        assert session.run(total, {(a,): np.float32(1), ((b,),): 2.0, c: 3.0}) == 321
        vector = tf.placeholder(tf.float32, [2])
        assert session.run(vector, {(vector,): np.array([1.0, 2.0])}).tolist() == [1, 2]
        with pytest.raises(ValueError, match="Key had 2 elements, but value had 3 elements"):
            session.run(total, {(a, b): (1.0, 2.0, 3.0), c: 1.0})
        with pytest.raises(ValueError, match="Key had 2 elements, but value had 1 elements"):
            session.run(total, {(a, b): 1.0, c: 1.0})
        with pytest.raises(ValueError, match="not unique"):
            session.run(total, {(a, b): (1.0, 2.0), (a, c): (1.0, 2.0)})


@pytest.mark.parametrize(
    "value, error", [([1, "a"], ValueError), ([[1], [2, 3]], ValueError), ({}, TypeError)]
)
def test_a_value_that_is_no_array_of_numbers_is_refused_with_the_name_of_its_tensor(
    value: object, error: type[Exception]
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, name="rate")
        with pytest.raises(error, match=r"Cannot feed Tensor 'rate:0' of float32: "):
            session.run(fed, {fed: value})


def test_the_name_of_the_tensor_comes_with_any_kind_of_error() -> None:
    class Unreadable:
        def __float__(self) -> float:
            return float(b"\xff".decode())

    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, name="rate")
        with pytest.raises(ValueError, match=r"Cannot feed Tensor 'rate:0' of float32: 'utf-8'"):
            session.run(fed, {fed: Unreadable()})
