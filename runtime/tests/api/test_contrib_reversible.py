"""Reversible blocks and recomputed functions have the gradients of ordinary ones."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

layers = tf.contrib.layers


def dense(x: Any, sides: Any = None) -> Any:
    hidden = tf.layers.dense(x, 3, tf.tanh)
    for side in sides or ():
        hidden = hidden * side
    return tf.layers.dense(hidden, 3)


def block_gradients(is_efficient: bool, with_sides: bool) -> Any:
    """Return the outputs, the names of the variables, and all gradients of a block."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        initializer = tf.random_uniform_initializer(-1.0, 1.0, seed=5)
        x1, x2, s1, s2 = (tf.constant(each) for each in INPUTS)
        sides = {"f_side_input": [s1], "g_side_input": [s2, s1]} if with_sides else {}
        with tf.variable_scope("net", initializer=initializer):
            y1, y2 = layers.rev_block(x1, x2, dense, dense, 3, is_training=is_efficient, **sides)
        variables = tf.trainable_variables()
        loss = tf.reduce_sum(y1 * y1) + tf.reduce_sum(tf.sin(y2))
        wanted = [x1, x2, *([s1, s2] if with_sides else []), *variables]
        found = tf.gradients(loss, wanted)
        session.run(tf.global_variables_initializer())
        return session.run([y1, y2]), [each.op.name for each in variables], session.run(found)


INPUTS = np.random.default_rng(2).normal(size=(4, 2, 3)).astype("f")


@pytest.mark.parametrize("with_sides", [False, True])
def test_a_block_without_kept_outputs_has_the_same_gradients(with_sides: bool) -> None:
    outputs, names, found = block_gradients(True, with_sides)
    expected_outputs, expected_names, expected = block_gradients(False, with_sides)
    assert names == expected_names
    assert names[0] == "net/revblock/revlayer_0/f/dense/kernel"
    assert names[-1] == "net/revblock/revlayer_2/g/dense_1/bias"
    np.testing.assert_allclose(outputs, expected_outputs, rtol=1e-5)
    for each, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("is_training", [True, False])
def test_blocks_in_a_scope_that_reuses_variables_share_them(is_training: bool) -> None:
    x1, x2 = tf.constant(INPUTS[0]), tf.constant(INPUTS[1])
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        for _ in range(2):
            layers.rev_block(x1, x2, dense, dense, 1, is_training=is_training)
            assert len(tf.trainable_variables()) == 8
    with tf.variable_scope("other"):
        for count in (16, 24):
            layers.rev_block(x1, x2, dense, dense, 1, is_training=is_training)
            assert len(tf.trainable_variables()) == count


def test_a_block_goes_back_to_its_inputs() -> None:
    lib = layers.python.layers.rev_block_lib
    with tf.Graph().as_default(), tf.Session() as session:
        block = lib.RevBlock([dense, dense], [tf.sin, tf.cos], num_layers=2)
        x1, x2 = tf.constant(INPUTS[0]), tf.constant(INPUTS[1])
        y1, y2 = block.forward(x1, x2)
        session.run(tf.global_variables_initializer())
        count = len(tf.trainable_variables())
        back = block.backward(y1, y2)
        assert len(tf.trainable_variables()) == count == 8
        np.testing.assert_allclose(session.run(back), INPUTS[:2], rtol=1e-4, atol=1e-5)
        with pytest.raises(ValueError, match="1 functions, but there are 2 layers"):
            lib.RevBlock([dense], dense, num_layers=2)


def recomputed(wrap: Any) -> tuple[Any, Any, list[bool]]:
    """Return a value, its gradients, and the flags of the calls of the function."""
    calls: list[bool] = []

    def function(x: Any, is_recomputing: bool = False) -> Any:
        calls.append(is_recomputing)
        return layers.fully_connected(x, 2, tf.tanh)

    with tf.Graph().as_default(), tf.Session() as session:
        initializer = tf.random_uniform_initializer(-1.0, 1.0, seed=5)
        x = tf.constant(INPUTS[0])
        with (
            tf.variable_scope("net", use_resource=True),
            tf.contrib.framework.arg_scope(
                [layers.fully_connected],
                biases_initializer=tf.constant_initializer(0.5),
                weights_initializer=initializer,
            ),
        ):
            y = wrap(function)(x)
        found = tf.gradients(tf.sin(y), [x, *tf.trainable_variables()])
        assert len(tf.trainable_variables()) == 2
        session.run(tf.global_variables_initializer())
        return session.run(y), session.run(found), calls


@pytest.mark.parametrize("options", [{}, {"use_data_dep": True, "tupleize_grads": True}])
def test_a_recomputed_function_has_the_same_gradients(options: Any) -> None:
    value, found, calls = recomputed(layers.recompute_grad(**options))
    expected_value, expected, _ = recomputed(lambda function: function)
    assert calls == [False, True]
    np.testing.assert_allclose(value, expected_value, rtol=1e-6)
    for each, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-5)


def test_tensors_from_outside_are_refused() -> None:
    with tf.Graph().as_default():
        outside = tf.constant(1.0)
        with pytest.raises(ValueError, match="closes over Tensor Const"):
            layers.recompute_grad(lambda x: x * outside)
        with pytest.raises(ValueError, match="must be Tensors"):
            layers.recompute_grad(lambda x: x)(1.0)
        variable = tf.get_variable("v", [], use_resource=True)
        with pytest.raises(ValueError, match="closes over Tensor v"):
            layers.recompute_grad(lambda x: x * variable)
