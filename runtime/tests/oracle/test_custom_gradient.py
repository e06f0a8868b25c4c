"""`tf.custom_gradient`, `tf.hessians` and the ops of gradients have TensorFlow's results."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan
from capstan.framework.raw import raw

pytestmark = genuine.MARKS


def outcome(tf: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        x, start = tf.placeholder(tf.float32, [2]), tf.constant(1.5)
        w = tf.get_variable("w", initializer=3.0)

        @tf.custom_gradient
        def scaled(value: Any, by: Any) -> Any:
            def gradient(dy: Any, variables: Any = None) -> Any:
                assert variables == [w]
                return (dy * 10.0, None), [tf.reduce_sum(dy) * 20.0]

            return tf.tanh(value * w) * by, gradient

        @tf.custom_gradient
        def doubled(value: Any) -> Any:
            return [value * 2.0, value], lambda first, second: first * 3.0 + second * value

        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, doubled(y)[0]), [0, start])[1]
        z = tf.cond(w > 0.0, lambda: scaled(x, 4.0), lambda: x)
        second = tf.reduce_sum(x) ** 3 * w + tf.reduce_sum(tf.exp(x))
        session.run(tf.global_variables_initializer())
        return session.run(
            [
                tf.gradients(y, start),
                tf.gradients(z, [x, w]),
                tf.gradients(doubled(x)[1], x),
                tf.hessians([second, start**4], [x, start]),
            ],
            {x: [0.25, -0.5]},
        )


def test_gradients_of_functions_and_second_derivatives_are_those_of_tensorflow(v1: Any) -> None:
    for found, expected in zip(outcome(capstan), outcome(v1), strict=True):
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_a_prevented_gradient_is_refused_as_by_tensorflow(tf: Any, v1: Any) -> None:
    def refusal(module: Any, prevented: Any) -> str:
        with module.Graph().as_default(), module.Session() as session:
            x = module.constant(2.0)
            y = prevented(input=x, message="no second derivative") * 3.0
            assert session.run(y) == 6
            with pytest.raises(LookupError) as raised:
                module.gradients(y, x)
            return str(raised.value)

    # TensorFlow shows the bytes of the reason.
    expected = refusal(v1, tf.raw_ops.PreventGradient).replace("b'", "").replace("'", "")
    assert refusal(capstan, raw.PreventGradient) == expected


def test_gradients_of_roots_from_a_tensorflow_client_run_on_our_tasks(
    v1: Any, tasks: genuine.Tasks
) -> None:
    """Their graphs have ops for these gradients, which Capstan's own graphs do not have."""
    found = []
    for target in (tasks.target(), ""):
        with v1.Graph().as_default(), v1.Session(target) as session:
            x = v1.constant([0.5, 2.0])
            ys = [v1.sqrt(x), v1.rsqrt(x), v1.reciprocal(x), v1.nn.leaky_relu(x - 1)]
            slopes = [v1.gradients(y, x)[0] for y in ys]
            found.append(session.run([slopes, [v1.gradients(slope, x)[0] for slope in slopes[:3]]]))
    for mine, theirs in zip(*([*first, *second] for first, second in found), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
