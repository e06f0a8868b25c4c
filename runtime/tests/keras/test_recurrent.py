"""The recurrent layers of `tf.keras.layers` compute what NumPy computes from their weights."""

import itertools
import json
from typing import Any, NamedTuple

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e
layers = tf.keras.layers

RANDOM = np.random.RandomState(7)
STEPS = RANDOM.uniform(-1, 1, (3, 5, 4)).astype(np.float32)
MASK = np.array([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
BEGINNINGS = RANDOM.uniform(-1, 1, (2, 3, 2)).astype(np.float32)
UNITS = 2


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(4)
        yield graph


def hard_sigmoid(x: Any) -> Any:
    return np.clip(0.2 * x + 0.5, 0, 1)


def simple_step(x: Any, states: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    output = np.tanh(x @ kernel + states[0] @ recurrent + bias)
    return output, [output]


def gru_step(x: Any, states: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    (state,) = states
    update, reset, new = np.split(x @ kernel + bias, 3, -1)
    kernels = np.split(recurrent, 3, -1)
    update = hard_sigmoid(update + state @ kernels[0])
    reset = hard_sigmoid(reset + state @ kernels[1])
    new = np.tanh(new + (reset * state) @ kernels[2])
    output = update * state + (1 - update) * new
    return output, [output]


def gru_step_of_cudnn(x: Any, states: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    (state,) = states
    update, reset, new = np.split(x @ kernel + bias[0], 3, -1)
    kept = np.split(state @ recurrent + bias[1], 3, -1)
    update, reset = hard_sigmoid(update + kept[0]), hard_sigmoid(reset + kept[1])
    output = update * state + (1 - update) * np.tanh(new + reset * kept[2])
    return output, [output]


def lstm_step(x: Any, states: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    state, memory = states
    enter, forget, new, leave = np.split(x @ kernel + state @ recurrent + bias, 4, -1)
    memory = hard_sigmoid(forget) * memory + hard_sigmoid(enter) * np.tanh(new)
    output = hard_sigmoid(leave) * np.tanh(memory)
    return output, [output, memory]


KINDS: dict[str, Any] = {
    "SimpleRNN": (layers.SimpleRNN, simple_step, 1),
    "GRU": (layers.GRU, gru_step, 1),
    "GRU with reset_after": (lambda *a, **k: layers.GRU(*a, reset_after=True, **k),
                             gru_step_of_cudnn, 1),
    "LSTM": (layers.LSTM, lstm_step, 2),
}  # fmt: skip


def walked(step: Any, x: Any, states: Any, weights: Any, mask: Any = None) -> Any:
    """Return the outputs [batch, time, units] and the last states."""
    outputs: list[Any] = []
    for time in range(x.shape[1]):
        output, new = step(x[:, time], states, *weights)
        if mask is not None:
            kept = mask[:, time, None]
            previous = outputs[-1] if outputs else np.zeros_like(output)
            output = np.where(kept, output, previous)
            new = [np.where(kept, one, old) for one, old in zip(new, states, strict=True)]
        outputs.append(output)
        states = new
    return np.stack(outputs, 1), states


def run(layer: Any, outputs: Any, feed: Any = None) -> tuple[Any, Any]:
    """Return the values of the outputs and the weights, which are random."""
    random = np.random.RandomState(3)
    weights = [random.uniform(-1, 1, each.shape.as_list()) for each in layer.weights]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        layer.set_weights([each.astype(np.float32) for each in weights])
        return session.run(outputs, feed), weights


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("unroll", "masked"), [*itertools.product((False, True), repeat=2)])
def test_a_recurrent_layer_walks_over_the_steps(kind: str, unroll: bool, masked: bool) -> None:
    make, step, count = KINDS[kind]
    layer = make(UNITS, return_sequences=True, return_state=True, unroll=unroll)
    inputs = tf.placeholder_with_default(STEPS, STEPS.shape if unroll else (None, None, 4))
    mask = MASK if masked else None
    outputs = layer(inputs, mask=None if mask is None else tf.constant(mask))
    (values, *states), weights = run(layer, outputs)
    zeros = [np.zeros((3, UNITS))] * count
    expected, ends = walked(step, STEPS, zeros, weights, mask)
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(states, ends, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_that_goes_backwards_keeps_its_own_order(kind: str) -> None:
    make, step, count = KINDS[kind]
    layer = make(UNITS, return_sequences=True, go_backwards=True)
    values, weights = run(layer, layer(tf.constant(STEPS), mask=tf.constant(MASK)))
    zeros = [np.zeros((3, UNITS))] * count
    expected, _ = walked(step, STEPS[:, ::-1], zeros, weights, MASK[:, ::-1])
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("from_layers", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_begins_with_the_given_states(kind: str, from_layers: bool) -> None:
    make, step, count = KINDS[kind]
    layer = make(UNITS)
    states: list[Any] = [tf.constant(each) for each in BEGINNINGS[:count]]
    if from_layers:
        states = [tf.keras.Input(tensor=each) for each in states]
    outputs = layer(tf.constant(STEPS), initial_state=states)
    values, weights = run(layer, outputs)
    expected, _ = walked(step, STEPS, list(BEGINNINGS[:count]), weights)
    np.testing.assert_allclose(values, expected[:, -1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradients_of_a_loop_are_those_of_its_steps(kind: str) -> None:
    make, _, _ = KINDS[kind]
    looped, unrolled = (make(UNITS, return_sequences=True, unroll=each) for each in (False, True))
    gradients = []
    for layer in (looped, unrolled):
        outputs = layer(tf.constant(STEPS), mask=tf.constant(MASK))
        found, _ = run(layer, tf.gradients(outputs * outputs, layer.trainable_weights))
        gradients.append(found)
    for one, other in zip(*gradients, strict=True):
        assert np.abs(one).max() > 0.01
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_weights_have_the_names_and_first_values_of_keras() -> None:
    layer = layers.LSTM(UNITS)
    layer(tf.constant(STEPS))
    both = layers.Bidirectional(layers.GRU(UNITS, reset_after=True))
    both(tf.constant(STEPS))
    assert [each.name for each in layer.weights] == [
        "lstm/kernel:0", "lstm/recurrent_kernel:0", "lstm/bias:0",
    ]  # fmt: skip
    assert [each.name for each in both.weights] == [
        f"bidirectional/{side}_gru/{name}:0"
        for side in ("forward", "backward")
        for name in ("kernel", "recurrent_kernel", "bias")
    ]
    assert both.weights[2].shape.as_list() == [2, 3 * UNITS]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        bias = session.run(layer.weights[2])
    assert bias.tolist() == [0, 0, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("merge_mode", ["concat", "sum", "mul", "ave", None])
def test_a_bidirectional_layer_walks_both_ways(merge_mode: str | None) -> None:
    layer = layers.Bidirectional(layers.GRU(UNITS, return_sequences=True), merge_mode)
    values, weights = run(layer, layer(tf.constant(STEPS)))
    zeros = [np.zeros((3, UNITS))]
    forward, _ = walked(gru_step, STEPS, zeros, weights[:3])
    backward, _ = walked(gru_step, STEPS[:, ::-1], zeros, weights[3:])
    backward = backward[:, ::-1]
    expected = {
        "concat": np.concatenate([forward, backward], -1),
        "sum": forward + backward,
        "mul": forward * backward,
        "ave": (forward + backward) / 2,
        None: [forward, backward],
    }[merge_mode]
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)


def test_a_bidirectional_layer_gives_masked_steps_the_output_0() -> None:
    layer = layers.Bidirectional(layers.SimpleRNN(UNITS, return_sequences=True))
    outputs = layer(tf.constant(STEPS), mask=tf.constant(MASK))
    values, _ = run(layer, outputs)
    assert np.array_equal(np.any(values != 0, -1), MASK)


def test_a_bidirectional_layer_with_two_given_layers_is_restored_from_its_configuration() -> None:
    back = layers.LSTM(2, go_backwards=True, name="back")
    layer = layers.Bidirectional(layers.LSTM(2, name="ahead"), backward_layer=back)
    config = layer.get_config()
    assert config["backward_layer"]["config"]["name"] == "back"
    restored = layers.Bidirectional.from_config(config)
    assert restored.get_config() == config
    assert (restored.forward_layer.name, restored.backward_layer.name) == (
        "forward_ahead",
        "backward_back",
    )


def test_a_bidirectional_layer_returns_the_states_of_both_ways() -> None:
    layer = layers.Bidirectional(layers.LSTM(UNITS, return_state=True))
    states = [tf.constant(each) for each in (*BEGINNINGS, *BEGINNINGS)]
    (values, *ends), weights = run(layer, layer(tf.constant(STEPS), initial_state=states))
    forward, one = walked(lstm_step, STEPS, list(BEGINNINGS), weights[:3])
    backward, other = walked(lstm_step, STEPS[:, ::-1], list(BEGINNINGS), weights[3:])
    expected = np.concatenate([forward[:, -1], backward[:, -1]], -1)
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ends, [*one, *other], rtol=1e-5, atol=1e-6)


def test_stacked_cells_follow_each_other() -> None:
    layer = layers.RNN([layers.LSTMCell(UNITS), layers.GRUCell(3)], return_state=True)
    outputs = layer(tf.constant(STEPS))
    (values, *states), weights = run(layer, outputs)
    inner, ends = walked(lstm_step, STEPS, [np.zeros((3, UNITS))] * 2, weights[:3])
    expected, last = walked(gru_step, inner, [np.zeros((3, 3))], weights[3:])
    np.testing.assert_allclose(values, expected[:, -1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(states[0], ends, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(states[1], last[0], rtol=1e-5, atol=1e-6)


def test_a_cell_of_the_program_gets_constants() -> None:
    class Adding(layers.AbstractRNNCell):
        state_size = output_size = 4

        def call(self, inputs: Any, states: Any, constants: Any) -> Any:
            total = states[0] + inputs * constants[0]
            return total, [total]

    layer = layers.RNN(Adding(), return_sequences=True)
    outputs = layer(tf.constant(STEPS), constants=[tf.constant(2.0)])
    values, _ = run(layer, outputs)
    np.testing.assert_allclose(values, 2 * np.cumsum(STEPS, 1), rtol=1e-5, atol=1e-6)


def test_a_stateful_layer_goes_on_where_the_last_batch_ended() -> None:
    layer = layers.SimpleRNN(UNITS, stateful=True)
    outputs = layer(tf.constant(STEPS))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        weights = session.run(layer.weights)
        first, _ = session.run([outputs, layer.updates])
        second, _ = session.run([outputs, layer.updates])
        layer.reset_states()
        again = session.run(outputs)
    zeros = [np.zeros((3, UNITS))]
    once, ends = walked(simple_step, STEPS, zeros, weights)
    twice, _ = walked(simple_step, STEPS, ends, weights)
    np.testing.assert_allclose(first, once[:, -1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(second, twice[:, -1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(again, once[:, -1], rtol=1e-5, atol=1e-6)
    assert len(layer.weights) == 3


@pytest.mark.parametrize("implementation", [1, 2])
def test_dropout_leaves_out_the_same_inputs_in_all_steps(implementation: int) -> None:
    layer = layers.LSTM(
        1, dropout=0.5, return_sequences=True, implementation=implementation,
        activation="linear", recurrent_activation="linear", bias_initializer="ones",
        recurrent_initializer="zeros", unit_forget_bias=False, kernel_initializer="ones",
    )  # fmt: skip
    inputs = tf.ones((200, 2, 1))
    trained, plain = layer(inputs, training=True), layer(inputs, training=False)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values, still = session.run([trained, plain])
    # Each gate is 1 without its input, 3 with the doubled input, and 2 without dropout.
    assert np.array_equal(still, np.tile([[[8.0], [8 + 16.0]]], (200, 1, 1)))
    gates = (1, 3)
    choices = itertools.product(gates, repeat=4) if implementation == 1 else [(1,) * 4, (3,) * 4]
    expected = {(i * n * o, (f * i * n + i * n) * o) for i, f, n, o in choices}
    assert {tuple(each) for each in values[:, :, 0].tolist()} == expected


def test_a_recurrent_layer_takes_the_mask_of_an_embedding() -> None:
    embedding, layer = layers.Embedding(5, 4, mask_zero=True), layers.GRU(UNITS)
    words = np.array([[1, 2, 3, 0, 0], [4, 0, 0, 0, 0]])
    short = layer(embedding(tf.constant(words[:1, :3])))
    full = layer(embedding(tf.constant(words)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        one, both = session.run([short, full])
    np.testing.assert_allclose(one[0], both[0], rtol=1e-5, atol=1e-6)


def test_time_distributed_applies_a_layer_to_each_step() -> None:
    images = np.random.RandomState(2).uniform(-1, 1, (2, 3, 4, 5)).astype(np.float32)
    layer = layers.TimeDistributed(layers.LSTM(UNITS))
    inputs = tf.placeholder(tf.float32, (None, None, 4, 5))
    outputs = layer(inputs)
    assert outputs.shape.as_list() == [None, None, UNITS]
    values, weights = run(layer, outputs, {inputs: images})
    for time in range(3):
        expected, _ = walked(lstm_step, images[:, time], [np.zeros((2, UNITS))] * 2, weights)
        np.testing.assert_allclose(values[:, time], expected[:, -1], rtol=1e-5, atol=1e-6)
    assert layer.weights[0].name == "time_distributed/kernel:0"


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.SimpleRNN(UNITS, return_sequences=True, go_backwards=True),
        lambda: layers.GRU(UNITS, reset_after=True, kernel_regularizer="l2", dropout=0.2),
        lambda: layers.LSTM(UNITS, activation="relu", implementation=2, return_state=True),
        lambda: layers.RNN([layers.LSTMCell(UNITS), layers.GRUCell(3)], return_sequences=True),
        lambda: layers.Bidirectional(layers.LSTM(UNITS), merge_mode="sum"),
        lambda: layers.TimeDistributed(layers.Dense(UNITS, activation="tanh")),
    ],
)
def test_a_configuration_makes_an_equal_layer(make: Any) -> None:
    layer = make()
    config = layer.get_config()
    copy = type(layer).from_config(json.loads(json.dumps(config)))
    assert copy.get_config() == config
    shape = layer.compute_output_shape((3, 5, 4))
    outputs = copy(tf.constant(STEPS))
    found = [each.shape for each in (outputs if isinstance(outputs, list) else [outputs])]
    assert [str(each) for each in (shape if isinstance(shape, list) else [shape])] == [
        str(each) for each in found
    ]


def test_a_recurrent_layer_refuses_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="needs to know its batch size"):
        layers.GRU(UNITS, stateful=True)(tf.placeholder(tf.float32, (None, 5, 4)))
    with pytest.raises(ValueError, match="Unrolling requires a fixed number of timesteps"):
        layers.GRU(UNITS, unroll=True)(tf.placeholder(tf.float32, (3, None, 4)))
    with pytest.raises(ValueError, match="has 2 states but was passed 1"):
        layers.LSTM(UNITS)(tf.constant(STEPS), initial_state=[tf.zeros((3, UNITS))])
    with pytest.raises(ValueError, match="must have `state_size`"):
        layers.RNN(layers.Dense(2))
    with pytest.raises(ValueError, match="Invalid merge mode"):
        layers.Bidirectional(layers.GRU(UNITS), merge_mode="max")
    with pytest.raises(AttributeError, match="stateful=True"):
        layers.GRU(UNITS).reset_states()
    with pytest.raises(ValueError, match="at least 3 dimensions"):
        layers.TimeDistributed(layers.Dense(2))(tf.ones((2, 3)))
    states = [tf.keras.Input(tensor=tf.zeros((3, UNITS))), tf.zeros((3, UNITS))]
    with pytest.raises(ValueError, match="mix of Keras tensors"):
        layers.LSTM(UNITS)(tf.constant(STEPS), initial_state=states)


@pytest.mark.parametrize("options", [{}, {"return_sequences": True, "go_backwards": True}])
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_layer_of_cudnn_has_two_biases_and_computes_what_the_other_layer_does(
    kind: str, options: Any
) -> None:
    inputs = tf.constant(np.random.RandomState(3).uniform(-1, 1, (2, 4, 3)).astype(np.float32))
    cudnn = getattr(layers, f"CuDNN{kind}")(2, bias_initializer="glorot_uniform", **options)
    found = cudnn(inputs)
    plain = getattr(layers, kind)(
        2,
        recurrent_activation="sigmoid",
        **({"reset_after": True} if kind == "GRU" else {}),
        **options,
    )
    expected = plain(inputs)
    gates = {"LSTM": 4, "GRU": 3}[kind]
    assert [v.shape.as_list() for v in cudnn.weights] == [
        *([3, 2 * gates], [2, 2 * gates], [4 * gates]),
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kernel, recurrent, bias = session.run(cudnn.weights)
        both = bias.reshape(2, 2 * gates)
        plain.set_weights([kernel, recurrent, both if kind == "GRU" else both.sum(0)])
        np.testing.assert_allclose(*session.run([found, expected]), rtol=1e-5)
    config = cudnn.get_config()
    assert type(cudnn).from_config(config).get_config() == config
    with pytest.raises(ValueError, match="Masking is not supported for CuDNN RNNs"):
        cudnn(inputs, mask=tf.ones([2, 4], tf.bool))


def test_a_forget_gate_of_cudnn_begins_with_a_bias_of_1() -> None:
    layer = layers.CuDNNLSTM(2, return_state=True, stateful=True)
    outputs = layer(tf.zeros([1, 3, 2]))
    assert [each.shape.as_list() for each in outputs] == [[1, 2]] * 3
    assert len(layer.updates) == 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        bias = session.run(layer.weights[2])
    assert bias.tolist() == [0] * 10 + [1, 1] + [0] * 4
    assert [v.name for v in layer.weights] == [
        f"cu_dnnlstm/{name}:0" for name in ("kernel", "recurrent_kernel", "bias")
    ]


class Pair(NamedTuple):
    rows: Any
    images: Any


class Counter(layers.Layer):
    """A cell whose inputs, states and outputs are pairs."""

    state_size = Pair(2, tf.TensorShape([2, 3]))
    output_size = Pair(2, tf.TensorShape([2, 3]))

    def build(self, input_shape: Any) -> None:
        rows, images = input_shape
        self.factor = self.add_weight("factor", (rows[-1] + images[-1],), initializer="ones")

    def call(self, inputs: Any, states: Any) -> Any:
        rows, images = states
        new = Pair(rows + inputs[0], images + inputs[1])
        return [new.rows, new.images], new


@pytest.mark.parametrize("kind", [tuple, Pair._make])
def test_inputs_states_and_outputs_of_a_cell_may_be_nested(kind: Any) -> None:
    rows, images = tf.keras.Input((4, 2)), tf.keras.Input((4, 2, 3))
    layer = layers.RNN(Counter(), return_state=True)
    outputs = layer(kind([rows, images]))
    assert [each.shape.as_list() for each in outputs] == [[None, 2], [None, 2, 3]] * 2
    assert layer.cell.factor.shape.as_list() == [5]
    model = tf.keras.Model([rows, images], outputs)
    found = model.predict([np.ones((1, 4, 2)), np.ones((1, 4, 2, 3))])
    assert [each.tolist() for each in found] == [[[4.0] * 2], [[[4.0] * 3] * 2]] * 2
