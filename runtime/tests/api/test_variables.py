"""Variables: their operations, names and collections. The error messages are TensorFlow's."""

from typing import Any

import interpreter
import numpy as np
import pytest

import capstan as tf
from capstan.framework import graph as graphs


@pytest.fixture
def machine() -> interpreter.Interpreter:
    return interpreter.Interpreter()


def test_a_variable_holds_the_value_assigned_last(machine: interpreter.Interpreter) -> None:
    v = tf.Variable([1.0, 2.0], name="v")
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
        machine.run(v.value())
    machine.run(v.initializer)
    assert machine.run(v.value()).tolist() == [1, 2]
    assert machine.run(v.assign_add([1.0, 1.0])).tolist() == [2, 3]
    assert machine.run(v.assign_sub([2.0, 0.0])).tolist() == [0, 3]
    assert machine.run(v.assign([5.0, 6.0])).tolist() == [5, 6]
    rows = tf.IndexedSlices(tf.constant([1.0, 2.0]), tf.constant([1, 1]))
    assert machine.run(v.scatter_sub(rows)).tolist() == [5, 3]
    assert machine.run(v.read_value()).tolist() == [5, 3]
    assert machine.run(tf.exp(v) * 0.0 + v).tolist() == [5, 3]


@pytest.mark.parametrize("use_resource", [False, True])
def test_methods_change_rows_and_slices_of_a_variable(use_resource: bool) -> None:
    v = tf.get_variable("v", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=use_resource)
    rows = tf.IndexedSlices([[2.0, 4.0]], [1])
    batch = tf.IndexedSlices([[7.0], [8.0]], [[1], [0]])
    for change, expected in (
        (lambda: v.scatter_add(rows), [[1, 2], [5, 8]]),
        (lambda: v.scatter_sub(rows), [[1, 2], [1, 0]]),
        (lambda: v.scatter_mul(rows), [[1, 2], [6, 16]]),
        (lambda: v.scatter_div(rows), [[1, 2], [1.5, 1]]),
        (lambda: v.scatter_max(rows), [[1, 2], [3, 4]]),
        (lambda: v.scatter_min(rows), [[1, 2], [2, 4]]),
        (lambda: v.scatter_update(rows), [[1, 2], [2, 4]]),
        (lambda: v.scatter_nd_add([[0, 1]], [5.0]), [[1, 7], [3, 4]]),
        (lambda: v.scatter_nd_sub([[0, 1]], [5.0]), [[1, -3], [3, 4]]),
        (lambda: v.scatter_nd_update([[0, 1]], [5.0]), [[1, 5], [3, 4]]),
        (lambda: v.batch_scatter_update(batch), [[1, 7], [8, 4]]),
    ):
        changed = change()
        with tf.Session() as session:
            session.run(v.initializer)
            assert session.run(changed).tolist() == session.run(v).tolist() == expected
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v.sparse_read([1])).tolist() == [[3, 4]]
        assert session.run(v.gather_nd([[1, 0]])).tolist() == [3]
    with pytest.raises(TypeError, match="sparse_delta is not IndexedSlices"):
        v.scatter_mul([1.0])


def test_a_variable_has_tensorflows_properties(graph: graphs.Graph) -> None:
    v = tf.Variable(np.zeros((2, 3)), name="v")
    assert (v.name, v.op.type, v.dtype.name) == ("v:0", "VariableV2", "float64_ref")
    assert v.shape == v.get_shape() == [2, 3]
    assert v.graph is graph
    assert v.initial_value.op.name == "v/initial_value"
    assert v.initializer.name == "v/Assign"
    assert repr(v) == "<tf.Variable 'v:0' shape=(2, 3) dtype=float64_ref>"
    assert v.value() is v.value()
    assert v.read_value() is not v.read_value()


def test_an_initial_value_function_builds_operations_colocated_with_the_variable() -> None:
    with tf.device("/job:ps"):
        v = tf.Variable(lambda: tf.zeros([2]) + 1.0, name="v")
    assert v.initial_value.op.name == "v/Initializer/add"
    assert v.initial_value.op.get_attr("_class") == [b"loc:@v"]
    assert v.initial_value.device == ""
    assert v.device == "/job:ps"


def test_a_variable_ignores_control_dependencies_around_it() -> None:
    with tf.control_dependencies([tf.constant(1)]):
        v = tf.Variable(1.0)
    for op in (v.op, v.initializer, v.value().op, v.initial_value.op):
        assert op.control_inputs == []


def test_a_variable_has_the_requested_dtype() -> None:
    assert tf.Variable(1, dtype=tf.float64).dtype.base_dtype is tf.float64
    with pytest.raises(TypeError, match=r"Expected int32, got 1.5 of type 'float' instead"):
        tf.Variable(1.5, dtype=tf.int32)


