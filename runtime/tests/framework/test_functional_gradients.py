"""Gradients of conditionals, loops and calls that are built of functions."""

import contextlib
import unittest.mock
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.api import function
from capstan.core import function as functions
from capstan.framework.raw import raw

FLOAT = tf.float32


@pytest.fixture(autouse=True)
def _fresh_graph() -> None:
    tf.reset_default_graph()


def named(body: Callable[..., Any], *types: Any) -> functions.Reference:
    """Return a reference to a new function of the default graph."""

    def wrapped(*values: Any) -> Any:
        return body(*values)

    made = function.Defun(*types)(wrapped)
    made.add_to_graph(tf.get_default_graph())
    return functions.Reference(made.name)


def chosen(pred: Any, inputs: Sequence[Any], then: Any, otherwise: Any) -> Any:
    types = [FLOAT] * len(inputs)
    branches = {
        "then_branch": named(then, *types),
        "else_branch": named(otherwise, *types),
    }
    return raw.If(pred, inputs, Tout=[FLOAT], **branches)[0]


def repeated(count: int, y: Any, body: Callable[[Any], Any]) -> Any:
    """Return `body` applied `count` times to `y`, by a loop."""
    limit = named(lambda i, y: i < count, tf.int32, FLOAT)
    step = named(lambda i, y: (i + 1, body(y)), tf.int32, FLOAT)
    return raw.While([0, y], cond=limit, body=step)[1]


def called(inputs: Sequence[Any], body: Any) -> Any:
    reference = named(body, *[FLOAT] * len(inputs))
    return raw.StatefulPartitionedCall(inputs, Tout=[FLOAT], f=reference)[0]


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def drawn(x: Any) -> Any:
    return x * tf.random_uniform([])


def drawn_twice(x: Any) -> Any:
    return repeated(2, x, drawn)


ONCE: dict[str, Callable[[Any], Any]] = {
    "If": lambda x: chosen(True, [x], drawn, lambda x: x),
    "Case": lambda x: raw.Case(
        np.int32(1),
        [x],
        Tout=[FLOAT],
        branches=[named(lambda x: x, FLOAT), named(drawn, FLOAT)],
    )[0],
    "While": lambda x: repeated(3, x, drawn),
    "PartitionedCall": lambda x: called([x], drawn),
    "Defun": lambda x: function.Defun(FLOAT)(drawn)(x),
    "If in While": lambda x: repeated(3, x, lambda y: chosen(True, [y], drawn, drawn)),
    "While in Defun": lambda x: function.Defun(FLOAT)(drawn_twice)(x),
}


@pytest.mark.e2e
@pytest.mark.parametrize("name", ONCE)
def test_a_body_that_draws_random_numbers_runs_once(name: str) -> None:
    x = tf.placeholder(FLOAT, [])
    y = ONCE[name](x)
    (grad,) = tf.gradients(y, x)
    value, slope = run([y, grad], {x: 2.0})
    assert slope == pytest.approx(value / 2.0, rel=1e-5)
    assert value not in (0.0, 2.0)


@pytest.mark.e2e
def test_a_body_that_dequeues_takes_each_element_once() -> None:
    queue = tf.FIFOQueue(10, [FLOAT], [[]])
    filled = queue.enqueue_many([np.float32([2, 3, 5, 7])])
    x = tf.placeholder(FLOAT, [])

    def step(i: Any, y: Any, handle: Any) -> Any:
        (value,) = raw.QueueDequeueV2(handle, component_types=[FLOAT])
        return i + 1, y * value, handle

    types = tf.int32, FLOAT, tf.resource
    limit = named(lambda i, y, handle: i < 3, *types)
    y = raw.While([0, x, queue.queue_ref], cond=limit, body=named(step, *types))[1]
    (grad,) = tf.gradients(y, x)
    with tf.Session() as session:
        session.run(filled)
        assert session.run([y, grad], {x: 1.0}) == [30.0, 30.0]
        assert session.run(queue.dequeue()) == 7.0


@pytest.mark.e2e
def test_an_unused_result_and_a_number_have_no_influence() -> None:
    x, n = tf.placeholder(FLOAT, []), tf.placeholder(tf.int32, [])
    first = named(lambda x, n: (x * 2.0, n + 1), FLOAT, tf.int32)
    second = named(lambda x, n: (x * tf.cast(n, FLOAT), n), FLOAT, tf.int32)
    pred = tf.placeholder(tf.bool, [])
    y, _ = raw.If(pred, [x, n], Tout=[FLOAT, tf.int32], then_branch=first, else_branch=second)
    found = tf.gradients(y, [x, n, pred])
    assert found[1:] == [None, None]
    assert run(found[0], {x: 1.0, n: 5, pred: True}) == 2.0
    assert run(found[0], {x: 1.0, n: 5, pred: False}) == 5.0


def shaped(tensor: Any) -> Any:
    tensor.set_shape([])
    return tensor


def damped(y: Any) -> Any:
    return tf.exp(-y) * y


