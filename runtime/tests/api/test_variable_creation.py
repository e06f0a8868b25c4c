"""Creators stand between a program and its variables, and `init_scope` leaves what is built."""

from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.framework import tensor_util
from capstan.python.ops import variable_scope


def suffixing(suffix: str) -> Any:
    def creator(next_creator: Any, **kwargs: Any) -> Any:
        return next_creator(**{**kwargs, "name": kwargs["name"] + suffix})

    return creator


def test_the_innermost_creator_is_called_first() -> None:
    with tf.variable_creator_scope(suffixing("_outer")):
        with tf.variable_creator_scope(suffixing("_inner")):
            assert tf.Variable(1.0, name="v").op.name == "v_inner_outer"
        assert tf.get_variable("w", [2]).op.name == "w_outer"
    assert tf.Variable(1.0, name="x").op.name == "x"


def test_creators_of_higher_priority_are_called_first(graph: tf.Graph) -> None:
    with graph._variable_creator_scope(suffixing("_first"), priority=200):  # noqa: SIM117
        with tf.variable_creator_scope(suffixing("_second")):
            assert tf.Variable(1.0, name="v").op.name == "v_first_second"


def test_a_creator_gets_every_argument_of_a_variable() -> None:
    seen: list[dict[str, Any]] = []

    def creator(next_creator: Any, **kwargs: Any) -> Any:
        seen.append(kwargs)
        return next_creator(**kwargs, distribute_strategy=None)

    with tf.variable_creator_scope(creator):
        variable = tf.Variable(1.0, False, ["mine"], name="v", use_resource=True)
    assert variable in tf.get_collection("mine")
    assert tf.python.ops.resource_variable_ops.is_resource_variable(variable)
    [given] = seen
    assert (given["initial_value"], given["trainable"], given["name"]) == (1.0, False, "v")
    assert (given["collections"], given["use_resource"]) == (["mine"], True)
    assert (given["dtype"], given["validate_shape"]) == (None, True)
    assert given["synchronization"] is tf.VariableSynchronization.AUTO
    assert given["aggregation"] is tf.VariableAggregation.NONE


def test_get_variable_returns_and_keeps_what_a_creator_returns() -> None:
    with tf.variable_creator_scope(lambda next_creator, **kwargs: "instead"):
        assert tf.get_variable("v", [2]) == "instead"
    assert tf.trainable_variables() == []


def test_the_last_creator_makes_a_variable_and_has_no_next_one() -> None:
    with tf.variable_creator_scope(suffixing("_unused")):
        made = variable_scope.default_variable_creator(None, initial_value=1.0, name="v")
    assert made.op.name == "v"
    with pytest.raises(ValueError, match="no next creator"):
        variable_scope.default_variable_creator(lambda **kwargs: None, initial_value=1.0)


def test_a_function_that_is_built_keeps_the_creators() -> None:
    @tf.python.framework.function.Defun(tf.float32)
    def add(x: Any) -> Any:
        return x + tf.get_variable("v", [])

    with tf.variable_creator_scope(suffixing("_inside")):
        add(tf.constant(1.0))
    assert [each.op.name for each in tf.global_variables()] == ["v_inside"]


def test_an_init_scope_leaves_control_dependencies_and_conditionals(graph: tf.Graph) -> None:
    lifted: list[Any] = []

    def branch() -> Any:
        with tf.control_dependencies([tf.no_op()]), tf.init_scope():
            lifted.append(tf.constant(1.0, name="lifted"))
        return lifted[0] + 1.0

    with tf.name_scope("outside"):
        chosen = tf.cond(tf.constant(False), branch, lambda: tf.constant(0.0))
    assert lifted[0].op.control_inputs == []
    assert lifted[0].name.startswith("outside/")
    with tf.Session() as session:
        assert session.run([chosen, lifted[0]]) == [0.0, 1.0]


def test_an_init_scope_leaves_functions_and_keeps_the_innermost_devices(graph: tf.Graph) -> None:
    graphs: list[Any] = []

    @tf.python.framework.function.Defun(tf.float32)
    def add(x: Any) -> Any:
        with tf.device("/cpu:1"), tf.init_scope():
            graphs.append(tf.constant(1.0))
        with tf.init_scope():
            graphs.append(tf.constant(1.0))
        return x + graphs[0]

    with tf.device("/cpu:0"), tf.name_scope("calls"):
        add(tf.constant(1.0))
    assert [each.graph for each in graphs] == [graph, graph]
    assert [each.device for each in graphs] == ["/device:CPU:1", "/device:CPU:0"]
    with tf.device("/cpu:0"):
        assert tf.constant(1.0).device == "/device:CPU:0"


def test_a_static_value_is_known_before_any_step() -> None:
    assert list(tf.get_static_value(tf.constant([1, 2]))) == [1, 2]
    assert tf.get_static_value(tf.placeholder(tf.int32)) is None
    assert tf.get_static_value(tf.Variable(1)) is None
    for value in (np.True_, [1], tf.TensorShape([1]), None):
        assert tf.get_static_value(value) is value
    assert tf.get_static_value is tensor_util.constant_value
