"""Networks and wrappers of `tf.contrib.rnn`, and dropout of recurrent cells."""

from typing import Any

import numpy as np
import pytest
from fresh_sessions import run

import capstan as tf

pytestmark = pytest.mark.e2e

rnn = tf.contrib.rnn
RANDOM = np.random.RandomState(8)
STEPS = RANDOM.uniform(-1, 1, (4, 3, 2)).astype(np.float32)  # [time, batch, size]
LENGTHS = np.array([4, 2, 3])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.get_variable_scope().set_initializer(tf.random_normal_initializer(seed=3))
        yield graph


def weights() -> dict[str, Any]:
    return {variable.op.name: variable for variable in tf.trainable_variables()}


def sigmoid(value: Any) -> Any:
    return 1 / (1 + np.exp(-value))


def lstm(found: Any, diagonals: Any = (0, 0, 0), clip: float = np.inf) -> tuple[Any, Any, Any]:
    """Return the outputs of an LSTM over STEPS and its last state, in NumPy."""
    kernel, bias = found
    memory = output = np.zeros((3, kernel.shape[1] // 4))
    outputs = []
    for time in range(4):
        i, j, f, o = np.split(np.concatenate([STEPS[time], output], 1) @ kernel + bias, 4, 1)
        kept = sigmoid(f + 1 + diagonals[1] * memory) * memory
        new = np.clip(kept + sigmoid(i + diagonals[0] * memory) * np.tanh(j), -clip, clip)
        made = np.tanh(new) * sigmoid(o + diagonals[2] * new)
        alive = (time < LENGTHS)[:, None]
        memory, output = np.where(alive, new, memory), np.where(alive, made, output)
        outputs.append(np.where(alive, made, 0))
    return np.stack(outputs), memory, output


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("has_peepholes", [False, True])
def test_a_fused_network_is_an_lstm_over_all_time_steps(is_list: bool, has_peepholes: bool) -> None:
    network = rnn.LSTMBlockFusedCell(5, cell_clip=0.4, use_peephole=has_peepholes)
    inputs = [tf.constant(step) for step in STEPS] if is_list else tf.constant(STEPS)
    outputs, state = network(inputs, dtype=tf.float32, sequence_length=LENGTHS)
    assert isinstance(outputs, list) == is_list
    again, _ = network(inputs, initial_state=(state.c, state.h))
    first, *last, second, found = run([outputs, *state, again, weights()])
    names = ["kernel", "bias"] + [f"w_{gate}_diag" for gate in "ifo" if has_peepholes]
    assert found.keys() == {f"lstm_fused_cell/{name}" for name in names}
    kernel, bias, *diagonals = (found[f"lstm_fused_cell/{name}"] for name in names)
    expected = lstm((kernel, bias), diagonals or (0, 0, 0), 0.4)
    for value, wanted in zip([np.stack(first), *last], expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5)
    assert not np.allclose(np.stack(first), np.stack(second))


def test_a_network_backwards_gives_outputs_in_the_order_of_its_inputs() -> None:
    inner = rnn.LSTMBlockFusedCell(5)
    backwards = rnn.TimeReversedFusedRNN(inner)
    outputs, state = backwards(tf.constant(STEPS), dtype=tf.float32, sequence_length=LENGTHS)
    turned = tf.reverse_sequence(STEPS, LENGTHS, 0, 1)
    plain, last = inner(turned, dtype=tf.float32, sequence_length=LENGTHS)
    whole, _ = backwards([tf.constant(step) for step in STEPS], dtype=tf.float32)
    everything, _ = backwards(tf.constant(STEPS), dtype=tf.float32)
    found = run([outputs, tf.reverse_sequence(plain, LENGTHS, 0, 1), state.c, last.c])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
    np.testing.assert_allclose(found[2], found[3], rtol=1e-5)
    one, other = run([tf.stack(whole), everything])
    np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize("is_dynamic", [False, True])
def test_an_adapted_cell_is_a_network_over_all_time_steps(is_list: bool, is_dynamic: bool) -> None:
    network = rnn.FusedRNNCellAdaptor(rnn.LSTMBlockCell(5), use_dynamic_rnn=is_dynamic)
    inputs = [tf.constant(step) for step in STEPS] if is_list else tf.constant(STEPS)
    outputs, state = network(inputs, dtype=tf.float32, sequence_length=LENGTHS)
    assert isinstance(outputs, list) == is_list
    made, memory, found = run([outputs, state.c, weights()])
    expected = lstm([found["rnn/lstm_cell/kernel"], found["rnn/lstm_cell/bias"]])
    np.testing.assert_allclose(np.stack(made), expected[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(memory, expected[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("version", ["", "V2"])
def test_a_gru_block_is_a_gru(version: str) -> None:
    cell = getattr(rnn, f"GRUBlockCell{version}")(5)
    state = RANDOM.uniform(-1, 1, (3, 5)).astype(np.float32)
    output, new = cell(tf.constant(STEPS[0]), tf.constant(state))
    value, same, found = run([output, new, weights()])
    names = (
        ["gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias"]
        if version
        else ["w_ru", "b_ru", "w_c", "b_c"]
    )
    scope = "gru_cell"
    gates, gate_bias, candidate, bias = (found[f"{scope}/{name}"] for name in names)
    reset, update = np.split(
        sigmoid(np.concatenate([STEPS[0], state], 1) @ gates + gate_bias), 2, 1
    )
    made = np.tanh(np.concatenate([STEPS[0], reset * state], 1) @ candidate + bias)
    expected = update * state + (1 - update) * made
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(value, same)
    with pytest.raises(ValueError, match="Exactly one of num_units or cell_size"):
        rnn.GRUBlockCell()


def cells(*sizes: int) -> list[Any]:
    return [tf.nn.rnn_cell.GRUCell(size) for size in sizes]


def test_each_pair_of_a_stack_takes_the_joined_outputs_of_the_pair_before() -> None:
    inputs, last = tf.constant(STEPS.transpose(1, 0, 2)), ()
    outputs, states_fw, states_bw = rnn.stack_bidirectional_dynamic_rnn(
        cells(5, 4), cells(3, 2), inputs, dtype=tf.float32, sequence_length=LENGTHS
    )
    assert outputs.shape.as_list() == [3, 4, 6]
    with tf.variable_scope("stack_bidirectional_rnn", reuse=True):
        for number, pair in enumerate([(5, 3), (4, 2)]):
            with tf.variable_scope(f"cell_{number}"):
                both, last = tf.nn.bidirectional_dynamic_rnn(
                    *cells(*pair), inputs, LENGTHS, dtype=tf.float32
                )
            inputs = tf.concat(both, 2)
    found, expected = run([[outputs, states_fw[1], states_bw[1]], [inputs, *last]])
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


def test_a_stack_over_a_list_is_the_stack_over_a_tensor() -> None:
    with tf.variable_scope("dynamic"):
        expected, *_ = rnn.stack_bidirectional_dynamic_rnn(
            cells(5, 4), cells(3, 2), tf.constant(STEPS), dtype=tf.float32, time_major=True,
            sequence_length=LENGTHS,
        )  # fmt: skip
    with tf.variable_scope("static"):
        outputs, states_fw, _ = rnn.stack_bidirectional_rnn(
            cells(5, 4), cells(3, 2), [tf.constant(step) for step in STEPS], dtype=tf.float32,
            sequence_length=LENGTHS,
        )  # fmt: skip
    assert [state.shape.as_list() for state in states_fw] == [[3, 5], [3, 4]]
    by_name = weights()
    copies = [
        tf.assign(variable, by_name[static_name(name)])
        for name, variable in by_name.items()
        if name.startswith("dynamic")
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(copies)
        one, other = session.run([expected, tf.stack(outputs)])
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def static_name(name: str) -> str:
    """Return the name that a variable of the dynamic stack has in the static one."""
    return name.replace("dynamic/", "static/").replace("/bidirectional_rnn/", "/")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([], [1]), "at least one fw cell"),
        (([1], []), "at least one bw cell"),
        (((1,), [1]), "cells_fw must be a list"),
        (([1, 2], [1]), "must have the same depth"),
        (([1], [1], None, [1, 2]), "initial_states_fw must be a list"),
        (([1], [1], None, None, 3), "initial_states_bw must be a list"),
    ],
)
def test_cells_that_are_no_stack_are_refused(arguments: Any, message: str) -> None:
    for stack in (rnn.stack_bidirectional_rnn, rnn.stack_bidirectional_dynamic_rnn):
        with pytest.raises(ValueError, match=message):
            stack(*arguments[:2], *(arguments[2:] or [None]))


class Echo(tf.nn.rnn_cell.RNNCell):  # type: ignore[misc]
    """Gives its inputs and its state, of four elements each."""

    output_size = state_size = 4

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        return tf.identity(inputs), tf.identity(state)


def test_the_inputs_of_a_cell_are_projected() -> None:
    cell = rnn.InputProjectionWrapper(Echo(), 4, activation=tf.nn.relu)
    output, _ = cell(tf.constant(STEPS[0]), tf.zeros([3, 4]))
    value, found = run([output, weights()])
    kernel, bias = (found[f"input_projection_wrapper/{name}"] for name in ("kernel", "bias"))
    np.testing.assert_allclose(value, np.maximum(STEPS[0] @ kernel + bias, 0), rtol=1e-5)


@pytest.mark.parametrize("is_coupled", [True, False])
def test_a_highway_mixes_inputs_and_outputs(is_coupled: bool) -> None:
    class Twice(Echo):
        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            return inputs * 2.0, state

    cell = rnn.HighwayWrapper(Twice(), is_coupled, carry_bias_init=0.5)
    given = RANDOM.uniform(-1, 1, (3, 4)).astype(np.float32)
    output, _ = cell(tf.constant(given), tf.zeros([3, 4]))
    value, found = run([output, weights()])
    assert (found["carry_b"] == 0.5).all()
    carry = sigmoid(given @ found["carry_w"] + found["carry_b"])
    transform = 1 - carry
    if not is_coupled:
        assert (found["transform_b"] == -0.5).all()
        transform = sigmoid(given @ found["transform_w"] + found["transform_b"])
    np.testing.assert_allclose(value, given * carry + 2 * given * transform, rtol=1e-5)


def dropped(**options: Any) -> Any:
    """Return the outputs of the four time steps of a cell with dropout, whose inputs are ones."""
    cell = tf.nn.rnn_cell.DropoutWrapper(Echo(), **options)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.ones([3, 4, 4]), dtype=tf.float32)
    with tf.Session() as session:
        return session.run(outputs), session.run(outputs)


@pytest.mark.parametrize("kind", ["input", "output"])
def test_all_time_steps_and_examples_share_the_choices_of_variational_dropout(kind: str) -> None:
    first, second = dropped(
        variational_recurrent=True, dtype=tf.float32, input_size=4, seed=6,
        **{f"{kind}_keep_prob": 0.5},
    )  # fmt: skip
    for values in (first, second):
        assert set(values.ravel().tolist()) <= {0, 2}
        np.testing.assert_array_equal(values, np.broadcast_to(values[0, 0], values.shape))
    assert 0 < (first[0, 0] == 0).sum() < 4
    usual, _ = dropped(**{f"{kind}_keep_prob": 0.5, "seed": 6})
    assert not np.array_equal(usual, np.broadcast_to(usual[0, 0], usual.shape))


def test_the_inputs_and_the_outputs_of_one_seed_lose_different_elements() -> None:
    # If both lost the same elements, half of them would be left, and not a quarter.
    values, _ = dropped(input_keep_prob=0.5, output_keep_prob=0.5, seed=6)
    assert (values != 0).mean() < 0.4
    assert set(values.ravel().tolist()) == {0, 4}


def test_variational_dropout_scales_what_is_kept_and_reaches_the_state() -> None:
    cell = tf.nn.rnn_cell.DropoutWrapper(
        Echo(), state_keep_prob=0.5, variational_recurrent=True, dtype=tf.float32, seed=8
    )
    state = tf.ones([3, 4])
    _, once = cell(tf.zeros([3, 4]), state)
    _, twice = cell(tf.zeros([3, 4]), once)
    one, two = run([once, twice])
    assert set(one.ravel().tolist()) == {0, 2}
    np.testing.assert_array_equal(two, one * 2)


def test_a_visitor_chooses_the_parts_of_the_state_that_are_dropped() -> None:
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(4) for _ in range(2)])
    pair = tf.nn.rnn_cell.LSTMStateTuple

    def visit(part: Any) -> Any:
        if isinstance(part, pair):
            return pair(True, False)
        return (False, True) if isinstance(part, tuple) else True

    lost = 1e-6  # Nothing is kept.
    for visitor, expected in (
        (visit, [False, False, True, False]),
        (None, [False, True, False, True]),
        (lambda part: False, [False] * 4),
    ):
        wrapper = tf.nn.rnn_cell.DropoutWrapper(
            cell, state_keep_prob=lost, dropout_state_filter_visitor=visitor
        )
        with tf.variable_scope("all", reuse=tf.AUTO_REUSE):
            _, state = wrapper(tf.ones([3, 2]), wrapper.zero_state(3, tf.float32))
        parts = run([part for each in state for part in each])
        assert [not part.any() for part in parts] == expected


@pytest.mark.parametrize(
    "options, kind, message",
    [
        ({"input_keep_prob": 1.5}, ValueError, "input_keep_prob must be between 0 and 1"),
        ({"state_keep_prob": -0.5}, ValueError, "state_keep_prob must be between 0 and 1"),
        ({"variational_recurrent": True}, ValueError, "dtype must be provided"),
        (
            {"variational_recurrent": True, "dtype": tf.float32, "input_keep_prob": 0.5},
            ValueError, "input_size must be provided",
        ),
        ({"dropout_state_filter_visitor": 3}, TypeError, "must be callable"),
    ],
)  # fmt: skip
def test_dropout_that_cannot_be_meant_is_refused(options: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        tf.nn.rnn_cell.DropoutWrapper(Echo(), **options)
