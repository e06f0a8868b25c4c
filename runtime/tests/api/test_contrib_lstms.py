"""The attending cell and the variants of LSTM of `tf.contrib.rnn`, against their formulas."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

rnn = tf.contrib.rnn
RANDOM = np.random.RandomState(11)
INPUTS, MEMORY, OUTPUT = (RANDOM.uniform(-1, 1, (3, 4)).astype(np.float32) for _ in range(3))
NARROW = OUTPUT[:, :2]


def sigmoid(value: Any) -> Any:
    return 1 / (1 + np.exp(-value))


def pair(output: Any = OUTPUT) -> Any:
    return tf.nn.rnn_cell.LSTMStateTuple(tf.constant(MEMORY), tf.constant(output))


def called(cell: Any, state: Any, inputs: Any = INPUTS) -> tuple[Any, Any, dict[str, Any]]:
    """Return the output and the new state of a step, and the random values of the variables."""
    output, new = cell(tf.nest.map_structure(tf.constant, inputs), state)
    names = [variable.op.name for variable in tf.global_variables()]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        random = np.random.RandomState(5)
        for variable in tf.trainable_variables():
            values = random.uniform(0.2, 1.5, variable.shape.as_list())
            variable.load(values.astype(np.float32), session)
        value, new_value, weights = session.run([output, new, tf.global_variables()])
    shorter = [name.split("/", 1)[1] for name in names]
    return value, new_value, dict(zip(shorter, weights, strict=True))


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def normed(value: Any, weights: Any, scope: str) -> Any:
    centred = value - value.mean(1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-12)
    return scaled * weights[f"{scope}/gamma"] + weights[f"{scope}/beta"]


@pytest.mark.parametrize("is_tuple", [True, False])
def test_a_cell_attends_to_its_last_outputs(is_tuple: bool) -> None:
    cell = rnn.AttentionCellWrapper(
        tf.nn.rnn_cell.GRUCell(4), attn_length=3, attn_size=2, attn_vec_size=5, input_size=3,
        state_is_tuple=is_tuple,
    )  # fmt: skip
    assert cell.output_size == 2
    assert cell.state_size == ((4, 2, 6) if is_tuple else 12)
    parts = [RANDOM.uniform(-1, 1, (3, size)).astype(np.float32) for size in (4, 2, 6)]
    state = tuple(map(tf.constant, parts)) if is_tuple else tf.constant(np.concatenate(parts, 1))
    output, new, weights = called(cell, state)
    assert list(weights) == [
        "kernel", "bias", "gru_cell/gates/kernel", "gru_cell/gates/bias",
        "gru_cell/candidate/kernel", "gru_cell/candidate/bias", "attention/attn_w",
        "attention/attn_v", "attention/kernel", "attention/bias", "attn_output_projection/kernel",
        "attn_output_projection/bias",
    ]  # fmt: skip
    inner, attention, flat = parts

    def linear(scope: str, *parts: Any) -> Any:
        return np.concatenate(parts, 1) @ weights[f"{scope}kernel"] + weights[f"{scope}bias"]

    inputs = linear("", INPUTS, attention)
    reset, update = np.split(sigmoid(linear("gru_cell/gates/", inputs, inner)), 2, 1)
    candidate = np.tanh(linear("gru_cell/candidate/", inputs, reset * inner))
    inner = update * inner + (1 - update) * candidate
    outputs = flat.reshape(3, 3, 2)
    shifts = linear("attention/", inner)[:, None]
    hidden = np.tanh(outputs @ weights["attention/attn_w"][0, 0] + shifts)
    scores = np.exp(hidden @ weights["attention/attn_v"])
    attention = (outputs * (scores / scores.sum(1, keepdims=True))[..., None]).sum(1)
    expected = linear("attn_output_projection/", inner, attention)
    close(output, expected)
    flat = np.concatenate([outputs[:, 1:], expected[:, None]], 1).reshape(3, 6)
    found = new if is_tuple else np.split(new, [4, 6], 1)
    for one, other in zip(found, (inner, attention, flat), strict=True):
        close(one, other)


def test_an_attending_cell_refuses_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="attn_length should be greater than zero, got 0"):
        rnn.AttentionCellWrapper(tf.nn.rnn_cell.GRUCell(4), 0)
    with pytest.raises(ValueError, match="Cell returns tuple of states"):
        rnn.AttentionCellWrapper(tf.nn.rnn_cell.LSTMCell(4), 2, state_is_tuple=False)


def test_an_attending_cell_runs_in_a_loop() -> None:
    cell = rnn.AttentionCellWrapper(tf.nn.rnn_cell.LSTMCell(4), attn_length=2)
    steps = tf.constant(RANDOM.uniform(-1, 1, (3, 5, 4)).astype(np.float32))
    outputs, _ = tf.nn.dynamic_rnn(cell, steps, dtype=tf.float32)
    names = [variable.op.name for variable in tf.trainable_variables()]
    assert names[2] == "rnn/attention_cell_wrapper/lstm_cell/kernel"
    gradients = tf.gradients(outputs, tf.trainable_variables())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run([outputs, *gradients])
    assert found[0].shape == (3, 5, 4)
    assert all(np.isfinite(value).all() and value.any() for value in found)


@pytest.mark.parametrize("has_norms", [False, True])
@pytest.mark.parametrize("is_full", [False, True])
def test_coupled_gates_forget_what_they_do_not_keep(is_full: bool, has_norms: bool) -> None:
    options = {"num_proj": 2, "proj_clip": 2.0, "num_unit_shards": 4, "num_proj_shards": 3}
    cell = rnn.CoupledInputForgetGateLSTMCell(
        4, use_peepholes=is_full, forget_bias=0.5, state_is_tuple=not is_full,
        layer_norm=has_norms, norm_gain=0.8, norm_shift=0.3, **(options if is_full else {}),
    )  # fmt: skip
    output = NARROW if is_full else OUTPUT
    state = tf.constant(np.concatenate([MEMORY, NARROW], 1)) if is_full else pair()
    value, new, weights = called(cell, state)
    assert ("W_3" in weights, "W_P_2" in weights, "W_O_diag" in weights) == (is_full,) * 3
    kernel = np.concatenate([weights[f"W_{n}"] for n in range(4 if is_full else 1)])
    gates = np.split(np.concatenate([INPUTS, output], 1) @ kernel, 3, 1)
    if has_norms:
        scopes = "transform", "forget", "output"
        gates = [normed(gate, weights, scope) for gate, scope in zip(gates, scopes, strict=True)]
    else:
        gates = [gate + part for gate, part in zip(gates, np.split(weights["B"], 3), strict=True)]
    j, f, o = gates
    forget = sigmoid(f + 0.5 + (weights["W_F_diag"] * MEMORY if is_full else 0))
    memory = forget * MEMORY + (1 - forget) * np.tanh(j)
    memory = normed(memory, weights, "state") if has_norms else memory
    result = sigmoid(o + (weights["W_O_diag"] * memory if is_full else 0)) * np.tanh(memory)
    if is_full:
        projection = np.concatenate([weights[f"W_P_{number}"] for number in range(3)])
        result = np.clip(result @ projection, -2, 2)
    close(value, result)
    found = np.split(new, [4], 1) if is_full else new
    close(found[0], memory)
    close(found[1], result)


def test_more_shards_than_rows_are_refused() -> None:
    cell = rnn.CoupledInputForgetGateLSTMCell(4, num_unit_shards=9)
    with pytest.raises(ValueError, match="Too many shards"):
        cell(tf.constant(INPUTS), pair())


@pytest.mark.parametrize("has_norms", [False, True])
def test_a_full_cell_normalizes_its_gates_and_its_memory(has_norms: bool) -> None:
    cell = rnn.LayerNormLSTMCell(
        4, use_peepholes=True, cell_clip=0.9, num_proj=2, proj_clip=1.5, forget_bias=0.5,
        layer_norm=has_norms, norm_gain=0.8, norm_shift=0.3,
    )  # fmt: skip
    value, new, weights = called(cell, pair(NARROW))
    assert list(weights)[:2] == ["kernel", "bias"]
    assert list(weights)[-1] == "projection/kernel"
    gates = np.concatenate([INPUTS, NARROW], 1) @ weights["kernel"]
    gates = np.split(gates if has_norms else gates + weights["bias"], 4, 1)
    if has_norms:
        scopes = "input", "transform", "forget", "output"
        gates = [normed(gate, weights, scope) for gate, scope in zip(gates, scopes, strict=True)]
    i, j, f, o = gates
    kept = sigmoid(f + 0.5 + weights["w_f_diag"] * MEMORY) * MEMORY
    memory = kept + sigmoid(i + weights["w_i_diag"] * MEMORY) * np.tanh(j)
    memory = np.clip(normed(memory, weights, "state") if has_norms else memory, -0.9, 0.9)
    output = sigmoid(o + weights["w_o_diag"] * memory) * np.tanh(memory)
    output = np.clip(output @ weights["projection/kernel"], -1.5, 1.5)
    close(value, output)
    close(new.c, memory)
    close(new.h, output)


def test_the_groups_of_a_cell_share_only_the_projection() -> None:
    cell = rnn.GLSTMCell(4, num_proj=2, number_of_groups=2, forget_bias=0.5)
    value, new, weights = called(cell, pair(NARROW))
    assert list(weights) == [
        "group0/kernel", "group1/kernel", "bias_i", "bias_j", "bias_f", "bias_o",
        "projection/kernel",
    ]  # fmt: skip
    parts = [
        np.split(
            np.concatenate([INPUTS[:, 2 * n : 2 * n + 2], NARROW[:, n : n + 1]], 1)
            @ weights[f"group{n}/kernel"],
            4,
            1,
        )
        for n in range(2)
    ]
    i, j, f, o = (
        np.concatenate([part[gate] for part in parts], 1) + weights[f"bias_{name}"]
        for gate, name in enumerate("ijfo")
    )
    memory = sigmoid(f + 0.5) * MEMORY + sigmoid(i) * np.tanh(j)
    output = (sigmoid(o) * np.tanh(memory)) @ weights["projection/kernel"]
    close(value, output)
    close(new.c, memory)


def test_sizes_that_do_not_divide_into_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="num_units must be divisible"):
        rnn.GLSTMCell(4, number_of_groups=3)
    with pytest.raises(ValueError, match="num_proj must be divisible"):
        rnn.GLSTMCell(4, num_proj=3, number_of_groups=2)
    with pytest.raises(ValueError, match=r"input size \(3\) must be divisible"):
        rnn.GLSTMCell(4, number_of_groups=2)(tf.constant(INPUTS[:, :3]), pair())
    for cell in (rnn.GLSTMCell(4), rnn.LayerNormLSTMCell(4)):
        with pytest.raises(ValueError, match="Could not infer input size"):
            cell(tf.placeholder(tf.float32, [3, None]), pair())


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("has_peepholes", [False, True])
def test_a_unit_is_open_in_a_part_of_its_period(has_peepholes: bool, kind: Any) -> None:
    times = np.array([[0.3], [17.0], [5.1]], kind)
    cell = rnn.PhasedLSTMCell(4, use_peepholes=has_peepholes, leak=0.25, ratio_on=0.4)
    value, new, weights = called(cell, pair(), (times, INPUTS))
    assert list(weights) == [
        *(f"{scope}/{name}" for scope in ("mask_gates", "new_input", "output_gate")
          for name in ("kernel", "bias")),
        "period", "phase", "ratio_on",
    ]  # fmt: skip

    def linear(scope: str, *parts: Any) -> Any:
        return np.concatenate(parts, 1) @ weights[f"{scope}/kernel"] + weights[f"{scope}/bias"]

    joined = INPUTS, OUTPUT
    masks = sigmoid(linear("mask_gates", *joined, *([MEMORY] if has_peepholes else [])))
    memory = MEMORY * masks[:, 4:] + masks[:, :4] * np.tanh(linear("new_input", *joined))
    gate = sigmoid(linear("output_gate", *joined, *([memory] if has_peepholes else [])))
    output = np.tanh(memory) * gate
    place = np.mod(times - weights["phase"], weights["period"]) / weights["period"]
    ratio = weights["ratio_on"]
    falling = np.where(place < ratio, 2 - 2 * place / ratio, 0.25 * place)
    share = np.where(place < 0.5 * ratio, 2 * place / ratio, falling)
    close(new.c, share * memory + (1 - share) * MEMORY)
    close(value, share * output + (1 - share) * OUTPUT)
    np.testing.assert_array_equal(value, new.h)


def test_the_periods_of_a_loop_lie_between_their_limits() -> None:
    cell = rnn.PhasedLSTMCell(400, trainable_ratio_on=False, period_init_min=2.0)
    tf.set_random_seed(4)
    times = tf.constant(np.arange(6.0).reshape(1, 6, 1))
    features = tf.constant(RANDOM.uniform(-1, 1, (1, 6, 4)).astype(np.float32))
    outputs, _ = tf.nn.dynamic_rnn(cell, (times, features), dtype=tf.float32)
    trained = [v.op.name.rsplit("/", 1)[1] for v in tf.trainable_variables()]
    assert trained[-2:] == ["period", "phase"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        period, phase, ratio = session.run(tf.global_variables()[-3:])
        slopes = session.run(tf.gradients(outputs, tf.trainable_variables()))
    assert 2 <= period.min() < 4
    assert 400 < period.max() <= 1000
    assert abs(np.log(period).mean() - np.log(2000) / 2) < 0.3
    assert (phase >= 0).all()
    assert (phase <= period).all()
    assert 0.3 < (phase / period).mean() < 0.7
    np.testing.assert_array_equal(ratio, np.full(400, 0.1, np.float32))
    assert all(np.isfinite(slope).all() for slope in slopes)
