"""`tf.custom_gradient`."""

from typing import Any

import numpy as np
import pytest
from fresh_sessions import run

import capstan as tf


@tf.custom_gradient
def doubled(x: Any) -> Any:
    """Double x."""
    return 2.0 * x, lambda dy: 7.0 * dy * x


def test_the_gradient_comes_from_the_function_that_is_returned() -> None:
    x = tf.constant([1.0, 2.0])
    y = doubled(x)
    assert (y.op.type, doubled.__name__, doubled.__doc__) == ("IdentityN", "doubled", "Double x.")
    found = run([y, tf.gradients(y, x)[0], tf.gradients(doubled(y), x)[0]])
    assert np.array_equal(found, [[2.0, 4.0], [7.0, 14.0], [98.0, 392.0]])


def test_structures_and_methods_keep_their_form() -> None:
    class Scale:
        @tf.custom_gradient()
        def apply(self, pair: Any, z: Any) -> Any:
            def gradient(da: Any, db: Any) -> Any:
                return (da, tf.constant(3.0)), db

            return {"a": pair[0], "b": pair[1] * z}, gradient

    x, y, z = tf.constant(1.0), tf.constant(2.0), tf.Variable(4.0)
    results = Scale().apply((x, y), z)
    values, gradients = run([results, tf.gradients(results["b"], [x, y, z])])
    assert values == {"a": 1.0, "b": 8.0}
    assert gradients == [0.0, 3.0, 1.0]


def test_variables_that_the_function_reads_have_gradients() -> None:
    w, fixed = tf.Variable(3.0, name="w"), tf.Variable(5.0, trainable=False)

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        def gradient(dy: Any, variables: Any = None) -> Any:
            assert variables == [w]
            return dy * 10.0, [dy * 20.0]

        return x * w * fixed, gradient

    x = tf.constant(2.0)
    y = scaled(x)
    assert run([y, *tf.gradients(y, [x, w])]) == [30.0, 10.0, 20.0]
    with pytest.raises(TypeError, match="must accept keyword argument 'variables'"):
        tf.custom_gradient(lambda x: (x * w, lambda dy: dy))(x)
    with pytest.raises(ValueError, match="currently supports keywords"):
        scaled(x=x)


def test_a_gradient_may_be_sparse() -> None:
    @tf.custom_gradient
    def second(x: Any) -> Any:
        indices = tf.constant([1])
        return x[1], lambda dy: tf.IndexedSlices(tf.stack([dy]), indices, tf.constant([2]))

    x = tf.constant([1.0, 2.0])
    assert isinstance(gradient := tf.gradients(second(x), x)[0], tf.IndexedSlices)
    assert run([gradient.values, gradient.indices]) == [[1.0], [1]]


@pytest.mark.e2e
def test_the_function_may_run_in_loops_and_branches() -> None:
    x = tf.constant(2.0)
    y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, doubled(y)), [0, x])[1]
    z = tf.cond(x > 1.0, lambda: doubled(x), lambda: x)
    # 7 y at y = 4, times 7 y at y = 2
    assert run([tf.gradients(y, x)[0], tf.gradients(z, x)[0]]) == [28.0 * 14.0, 14.0]