AROUND: dict[str, Callable[[Any], Any]] = {
    "If in a loop of TensorFlow 1": lambda x: tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (
            i + 1,
            shaped(chosen(y > 2.0, [y, x], lambda y, x: damped(y) * x, lambda y, x: y * x * x)),
        ),
        [0, x],
    )[1],
    "While in a loop of TensorFlow 1": lambda x: tf.while_loop(
        lambda i, y: i < 2, lambda i, y: (i + 1, shaped(repeated(3, y * x, damped))), [0, x]
    )[1],
    "While in a conditional of TensorFlow 1": lambda x: tf.cond(
        x > 1.0, lambda: repeated(3, x, damped), lambda: x * 2.0
    ),
}


@pytest.mark.e2e
@pytest.mark.parametrize("name", AROUND)
def test_functions_may_be_called_within_control_flow_of_tensorflow_1(name: str) -> None:
    x = tf.placeholder(FLOAT, [])
    y = AROUND[name](x)
    (grad,) = tf.gradients(y, x)
    with tf.Session() as session:
        above, below, slope = (
            session.run(each, {x: value}) for each, value in ((y, 1.31), (y, 1.29), (grad, 1.3))
        )
    assert slope == pytest.approx((above - below) / 0.02, rel=1e-2)


@pytest.mark.e2e
def test_a_loop_in_a_branch_has_gradients_of_any_order() -> None:
    x, pred = tf.placeholder(FLOAT, []), tf.placeholder(tf.bool, [])
    y = chosen(pred, [x], lambda x: repeated(2, x, lambda y: y * y), lambda x: x * x * x)
    orders = [y]
    for _ in range(3):
        orders += tf.gradients(orders[-1], x)
    assert run(orders, {x: 2.0, pred: True}) == [16.0, 32.0, 48.0, 48.0]
    assert run(orders, {x: 2.0, pred: False}) == [8.0, 12.0, 12.0, 6.0]


@pytest.mark.e2e
def test_the_gradient_of_an_array_in_a_function_is_refused() -> None:
    x = tf.placeholder(FLOAT, [3])

    def branch(x: Any) -> Any:
        return tf.TensorArray(FLOAT, 3).unstack(x).read(1)

    y = chosen(True, [x], branch, lambda x: x[0])
    assert run(y, {x: [2.0, 3.0, 5.0]}) == 3.0
    with pytest.raises(ValueError, match="use tensor lists there"):
        tf.gradients(y, x)


@pytest.mark.e2e
def test_the_shapes_of_loop_variables_may_change() -> None:
    x = tf.placeholder(FLOAT, [None])
    y = repeated(2, x, lambda y: tf.concat([y, y * y], 0))
    (grad,) = tf.gradients(y, x)
    np.testing.assert_allclose(run(grad, {x: [2.0]}), [1 + 4 + 4 + 32])


@pytest.mark.e2e
def test_two_gradients_share_the_results_that_they_need() -> None:
    x = tf.placeholder(FLOAT, [])
    y = repeated(3, x, tf.exp)
    (first,) = tf.gradients(y, x)
    count = len(y.op.outputs)
    (second,) = tf.gradients(y * 2.0, x)
    assert len(y.op.outputs) == count
    found = run([first, second], {x: -1.0})
    assert found[1] == pytest.approx(2.0 * found[0])


@pytest.mark.e2e
def test_a_conditional_of_tensorflow_1_in_a_branch_is_computed_again() -> None:
    x = tf.placeholder(FLOAT, [])

    def branch(x: Any) -> Any:
        return tf.cond(x > 1.0, lambda: x * x * x, lambda: x)

    y = chosen(True, [x], branch, lambda x: x)
    (first,) = tf.gradients(y, x)
    (second,) = tf.gradients(first, x)
    assert run([first, second], {x: 2.0}) == [12.0, 12.0]
    assert run([first, second], {x: 0.5}) == [1.0, 0.0]


AGAIN: dict[str, Callable[[Any, Any], Any]] = {
    "If": lambda x, body: chosen(True, [x], body, lambda x: x),
    "PartitionedCall": lambda x, body: called([x], body),
    "Defun": lambda x, body: function.Defun(FLOAT)(body)(x),
}


