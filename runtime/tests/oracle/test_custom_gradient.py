"""`tf.custom_gradient` and `tf.hessians` have TensorFlow's results."""

from typing import Any

import genuine
import numpy as np

import capstan

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
