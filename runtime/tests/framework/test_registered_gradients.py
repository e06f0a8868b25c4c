"""`tf.RegisterGradient` and `Graph.gradient_override_map`."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.core import dtypes
from capstan.framework.raw import raw
from capstan.python.framework import ops


@tf.RegisterGradient("TestOfSevenfold")
def _sevenfold(op: Any, gradient: Any) -> Any:
    return gradient * op.inputs[0] * 7.0


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def test_operations_in_the_block_have_the_gradient_that_it_names() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant([1.0, 2.0])
        with graph.gradient_override_map({"Identity": "TestOfSevenfold", "Abs": "Square"}):
            inside, absolute = tf.identity(x), tf.abs(x)
        outside = tf.identity(x)
        found = run([tf.gradients(y, x)[0] for y in (inside, absolute, outside)])
    assert np.array_equal(found, [[7.0, 14.0], [2.0, 4.0], [1.0, 1.0]])


@pytest.mark.e2e
def test_the_gradient_of_a_loop_uses_the_gradients_that_its_body_names() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant(2.0)

        def body(i: Any, y: Any) -> Any:
            with graph.gradient_override_map({"Square": "TestOfSevenfold"}):
                return i + 1, tf.square(y)

        _, y = tf.while_loop(lambda i, y: i < 2, body, [0, x])
        # 7 y at y = 4, times 7 y at y = 2
        assert run(tf.gradients(y, x)) == [28.0 * 14.0]


tf.NotDifferentiable("TestOfNothing")


@pytest.fixture
def _functional() -> Iterator[None]:
    tf.enable_control_flow_v2()
    yield
    tf.disable_control_flow_v2()


@pytest.mark.e2e
@pytest.mark.usefixtures("_functional")
def test_gradients_in_a_loop_of_functions_end_where_the_program_says() -> None:
    with tf.Graph().as_default():
        x, y = tf.constant([1.0, 2.0, 3.0]), tf.constant(5.0)
        scalar = np.zeros([0], np.int32)
        rows = raw.TensorListFromTensor(x, scalar)

        def body(i: Any, rows: Any, total: Any) -> Any:
            row = raw.TensorListGetItem(rows, i, scalar, element_dtype=dtypes.float32)
            with tf.get_default_graph().gradient_override_map({"Square": "TestOfNothing"}):
                return i + 1, rows, total * y + tf.square(row)

        start = (tf.constant(0), rows, tf.constant(1.0))
        total = tf.while_loop(lambda i, rows, total: i < 3, body, start)[2]
        by_x, by_y = run(tf.gradients(total, [x, y]))
    assert np.array_equal(by_x, [0.0, 0.0, 0.0])
    # The derivative of y**3 + y**2 + 4 * y + 9
    assert by_y == 3 * 25 + 2 * 5 + 4


def test_a_gradient_has_one_name_and_a_name_one_gradient() -> None:
    for taken in ("TestOfSevenfold", "Square"):
        with pytest.raises(KeyError, match="Registering two gradient with name"):
            tf.RegisterGradient(taken)(_sevenfold)
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.RegisterGradient(_sevenfold)  # type: ignore[arg-type]


def test_the_gradient_of_an_operation_can_be_called() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant(3.0)
        with graph.gradient_override_map({"Identity": "TestOfSevenfold"}):
            named = tf.identity(x)
        by_rule = ops.get_gradient_function(tf.square(x).op)
        assert ops.get_gradient_function(named.op) is _sevenfold
        assert ops.get_gradient_function(x.op) is None
        assert ops.get_gradient_function(tf.floor(x).op) is None
        assert run(by_rule(tf.square(x).op, tf.constant(1.0))) == 6.0
        unknown = graph.create_op("TestOfAnUnknownOp", [x], [tf.float32])
        with pytest.raises(LookupError, match="op type: TestOfAnUnknownOp"):
            ops.get_gradient_function(unknown)


def test_a_block_requires_a_map_from_strings_to_strings() -> None:
    with tf.Graph().as_default() as graph:
        for wrong in ([("Identity", "Square")], {"Identity": 3}, {3: "Square"}):
            with (
                pytest.raises(TypeError, match="must be a dictionary mapping strings to strings"),
                graph.gradient_override_map(wrong),
            ):
                pass


def test_an_unregistered_gradient_is_an_error() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0)
        with graph.gradient_override_map({"Identity": "TestOfNobody"}):
            y = tf.identity(x)
        with pytest.raises(LookupError, match="No gradient defined for operation 'Identity'"):
            tf.gradients(y, x)
