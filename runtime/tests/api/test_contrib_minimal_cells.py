"""`MinimalRNNCell` and `CFNCell` of `tf.contrib.rnn`, against their formulas."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(2, 3)).astype(np.float32)
STATE = RANDOM.normal(size=(2, 4)).astype(np.float32)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def run(cell: Any) -> tuple[Any, dict[str, Any]]:
    """Return the new state of a cell, and its weights by name."""
    output, state = cell(tf.constant(X), tf.constant(STATE))
    weights = {each.name: each for each in tf.global_variables()}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, new, values = session.run([output, state, weights])
    np.testing.assert_array_equal(found, new)
    return found, values


def test_an_update_gate_mixes_the_state_and_the_mapped_inputs() -> None:
    with tf.Graph().as_default():
        found, weights = run(tf.contrib.rnn.MinimalRNNCell(4, name="cell"))
    kernel, bias = weights["cell/kernel:0"], weights["cell/bias:0"]
    assert (kernel.shape, bias.tolist()) == ((11, 4), [1.0] * 4)
    mapped = np.tanh(X @ kernel[:3])
    update = sigmoid(np.concatenate([mapped, STATE], 1) @ kernel[3:] + bias)
    np.testing.assert_allclose(found, update * STATE + (1 - update) * mapped, rtol=1e-5, atol=1e-6)


def test_a_chaos_free_network_has_two_gates() -> None:
    with tf.Graph().as_default():
        found, weights = run(tf.contrib.rnn.CFNCell(4, activation="relu", name="cell"))
    kernel, recurrent = weights["cell/kernel:0"], weights["cell/recurrent_kernel:0"]
    gates = sigmoid(STATE @ recurrent + X @ kernel[:, :8] + weights["cell/bias:0"])
    kept = gates[:, :4] * np.maximum(STATE, 0)
    new = (1 - gates[:, 4:]) * np.maximum(X @ kernel[:, 8:], 0)
    np.testing.assert_allclose(found, kept + new, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["MinimalRNNCell", "CFNCell"])
def test_a_cell_runs_in_a_loop(kind: str) -> None:
    with tf.Graph().as_default():
        cell = getattr(tf.contrib.rnn, kind)(4)
        outputs, _ = tf.nn.dynamic_rnn(cell, tf.constant(X[:, None]), dtype=tf.float32)
        assert outputs.shape.as_list() == [2, 1, 4]
        assert (cell.state_size, cell.output_size) == (4, 4)
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"inputs\.shape|last dim"):
        getattr(tf.contrib.rnn, kind)(4)(tf.placeholder(tf.float32, [2, None]), tf.constant(STATE))