def test_a_cached_read_is_placed_on_the_caching_device() -> None:
    with tf.device("/job:ps"):
        v = tf.Variable(1.0, caching_device="/job:worker")
    assert v.value().device == "/job:worker"
    assert v.device == "/job:ps"


def test_an_unknown_shape_must_be_allowed(machine: interpreter.Interpreter) -> None:
    assert tf.Variable([1.0, 2.0], validate_shape=False).shape.ndims is None
    unknown = tf.placeholder(tf.float32, name="u")
    with pytest.raises(
        ValueError, match=r"initial_value must have a shape specified: Tensor\(\"u:0\""
    ):
        tf.Variable(unknown)
    v = tf.Variable(unknown, validate_shape=False)
    assert v.shape.ndims is None
    assert not v.initializer.get_attr("validate_shape")
    v.set_shape([2])
    assert v.value().shape == [2]


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: tf.Variable(), "initial_value must be specified."),
        (
            lambda: tf.Variable(1.0, collections="abc"),
            "collections argument to Variable constructor must be a list, tuple, or set. Got 'abc' "
            "of type str",
        ),
        (
            lambda: tf.Variable(1.0, variable_def=object()),
            "variable_def and initial_value are mutually exclusive.",
        ),
    ],
)
def test_invalid_arguments_of_a_variable_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        build()
    assert str(caught.value) == message


def test_variables_are_added_to_their_collections() -> None:
    a = tf.Variable(1.0, name="a")
    b = tf.Variable(1.0, name="b", trainable=False)
    c = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    d = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    assert tf.global_variables() == [a, b]
    assert tf.trainable_variables() == [a, c]
    assert tf.local_variables() == [c, d]
    assert tf.global_variables("b") == [b]
    assert tf.model_variables() == tf.moving_average_variables() == []


def test_a_variable_can_be_rebuilt_from_its_variable_def(graph: graphs.Graph) -> None:
    v = tf.Variable(1.0, name="a/v")
    with graph.as_default():
        copy = tf.Variable.from_proto(v.to_proto())
    assert copy._ref() is v._ref()
    assert copy.value() is v.value()
    assert copy.initializer is v.initializer
    assert copy.initial_value is v.initial_value
    assert v.to_proto(export_scope="b") is None
    assert v.to_proto(export_scope="a").variable_name == "v:0"


def test_variables_are_keys_and_not_iterable() -> None:
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    assert {v: 1, w: 2}[w] == 2
    assert v != w
    with pytest.raises(TypeError, match=r"'Variable' object is not iterable. Use tf.unstack"):
        list(v)


def test_loading_needs_a_session() -> None:
    with pytest.raises(ValueError, match="Either session argument should be provided or default"):
        tf.Variable(1.0).load(2.0)


def test_the_global_initializer_is_called_init_and_initializes_global_variables(
    machine: interpreter.Interpreter,
) -> None:
    v, w = tf.Variable(1.0), tf.Variable(2.0, collections=["local_variables"])
    init = tf.global_variables_initializer()
    assert (init.name, init.type, init.control_inputs) == ("init", "NoOp", [v.initializer])
    report = tf.report_uninitialized_variables()
    assert machine.run(report).tolist() == [b"Variable", b"Variable_1"]
    machine.run(init)
    assert machine.run(report).tolist() == [b"Variable_1"]
    machine.run(tf.local_variables_initializer())
    assert machine.run(report).tolist() == []
    assert machine.run(tf.report_uninitialized_variables([])).tolist() == []
    assert machine.run(tf.is_variable_initialized(w))
    assert tf.variables_initializer([v, w], name="some").name == "some"


def test_the_report_of_uninitialized_variables_runs_on_a_cpu() -> None:
    with tf.device("/gpu:0"):
        assert tf.report_uninitialized_variables().device == "/device:CPU:0"
        tf.Variable(1.0)
        assert tf.report_uninitialized_variables().device == "/device:CPU:0"


def test_a_reference_variable_may_have_a_shape_of_its_own() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        unknown = tf.TensorShape(None)
        v = tf.Variable([1.0, 2.0], shape=unknown, validate_shape=False, use_resource=False)
        assert v.shape.ndims is None
        session.run(v.initializer)
        session.run(tf.assign(v, [[1.0, 2.0, 3.0]], validate_shape=False))
        assert session.run(v).tolist() == [[1, 2, 3]]


def test_references_of_tensors_and_variables_are_keys() -> None:
    with tf.Graph().as_default():
        x, y = tf.Variable(1), tf.constant(1)
        for each in (x, y):
            reference = each.experimental_ref()
            assert reference.deref() is each
            assert {reference: "found"}[each.experimental_ref()] == "found"
            assert repr(reference) == f"<Reference wrapping {each!r}>"
        assert x.experimental_ref() != y.experimental_ref()
        with pytest.raises(TypeError, match="is not a reference"):
            assert x.experimental_ref() == x
