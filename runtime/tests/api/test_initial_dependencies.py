"""Variables whose initial values use other variables are initialized in any order."""

from typing import Any

import numpy as np
import pytest

import capstan as tf


def initialized(*variables: Any) -> list[Any]:
    """Initialize the variables in this order, each in a step of its own. Return their values."""
    with tf.Session() as session:
        for variable in variables:
            session.run(variable.initializer)
        return [value.tolist() for value in session.run(list(variables))]


@pytest.mark.parametrize("use_resource", [False, True])
def test_an_initial_value_uses_variables_that_have_no_value_yet(use_resource: bool) -> None:
    x = tf.Variable([1.0, 2.0], name="x")
    y = tf.Variable(tf.exp(x * 0.0) + x, name="y", use_resource=use_resource)
    assert initialized(y, x) == [[2.0, 3.0], [1.0, 2.0]]


def test_initial_values_may_use_one_another_in_a_chain() -> None:
    chain = [tf.Variable(1.0)]
    for _ in range(4):
        chain.append(tf.Variable(chain[-1] * 2.0))
    assert initialized(*reversed(chain)) == [16.0, 8.0, 4.0, 2.0, 1.0]


def test_one_step_initializes_all_variables() -> None:
    x = tf.get_variable("x", [3], initializer=tf.ones_initializer())
    y = tf.get_variable("y", initializer=lambda: x + x)
    z = tf.Variable(y.initialized_value() - x, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        np.testing.assert_array_equal(session.run([x, y, z]), [[1] * 3, [2] * 3, [1] * 3])


def test_a_variable_that_has_a_value_gives_this_value() -> None:
    x = tf.Variable(1.0)
    y = tf.Variable(x * 2.0)
    with tf.Session() as session:
        session.run(x.assign(5.0))
        session.run(y.initializer)
        assert session.run(y) == 10.0


def test_only_what_reads_a_variable_is_copied() -> None:
    x = tf.Variable(1.0, name="x")
    constant = tf.constant(2.0) * 3.0
    y = tf.Variable(constant + x, name="y")
    assert y.initial_value.op.type == "AddV2"
    start = y.initializer.inputs[1]
    assert start.op.name == f"{y.initial_value.op.name}_y"
    assert start.op.inputs[0] is constant
    assert [op.type for op in tf.get_default_graph().get_operations()].count("Mul") == 1
    alone = tf.Variable(constant)
    assert alone.initializer.inputs[1] is constant


@pytest.mark.parametrize("kind", ["cond", "assign", "hidden"])
def test_other_reads_stay_as_they_are(kind: str) -> None:
    keys = ["of the program"] if kind == "hidden" else None
    x = tf.Variable(1.0, collections=keys, trainable=False)
    values = {
        "cond": lambda: tf.cond(x > 0.0, lambda: x + 1.0, lambda: x - 1.0),
        "assign": lambda: x.assign(3.0) * 2.0,
        "hidden": lambda: x * 2.0,
    }
    y = tf.Variable(values[kind]())
    with tf.Session() as session:
        if kind != "assign":
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
                session.run(y.initializer)
            session.run(x.initializer)
        session.run(y.initializer)
        assert session.run(y) == (6.0 if kind == "assign" else 2.0)


def test_get_variable_takes_a_function_without_arguments() -> None:
    x = tf.get_variable("x", initializer=lambda: tf.constant([1, 2]))
    assert x.dtype.base_dtype is tf.int32
    assert initialized(x) == [[1, 2]]
    with pytest.raises(ValueError, match="should be fully defined"):
        tf.get_variable("y", initializer=lambda shape: tf.zeros(shape))
    with pytest.raises(TypeError):
        tf.get_variable("z", [2], initializer=lambda: tf.zeros([2]))
