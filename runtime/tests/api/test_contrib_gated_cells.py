"""The gated, independent and convolutional cells of `tf.contrib.rnn`."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

rnn = tf.contrib.rnn
RANDOM = np.random.RandomState(9)
INPUTS, STATE, MEMORY = (RANDOM.uniform(-1, 1, (3, 4)).astype(np.float32) for _ in range(3))


def sigmoid(value: Any) -> Any:
    return 1 / (1 + np.exp(-value))


def called(cell: Any, state: Any, inputs: Any = INPUTS) -> tuple[Any, Any, dict[str, Any]]:
    """Return the output and the new state of a step, and the random values of the variables."""
    with tf.variable_scope("root", initializer=tf.random_normal_initializer(seed=3)):
        output, new = cell(tf.constant(inputs), state)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        random = np.random.RandomState(5)
        for variable in tf.trainable_variables():
            variable.load(random.randn(*variable.shape.as_list()).astype(np.float32), session)
        found = {v.op.name.split("/", 2)[2]: v for v in tf.trainable_variables()}
        value, new_value, weights = session.run([output, new, found])
        return value, new_value, weights


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_an_update_gate_mixes_the_state_and_a_candidate() -> None:
    value, new, weights = called(rnn.UGRNNCell(4, forget_bias=0.5), tf.constant(STATE))
    products = np.concatenate([INPUTS, STATE], 1) @ weights["kernel"] + weights["bias"]
    kept = sigmoid(products[:, :4] + 0.5)
    close(value, kept * STATE + (1 - kept) * np.tanh(products[:, 4:]))
    np.testing.assert_array_equal(value, new)


@pytest.mark.parametrize("is_narrow", [False, True])
def test_an_intersection_mixes_the_inputs_and_the_outputs(is_narrow: bool) -> None:
    inputs = INPUTS[:, :3] if is_narrow else INPUTS
    cell = rnn.IntersectionRNNCell(4, num_in_proj=4 if is_narrow else None)
    value, new, weights = called(cell, tf.constant(STATE), inputs)
    if is_narrow:
        inputs = inputs @ weights["in_projection/kernel"] + weights["in_projection/bias"]
    products = np.concatenate([inputs, STATE], 1) @ weights["kernel"] + weights["bias"]
    kept, candidate, passed, output = np.split(products, 4, 1)
    kept, passed = sigmoid(kept + 1), sigmoid(passed + 1)
    close(new, kept * STATE + (1 - kept) * np.tanh(candidate))
    close(value, passed * inputs + (1 - passed) * np.maximum(output, 0))


def test_inputs_of_a_wrong_or_unknown_size_are_refused() -> None:
    with pytest.raises(ValueError, match="num_in_proj should be set"):
        rnn.IntersectionRNNCell(5)(tf.constant(INPUTS), tf.zeros([3, 5]))
    for cell in (rnn.UGRNNCell(4), rnn.IntersectionRNNCell(4)):
        with pytest.raises(ValueError, match="Could not infer input size"):
            cell(tf.placeholder(tf.float32, [3, None]), tf.zeros([3, 4]))


def test_the_gates_of_a_simple_recurrent_unit_see_only_the_inputs() -> None:
    value, new, weights = called(rnn.SRUCell(4), tf.constant(STATE))
    candidate, forget, reset, passed = np.split(INPUTS @ weights["kernel"], 4, 1)
    forget, reset = sigmoid(forget + weights["bias"][:4]), sigmoid(reset + weights["bias"][4:])
    memory = forget * STATE + (1 - forget) * candidate
    close(new, memory)
    close(value, reset * np.tanh(memory) + (1 - reset) * passed)


def test_the_units_of_an_independent_cell_see_their_own_states() -> None:
    value, _, weights = called(rnn.IndRNNCell(4, activation=tf.nn.relu), tf.constant(STATE))
    products = INPUTS @ weights["kernel_w"] + STATE * weights["kernel_u"] + weights["bias"]
    close(value, np.maximum(products, 0))


def test_the_units_of_an_independent_gru_see_their_own_states() -> None:
    value, _, weights = called(rnn.IndyGRUCell(4), tf.constant(STATE))
    gates = INPUTS @ weights["gates/kernel_w"] + weights["gates/bias"]
    gates += np.tile(STATE, [1, 2]) * weights["gates/kernel_u"]
    reset, update = np.split(sigmoid(gates), 2, 1)
    candidate = INPUTS @ weights["candidate/kernel"] + weights["candidate/bias"]
    candidate = np.tanh(candidate + reset * STATE * weights["candidate/kernel_u"])
    close(value, update * STATE + (1 - update) * candidate)


def pair() -> Any:
    return tf.nn.rnn_cell.LSTMStateTuple(tf.constant(MEMORY), tf.constant(STATE))


def test_the_units_of_an_independent_lstm_see_their_own_states() -> None:
    value, (memory, output), weights = called(rnn.IndyLSTMCell(4, forget_bias=0.5), pair())
    products = INPUTS @ weights["kernel_w"] + weights["bias"]
    products += np.tile(STATE, [1, 4]) * weights["kernel_u"]
    i, j, f, o = np.split(products, 4, 1)
    expected = MEMORY * sigmoid(f + 0.5) + sigmoid(i) * np.tanh(j)
    close(memory, expected)
    close(output, np.tanh(expected) * sigmoid(o))
    np.testing.assert_array_equal(value, output)


def convolved(values: Any, kernel: Any) -> Any:
    """Return a convolution of odd kernels that keeps the sizes of the axes, in NumPy."""
    axes = kernel.ndim - 2
    margins = [(size // 2, size // 2) for size in kernel.shape[:axes]]
    wide = np.pad(values, [(0, 0), *margins, (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(
        wide, kernel.shape[:axes], tuple(range(1, axes + 1))
    )
    # The axes are [batch, *places, channels, *kernel].
    taps = list(range(axes + 2, 2 * axes + 2))
    return np.tensordot(windows, kernel, ([*taps, axes + 1], [*range(axes + 1)]))


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("skips", [False, True])
def test_the_products_of_a_convolutional_lstm_are_convolutions(axes: int, skips: bool) -> None:
    sizes = [5, 4, 3][:axes]
    cell = getattr(rnn, f"Conv{axes}DLSTMCell")(
        input_shape=[*sizes, 2], output_channels=3, kernel_shape=[3] * axes,
        skip_connection=skips, use_bias=not skips,
    )  # fmt: skip
    steps = RANDOM.uniform(-1, 1, (2, 3, *sizes, 2)).astype(np.float32)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.constant(steps), dtype=tf.float32)
    assert outputs.shape.as_list() == [2, 3, *sizes, 5 if skips else 3]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, last, weights = session.run([outputs, state, tf.trainable_variables()])
    names = [variable.op.name for variable in tf.trainable_variables()]
    scope = f"rnn/conv_{axes}d_lstm_cell"
    assert names == [f"{scope}/{name}" for name in (["kernel"] if skips else ["kernel", "biases"])]
    memory = output = np.zeros((2, *sizes, 3))
    for time in range(3):
        products = convolved(np.concatenate([steps[:, time], output], -1), weights[0])
        i, j, f, o = np.split(products, 4, -1)
        memory = memory * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
        output = np.tanh(memory) * sigmoid(o)
        close(found[:, time, ..., :3], output)
        if skips:
            np.testing.assert_array_equal(found[:, time, ..., 3:], steps[:, time])
    close(last.c, memory)
    close(last.h, output)


def test_a_shape_of_other_axes_is_refused() -> None:
    with pytest.raises(ValueError, match="Invalid input_shape"):
        rnn.Conv2DLSTMCell(input_shape=[5, 2], output_channels=3, kernel_shape=[3])


def test_a_loop_takes_and_returns_nests() -> None:
    class Both(tf.nn.rnn_cell.RNNCell):  # type: ignore[misc]
        """Gives the sum and the product of two inputs, and counts the steps in its state."""

        state_size, output_size = 1, {"product": 2, "sum": 2}

        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            one, other = inputs
            return {"product": one * other, "sum": one + other}, state + 1.0

    one, other = (RANDOM.uniform(-1, 1, (3, 4, 2)).astype(np.float32) for _ in range(2))
    outputs, state = tf.nn.dynamic_rnn(
        Both(), (tf.constant(one), tf.constant(other)), [4, 2, 0], dtype=tf.float32
    )
    assert outputs["sum"].shape.as_list() == [3, 4, 2]
    with tf.Session() as session:
        found, steps = session.run([outputs, state])
    alive = (np.arange(4) < np.array([4, 2, 0])[:, None])[..., None]
    close(found["sum"], (one + other) * alive)
    close(found["product"], one * other * alive)
    assert steps.tolist() == [[4], [2], [0]]
