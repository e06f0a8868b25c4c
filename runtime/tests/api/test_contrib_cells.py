"""The recurrent cells of `tf.contrib.rnn`, and the names of modes of `tf.contrib.learn`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

RANDOM = np.random.RandomState(6)
INPUTS, MEMORY, OUTPUT = (RANDOM.uniform(-1, 1, (3, 2)).astype(np.float32) for _ in range(3))


def sigmoid(value: Any) -> Any:
    return 1 / (1 + np.exp(-value))


def called(cell: Any, memory: Any = MEMORY, output: Any = OUTPUT) -> tuple[Any, Mapping[str, Any]]:
    """Return the outputs and the memory of a step, and the random values of the variables."""
    with tf.variable_scope("root", initializer=tf.random_normal_initializer(seed=3)):
        result, state = cell(tf.constant(INPUTS), (tf.constant(memory), tf.constant(output)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run([state.c, state.h, result])
        names = [v.op.name.split("/", 2)[2] for v in tf.trainable_variables()]
        weights = dict(zip(names, session.run(tf.trainable_variables()), strict=True))
    np.testing.assert_array_equal(values[1], values[2])
    return values, weights


@pytest.mark.parametrize("has_norms", [False, True])
def test_a_cell_normalizes_its_gates_and_its_memory(has_norms: bool) -> None:
    cell = tf.contrib.rnn.LayerNormBasicLSTMCell(
        2, forget_bias=0.5, layer_norm=has_norms, norm_gain=1.5, norm_shift=0.25
    )
    (memory, output, _), weights = called(cell)

    def norm(value: Any) -> Any:
        if not has_norms:
            return value
        centred = value - value.mean(1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-12) * 1.5 + 0.25

    gates = np.concatenate([INPUTS, OUTPUT], 1) @ weights["kernel"]
    norms = {f"{gate}/{kind}" for gate in ("input", "transform", "forget", "output", "state")
             for kind in ("gamma", "beta")}  # fmt: skip
    assert weights.keys() == {"kernel"} | (norms if has_norms else {"bias"})
    gates = gates if has_norms else gates + weights["bias"]
    enter, new, forget, leave = map(norm, np.split(gates, 4, 1))
    expected = norm(MEMORY * sigmoid(forget + 0.5) + sigmoid(enter) * np.tanh(new))
    np.testing.assert_allclose(memory, expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(output, np.tanh(expected) * sigmoid(leave), rtol=1e-3, atol=1e-5)


def test_a_cell_drops_all_of_its_new_memory_or_nothing() -> None:
    kept = 1e-6  # Of six elements, none is kept.
    cell = tf.contrib.rnn.LayerNormBasicLSTMCell(
        2, layer_norm=False, dropout_keep_prob=kept, dropout_prob_seed=1
    )
    (memory, _, _), weights = called(cell)
    gates = np.concatenate([INPUTS, OUTPUT], 1) @ weights["kernel"] + weights["bias"]
    np.testing.assert_allclose(memory, MEMORY * sigmoid(gates[:, 4:6] + 1), rtol=1e-5)


@pytest.mark.parametrize("width", [None, 5])
@pytest.mark.parametrize("has_biases", [False, True])
def test_a_cell_of_a_search_for_architectures_combines_eight_products(
    width: int | None, has_biases: bool
) -> None:
    cell = tf.contrib.rnn.NASCell(2, width, use_biases=has_biases)
    before = np.random.RandomState(7).uniform(-1, 1, (3, width or 2)).astype(np.float32)
    assert (tuple(cell.state_size), cell.output_size) == ((2, width or 2), width or 2)
    (memory, output, _), weights = called(cell, output=before)
    optional = {"bias": has_biases, "projection_weights": width is not None}
    names = {"kernel", "recurrent_kernel"} | {name for name, has in optional.items() if has}
    assert weights.keys() == names
    x = np.split(INPUTS @ weights["kernel"], 8, 1)
    m = np.split(before @ weights["recurrent_kernel"] + weights.get("bias", 0), 8, 1)
    first = np.tanh(sigmoid(x[0] + m[0]) * np.maximum(x[1] + m[1], 0))
    second = np.tanh(sigmoid(x[2] + m[2]) + np.maximum(x[3] * m[3], 0))
    third = np.tanh(np.tanh(x[4] + m[4]) * sigmoid(x[5] + m[5]))
    fourth = sigmoid(np.tanh(x[6] + m[6]) + sigmoid(x[7] + m[7]))
    expected = np.tanh(first + MEMORY) * second
    np.testing.assert_allclose(memory, expected, rtol=1e-3, atol=1e-5)
    made = np.tanh(expected * np.tanh(third + fourth))
    made = made @ weights["projection_weights"] if width else made
    np.testing.assert_allclose(output, made, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "batch",
    [
        lambda: 3,
        lambda: np.int64(3),
        lambda: tf.zeros([3, 2]).shape[0],
        lambda: [3],
        lambda: tf.constant(3),
    ],
    ids=["int", "numpy", "dimension", "list", "tensor"],
)
def test_a_state_of_zeros_has_as_many_rows_as_the_batch(batch: Any) -> None:
    state = tf.nn.rnn_cell.LSTMCell(2).zero_state(batch(), tf.float32)
    assert [part.shape.as_list() for part in state] == [[3, 2], [3, 2]]
    with tf.Session() as session:
        assert all((part == np.zeros((3, 2))).all() for part in session.run(state))


def test_a_state_of_zeros_needs_a_known_size_or_a_tensor() -> None:
    with pytest.raises(ValueError, match=r"The batch size is not known.*tf\.shape"):
        tf.nn.rnn_cell.GRUCell(2).zero_state(tf.Dimension(None), tf.float32)


def test_a_cell_refuses_inputs_of_unknown_size() -> None:
    cell = tf.contrib.rnn.NASCell(2)
    with pytest.raises(ValueError, match="Could not infer input size"):
        cell(tf.placeholder(tf.float32, [3, None]), cell.zero_state(3, tf.float32))


class Twice(tf.nn.rnn_cell.RNNCell):  # type: ignore[misc,name-defined]
    """Gives the doubles of its inputs, which are a tensor or a pair."""

    output_size, state_size = 2, 1

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        return tf.nest.map_structure(lambda value: 2 * value, inputs), state


def test_a_residual_cell_adds_its_inputs_or_calls_a_function() -> None:
    inputs, state = tf.constant(INPUTS), tf.zeros([3, 1])
    added, _ = tf.nn.rnn_cell.ResidualWrapper(Twice())(inputs, state)
    pair, _ = tf.nn.rnn_cell.ResidualWrapper(Twice())((inputs, -inputs), state)
    of_array, _ = tf.nn.rnn_cell.ResidualWrapper(Twice())(INPUTS, state)
    assert of_array.shape.as_list() == list(INPUTS.shape)
    wrapper = tf.nn.rnn_cell.ResidualWrapper(Twice(), residual_fn=lambda x, y: y - 0.5 * x)
    changed, _ = wrapper(inputs, state)
    with tf.Session() as session:
        found, halves, other = session.run([added, pair, changed])
    np.testing.assert_allclose(found, 3 * INPUTS, rtol=1e-6)
    np.testing.assert_allclose(halves, [3 * INPUTS, -3 * INPUTS], rtol=1e-6)
    np.testing.assert_allclose(other, 1.5 * INPUTS, rtol=1e-6)


def test_a_residual_cell_refuses_outputs_of_another_shape() -> None:
    cell = tf.nn.rnn_cell.BasicRNNCell(1)
    with pytest.raises(ValueError, match="are incompatible"):
        tf.nn.rnn_cell.ResidualWrapper(cell)(tf.constant(INPUTS), tf.zeros([3, 1]))


def test_old_modes_have_the_names_of_the_modes_of_estimators() -> None:
    old, new = tf.contrib.learn.ModeKeys, tf.estimator.ModeKeys
    assert (old.TRAIN, old.EVAL, old.INFER) == (new.TRAIN, new.EVAL, new.PREDICT)
    old.validate("eval")
    with pytest.raises(ValueError, match="Invalid mode predict"):
        old.validate("predict")


def test_weights_that_a_custom_getter_makes_untrainable_are_no_trainable_weights() -> None:
    def frozen(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return getter(*args, **{**kwargs, "trainable": False})

    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    with tf.variable_scope("root", custom_getter=frozen):
        cell(tf.zeros([1, 2]), tf.zeros([1, 2]))
    assert cell.trainable_weights == []
    assert [weight.name for weight in cell.non_trainable_weights] == [
        "root/basic_rnn_cell/kernel:0",
        "root/basic_rnn_cell/bias:0",
    ]
