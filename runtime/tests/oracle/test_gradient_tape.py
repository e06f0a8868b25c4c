"""`tf.GradientTape` in a graph gives TensorFlow's gradients (python/eager/backprop.py)."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS


def of_a_watched_tensor(tf: Any) -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x)


def of_a_tensor_that_nothing_watches(tf: Any) -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    return tape.gradient(y, [x])


def zeros(tf: Any) -> Any:
    x, other, unwatched = tf.constant([3.0, 1.0]), tf.constant([[1.0]]), tf.constant(2.0)
    v = tf.get_variable("v", [2], use_resource=True, initializer=tf.ones_initializer())
    with tf.GradientTape() as tape:
        tape.watch([x, other])
        y = x * x * unwatched
    sources = [x, other, unwatched, v]
    return tape.gradient(y, sources, unconnected_gradients=tf.UnconnectedGradients.ZERO)


def of_variables(tf: Any) -> Any:
    v = tf.get_variable("v", initializer=2.0, use_resource=True)
    w = tf.get_variable("w", initializer=5.0, use_resource=True, trainable=False)
    with tf.GradientTape() as tape:
        y = v * v * w
    return tape.gradient(y, {"v": v, "w": w})


def without_the_variables_that_are_read(tf: Any) -> Any:
    v = tf.get_variable("v", initializer=2.0, use_resource=True)
    w = tf.get_variable("w", initializer=5.0, use_resource=True)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(w)
        y = v * v * w
    return tape.gradient(y, [v, w])


def of_rows(tf: Any) -> Any:
    table = tf.get_variable("t", [4, 2], use_resource=True, initializer=tf.ones_initializer())
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 1, 3]))
    found = tape.gradient(y, table)
    return [found.values, found.indices]


def of_a_second_tape(tf: Any) -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        slope = inner.gradient(y, x)
    return outer.gradient(slope, x)


def past_operations_outside_of_the_block(tf: Any) -> Any:
    x = tf.constant(3.0)
    before = x * 2
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = before * x, before * before
    after = y * 5
    asked = [(y, x), (z, x), (after, x), (x, x), (y, before)]
    return [tape.gradient(target, source) for target, source in asked]


def of_a_source_that_another_source_computes(tf: Any) -> Any:
    x = tf.constant(3.0)
    y = x * 2
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = x * y
    return tape.gradient(z, [x, y])


def past_operations_that_are_not_recorded(tf: Any) -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            z = y * x
        w = z * y
    return tape.gradient(w, x)


def from_the_watch_on(tf: Any) -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.watch(x)
        z = y * x
    return tape.gradient(z, x)


def of_a_result_that_is_watched_after_its_use(tf: Any) -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        z = y * y
        tape.watch(y)
    return tape.gradient(z, [x, y])


def in_two_blocks(tf: Any) -> Any:
    x, tape = tf.constant(3.0), tf.GradientTape()
    with tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = y * x
    return tape.gradient(z, x)


def after_a_reset(tf: Any) -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        tape.watch(x)
        z = y * x
    return tape.gradient(z, x)


def jacobians(tf: Any) -> Any:
    x = tf.constant([[3.0, 1.0], [2.0, 5.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.matmul(x, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) ** 2
    return [tape.jacobian(y, x), tape.batch_jacobian(y, x), tape.jacobian(y[0], x)]


def through_a_function(tf: Any) -> Any:
    v, x = tf.get_variable("v", initializer=2.0, use_resource=True), tf.constant(3.0)

    @tf.function(autograph=False)
    def scaled(value: Any) -> Any:
        return value * v

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x) ** 2
    return tape.gradient(y, [x, v])


def in_a_function(tf: Any) -> Any:
    v = tf.get_variable("v", initializer=2.0, use_resource=True)

    @tf.function(autograph=False)
    def slopes(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * v * v
        return tape.gradient(y, [x, v])

    return slopes(tf.constant(3.0))


def around_a_function(tf: Any) -> Any:
    v, x = tf.get_variable("v", initializer=2.0, use_resource=True), tf.constant(3.0)

    @tf.function(autograph=False)
    def slopes() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x

            @tf.function(autograph=False)
            def inner() -> Any:
                return y * v

            z = inner() * x
        return tape.gradient(z, [x, v])

    return slopes()


def in_a_function_inside_of_the_block(tf: Any) -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)

        @tf.function(autograph=False)
        def slope() -> Any:
            return tape.gradient(x * x, x)

        return slope()


def past_operations_outside_of_a_function(tf: Any) -> Any:
    v = tf.get_variable("v", initializer=2.0, use_resource=True)
    y = v * v

    @tf.function(autograph=False)
    def slopes() -> Any:
        with tf.GradientTape() as tape:
            z = y * v
        return tape.gradient(z, v)

    return slopes()


def of_weighted_targets(tf: Any) -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, z = x * x, x * 3
    return tape.gradient([y, z], x, output_gradients=[tf.constant(2.0), tf.constant(1.0)])


def of_a_variable_by_itself(tf: Any) -> Any:
    v = tf.get_variable("v", initializer=2.0, use_resource=True)
    with tf.GradientTape() as tape:
        v * 2
    return tape.gradient(v, v)


def past_operations_without_a_gradient(tf: Any) -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.floor(x) * x + tf.cast(tf.argmax([x, x]), tf.float32) * x
    return tape.gradient(y, x)


def past_integers(tf: Any) -> Any:
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.cast(tf.cast(x, tf.int32), tf.float32) * 2
        z = y * y
    return tape.gradient(z, [x, y]), tape.gradient(z, y, unconnected_gradients="zero")


PROGRAMS = (
    of_a_watched_tensor,
    of_a_tensor_that_nothing_watches,
    zeros,
    of_variables,
    without_the_variables_that_are_read,
    of_rows,
    of_a_second_tape,
    past_operations_outside_of_the_block,
    of_a_source_that_another_source_computes,
    past_operations_that_are_not_recorded,
    from_the_watch_on,
    of_a_result_that_is_watched_after_its_use,
    in_two_blocks,
    after_a_reset,
    jacobians,
    through_a_function,
    in_a_function,
    around_a_function,
    in_a_function_inside_of_the_block,
    past_operations_outside_of_a_function,
    of_weighted_targets,
    of_a_variable_by_itself,
    past_operations_without_a_gradient,
    past_integers,
)


def outcome(tf: Any, program: Callable[[Any], Any]) -> list[Any]:
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.nest.flatten(program(tf))
        session.run(tf.global_variables_initializer())
        return [None if each is None else session.run(each) for each in found]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients_of_a_tape_are_those_of_tensorflow(v1: Any, program: Any) -> None:
    found, expected = outcome(capstan, program), outcome(v1, program)
    assert [each is None for each in found] == [each is None for each in expected]
    for mine, theirs in zip(found, expected, strict=True):
        if theirs is not None:
            np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_the_watched_variables_are_those_of_tensorflow(v1: Any) -> None:
    def names(tf: Any) -> list[str]:
        with tf.Graph().as_default():
            first = tf.get_variable("first", initializer=2.0, use_resource=True)
            tf.get_variable("unread", initializer=2.0, use_resource=True)
            second = tf.get_variable("second", initializer=2.0, use_resource=True)
            fixed = tf.get_variable("fixed", initializer=2.0, use_resource=True, trainable=False)
            with tf.GradientTape() as tape:
                first.assign_add(second * fixed)
            return [variable.name for variable in tape.watched_variables()]

    assert names(capstan) == names(v1) == ["first:0", "second:0"]