@pytest.mark.e2e
@pytest.mark.parametrize("name", AGAIN)
def test_a_body_is_computed_again_only_if_a_second_run_changes_nothing(name: str) -> None:
    def either(branch: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def body(x: Any) -> Any:
            return tf.cond(x > 1.0, lambda: branch(x), lambda: x)

        return body

    x = tf.placeholder(FLOAT, [])
    pure = AGAIN[name](x, either(lambda x: called([x], tf.square)))
    assert run(tf.gradients(pure, x)[0], {x: 3.0}) == 6.0
    for branch in (drawn, lambda x: called([x], drawn)):
        random = AGAIN[name](x, either(branch))
        with pytest.raises(ValueError, match="The function must not run twice"):
            tf.gradients(random, x)


@pytest.mark.e2e
def test_a_conditional_of_tensorflow_1_in_a_loop_is_computed_again() -> None:
    x = tf.placeholder(FLOAT, [])
    y = repeated(2, x, lambda y: tf.cond(y > 1.0, lambda: y * y, lambda: y * 0.5))
    (first,) = tf.gradients(y, x)
    (second,) = tf.gradients(first, x)
    assert run([y, first, second], {x: 2.0}) == [16.0, 32.0, 48.0]
    assert run([y, first, second], {x: 0.5}) == [0.125, 0.25, 0.0]


@pytest.mark.parametrize("body", [lambda x: raw.Exp(np.float32(0)), lambda x: np.float32(1)])
def test_a_call_of_constants_in_a_branch_does_not_run_when_another_is_taken(body: Any) -> None:
    x, pred = tf.placeholder(FLOAT, []), tf.placeholder(tf.bool, [])
    y = chosen(pred, [x], lambda x: called([x * 2.0], body), lambda x: x * 3.0)
    assert run(y, {x: 2.0, pred: True}) == 1.0
    assert run(y, {x: 2.0, pred: False}) == 6.0


@pytest.mark.e2e
@pytest.mark.parametrize("is_first", [True, False])
def test_a_branch_of_constants_does_not_run_when_another_is_taken(is_first: bool) -> None:
    x, pred = tf.placeholder(FLOAT, []), tf.placeholder(tf.bool, [])
    branches = [lambda x: raw.Reshape(raw.Fill([1], np.float32(7)), []), lambda x: x * 3.0]
    y = chosen(pred, [x], *(branches if is_first else branches[::-1]))
    assert run(y, {x: 2.0, pred: is_first}) == 7.0
    assert run(y, {x: 2.0, pred: not is_first}) == 6.0


@pytest.mark.e2e
def test_a_session_refuses_a_call_that_changed_after_a_run() -> None:
    x = tf.placeholder(FLOAT, [])
    y = chosen(True, [x], lambda x: tf.exp(x) * x, lambda x: x)
    with tf.Session() as session:
        session.run(y, {x: 0.0})
        (grad,) = tf.gradients(y, x)
        with pytest.raises(RuntimeError, match="was changed after it was run by a session"):
            session.run(grad, {x: 0.0})
    assert run(grad, {x: 0.0}) == 1.0


@pytest.mark.e2e
def test_a_graph_with_gradients_can_be_exported_and_imported() -> None:
    x = tf.placeholder(FLOAT, [], name="x")
    y = repeated(2, x, lambda y: chosen(y > 0.0, [y], tf.exp, tf.square))
    tf.identity(tf.gradients(y, x)[0], name="grad")
    message = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        assert run("grad:0", {"x:0": -1.0}) == pytest.approx(-2.0 * np.e)


def test_a_missing_function_is_named() -> None:
    x = tf.placeholder(FLOAT, [])
    absent = functions.Reference("absent")
    y = raw.If(True, [x], Tout=[FLOAT], then_branch=absent, else_branch=absent)[0]
    with pytest.raises(LookupError, match="its function 'absent' is not in the graph"):
        tf.gradients(y, x)


def test_a_call_ignores_gradients_that_only_the_exporting_process_knew() -> None:
    x = tf.placeholder(FLOAT, [])
    call = named(tf.exp, FLOAT)
    y = raw.PartitionedCall([x], Tout=[FLOAT], f=call, _gradient_op_type=b"PartitionedCall-17")[0]
    assert run(tf.gradients(y, x)[0], {x: 0.0}) == 1.0


def test_a_session_reads_no_operation_that_calls_only_some_of_its_new_functions() -> None:
    x = tf.constant(2.0)
    y = repeated(3, x, lambda y: y * y)
    loop = y.op
    before = loop.node
    seen: list[Any] = []

    graph = tf.get_default_graph()
    changing = type(graph).changing

    @contextlib.contextmanager
    def watched(self: Any, op: Any) -> Any:
        seen.append(op.node)
        with changing(self, op):
            yield
        seen.append(op.node)

    with unittest.mock.patch.object(type(graph), "changing", watched):
        (grad,) = tf.gradients(y, x)
    assert seen[0] == before
    assert len(seen[1].inputs) > len(before.inputs)
    assert len(seen[1].inputs) == len(seen[1].attrs["T"])
    assert run(grad) == 8 * 2.0**7


def test_an_attribute_may_name_a_function_by_a_string() -> None:
    @function.Defun(tf.float32, func_name="SquareAndOne")
    def square_and_one(x: Any) -> Any:
        return x * x + 1.0

    square_and_one.add_to_graph(tf.get_default_graph())
    derivative = raw.SymbolicGradient(
        [tf.constant(2.0), tf.constant(0.1)], Tout=[FLOAT], f="SquareAndOne"
    )
    np.testing.assert_allclose(run(derivative)[0], 0.4, rtol=1e-6)
