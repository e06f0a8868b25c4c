"""Gradients in a function that captures the result of a loop of the graph around it."""

from collections.abc import Callable
from typing import Any

import pytest

import capstan as tf


def in_a_function_behind_a_loop(
    wanted: Callable[[Any, Any], Any], *, back_prop: bool = True
) -> Any:
    """Return gradients in a function that captures the result of a loop of `p`, and reads `x`."""
    p = tf.constant(2.0, name="p")
    power = tf.while_loop(
        lambda i, _: i < 3, lambda i, a: (i + 1, a * p), [0, 1.0], back_prop=back_prop, name="loop"
    )[1]

    @tf.function(autograph=False)
    def inside(x: Any) -> Any:
        return [
            tf.constant(-1.0) if slope is None else slope
            for slope in tf.gradients(power * x, wanted(p, x))
        ]

    slopes = inside(tf.constant(5.0))
    with tf.Session() as session:
        return session.run(slopes)


def test_a_loop_outside_of_a_function_has_no_gradients_in_it() -> None:
    assert in_a_function_behind_a_loop(lambda p, x: [x]) == [8]
    with pytest.raises(ValueError, match=r"'loop_1/Exit_1' leaves, .* around the function"):
        in_a_function_behind_a_loop(lambda p, x: [p, x])


def test_a_loop_without_back_prop_outside_of_a_function_is_a_constant() -> None:
    assert in_a_function_behind_a_loop(lambda p, x: [p, x], back_prop=False) == [-1, 8]


def test_a_loop_of_functions_outside_of_a_function_has_gradients_in_it() -> None:
    tf.enable_control_flow_v2()
    try:
        assert in_a_function_behind_a_loop(lambda p, x: [p, x]) == [60, 8]
    finally:
        tf.disable_control_flow_v2()
