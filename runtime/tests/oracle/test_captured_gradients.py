"""Gradients that a function, a branch or a loop computes of tensors of the graph around it.

Capstan gives TensorFlow's values (python/ops/gradients_test.py).
"""

from collections.abc import Callable, Iterator
from typing import Any

import comparison
import genuine
import pytest

import capstan
from capstan.api import function as capstan_function

pytestmark = genuine.MARKS


@pytest.fixture(params=[False, True], ids=["v1", "v2"])
def _control_flow(v1: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """Build conditions and loops as the ops of TensorFlow 1 or as functions of TensorFlow 2."""
    apis = (v1, capstan)
    for tf in apis:
        (tf.enable_control_flow_v2 if request.param else tf.disable_control_flow_v2)()
    yield
    for tf in apis:
        tf.disable_control_flow_v2()


def defun(tf: Any) -> Any:
    if tf is capstan:
        return capstan_function.Defun
    from tensorflow.python.framework import function

    return function.Defun


def through_two_functions(tf: Any) -> Any:
    x1, x2 = tf.constant(1.0), tf.constant(2.0)
    x3 = x1 * x2

    @tf.function(autograph=False)
    def outer() -> Any:
        outer1 = tf.identity(x1)

        @tf.function(autograph=False)
        def inner() -> Any:
            inner1, inner2, inner3 = tf.identity(outer1), tf.identity(x2), tf.identity(x3)
            return tf.gradients([inner1, inner2, inner3, x1], [x1, x2])

        return inner()

    return outer()


def of_an_intermediate_of_a_function(tf: Any) -> Any:
    x = tf.constant(1.0)

    @tf.function(autograph=False)
    def outer() -> Any:
        y = x * 2.0

        @tf.function(autograph=False)
        def inner() -> Any:
            z = y * 3.0
            return tf.gradients(z, y) + tf.gradients(z * y, [x, y])

        return inner()

    return outer()


def of_a_tensor_outside(tf: Any) -> Any:
    x = tf.constant(1.5)
    y = x * x * 2.0

    @tf.function(autograph=False)
    def inside() -> Any:
        return tf.gradients(y, x)

    return inside()


def of_a_captured_variable(tf: Any) -> Any:
    variable = tf.get_variable("v", initializer=1.5, use_resource=True)
    outside = variable * 3.0

    @tf.function(autograph=False)
    def inside() -> Any:
        return tf.gradients(variable * 2.0 + outside, variable)

    return inside()


def of_tensors_between(tf: Any) -> Any:
    x = tf.constant([1.5, 2.0])
    y = tf.square(x)
    z = tf.sin(y)

    @tf.function(autograph=False)
    def inside(w: Any) -> Any:
        v = z * w + y
        return tf.gradients(v, [x, y, z, w]), tf.gradients(v, x, stop_gradients=[z])

    return inside(tf.constant(3.0))


def with_weights(tf: Any) -> Any:
    x = tf.constant([1.5, 2.0])
    y = tf.square(x)

    @tf.function(autograph=False)
    def inside(w: Any) -> Any:
        return tf.gradients([y * w, y], [x, w], grad_ys=[y, None])

    return inside(tf.constant(3.0))


def of_second_order(tf: Any) -> Any:
    x = tf.constant(1.5)
    y = x * x * x

    @tf.function(autograph=False)
    def inside() -> Any:
        (first,) = tf.gradients(y, x)
        return first, tf.gradients(first * y, x)

    return inside()


def of_unconnected_tensors(tf: Any) -> Any:
    x, other = tf.constant([1.5]), tf.constant([1.0, 2.0])
    y = x * 2.0

    @tf.function(autograph=False)
    def inside() -> Any:
        assert tf.gradients(y, other) == [None]
        return tf.gradients(y, [x, other], unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return inside()


def in_a_branch(tf: Any) -> Any:
    x = tf.constant(1.5)
    y = x * x
    pred = tf.placeholder_with_default(tf.constant(True), [])

    def branch() -> Any:
        z = y * 3.0
        return tf.gradients(z, [x, y])

    return tf.cond(pred, branch, lambda: [x, y])


def in_a_loop(tf: Any) -> Any:
    x = tf.constant(1.5)
    y = x * x

    def body(i: Any, total: Any) -> Any:
        z = y * tf.cast(i + 1, tf.float32)
        return i + 1, total + tf.gradients(z, y)[0]

    return tf.while_loop(lambda i, _: i < 3, body, [0, 0.0])


def in_a_loop_through_the_graph_around(tf: Any) -> Any:
    x = tf.constant(1.5)
    y = x * x

    def body(i: Any, total: Any) -> Any:
        z = y * tf.cast(i + 1, tf.float32)
        return i + 1, total + tf.gradients(z, x)[0]

    return tf.while_loop(lambda i, _: i < 3, body, [0, 0.0])


def in_a_loop_in_a_function(tf: Any) -> Any:
    x = tf.constant(1.5)
    y = x * x

    @tf.function(autograph=False)
    def outer(w: Any) -> Any:
        u = y * w

        def body(i: Any, total: Any) -> Any:
            z = u * tf.cast(i + 1, tf.float32)
            a, b, c = tf.gradients(z, [x, w, y])
            return i + 1, total + a + b + c

        return tf.while_loop(lambda i, _: i < 3, body, [0, 0.0])

    return outer(tf.constant(2.0))


def through_a_branch_outside(tf: Any) -> Any:
    x = tf.constant(1.5)
    pred = tf.placeholder_with_default(tf.constant(True), [])
    y = tf.cond(pred, lambda: tf.sin(x) * x, lambda: x)

    @tf.function(autograph=False)
    def inside() -> Any:
        return tf.gradients(y * 2.0, x)

    return inside()


def through_a_call_outside(tf: Any) -> Any:
    x = tf.constant(1.5)
    y = tf.function(lambda x: tf.sin(x) * x, autograph=False)(x)

    @tf.function(autograph=False)
    def inside() -> Any:
        return tf.gradients(y * 2.0, x)

    return inside()


def in_a_defun(tf: Any) -> Any:
    x = tf.constant(1.5)
    y = tf.sin(x) * x

    @defun(tf)(tf.float32)
    def inside(w: Any) -> Any:
        return tf.gradients(y * w, [x, y, w])

    return inside(tf.constant(2.0))


def in_a_defun_in_a_defun(tf: Any) -> Any:
    x = tf.constant(1.5)
    y = tf.sin(x) * x

    @defun(tf)()
    def outer() -> Any:
        z = tf.identity(y) * 3.0

        @defun(tf)()
        def inner() -> Any:
            return tf.gradients(z * y, [x, y, z])

        return inner()

    return outer()


PROGRAMS = [
    through_two_functions,
    of_an_intermediate_of_a_function,
    of_a_tensor_outside,
    of_a_captured_variable,
    of_tensors_between,
    with_weights,
    of_second_order,
    of_unconnected_tensors,
    in_a_branch,
    in_a_loop,
    in_a_loop_through_the_graph_around,
    in_a_loop_in_a_function,
    through_a_branch_outside,
    through_a_call_outside,
    in_a_defun,
    in_a_defun_in_a_defun,
]


def values(tf: Any, program: Callable[[Any], Any]) -> list[Any]:
    with tf.Graph().as_default():
        fetches = tf.nest.flatten(program(tf))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found: list[Any] = session.run(fetches)
    return found


@pytest.mark.usefixtures("_control_flow")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_gradient_of_captured_tensors_has_tensorflows_value(
    program: Callable[[Any], Any], v1: Any
) -> None:
    wanted = values(v1, program)
    for value, expected in zip(values(capstan, program), wanted, strict=True):
        comparison.close(value, expected, 1e-5)
