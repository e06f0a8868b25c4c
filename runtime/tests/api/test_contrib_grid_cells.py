"""The LSTM cells of `tf.contrib.rnn` that run along frequencies, and those with weight norms."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

rnn = tf.contrib.rnn
RANDOM = np.random.RandomState(11)
INPUTS = RANDOM.uniform(-1, 1, (3, 7)).astype(np.float32)
STATE = RANDOM.uniform(-1, 1, (40, 3, 2)).astype(np.float32)
"""Memories and outputs of three examples and two units."""
ZEROS = np.zeros((3, 2), np.float32)


def sigmoid(value: Any) -> Any:
    return 1 / (1 + np.exp(-value))


def called(cell: Any, state: Any, inputs: Any = INPUTS) -> tuple[Any, Any, dict[str, Any]]:
    """Return the output and the new state of a step, and the random values of the variables."""
    output, new = cell(tf.constant(inputs), tf.nest.map_structure(tf.constant, state))
    assert output.shape.as_list() == [3, output.shape.as_list()[1]]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        random = np.random.RandomState(5)
        weights = {}
        for variable in tf.trainable_variables():
            values = random.uniform(-1.5, 1.5, variable.shape.as_list()).astype(np.float32)
            variable.load(values, session)
            weights[variable.op.name.split("/", 1)[1]] = values
        return (*session.run([output, new]), weights)


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


class Weights:
    """The weights of a cell, by their names. What is missing is 0."""

    def __init__(self, values: dict[str, Any], prefix: str = "") -> None:
        self._values, self._prefix = values, prefix

    def __getitem__(self, name: str) -> Any:
        return self._values.get(self._prefix + name, np.float32(0))

    def joined(self, name: str) -> Any:
        """Return a matrix that is in several variables."""
        found = [
            value
            for key, value in sorted(self._values.items())
            if key.rpartition("_")[0] == self._prefix + name
        ]
        return np.concatenate(found)

    def sums(self, kernel: str, bias: str, parts: list[Any], count: int) -> list[Any]:
        return np.split(np.concatenate(parts, 1) @ self.joined(kernel) + self[bias], count, 1)


@pytest.mark.parametrize("use_peepholes", [False, True])
@pytest.mark.parametrize("clip", [None, 0.3])
def test_parts_of_the_inputs_follow_one_another(use_peepholes: bool, clip: float | None) -> None:
    cell = rnn.TimeFreqLSTMCell(
        2, use_peepholes, clip, num_unit_shards=3, forget_bias=0.5, feature_size=3,
        frequency_skip=2,
    )  # fmt: skip
    assert (cell.state_size, cell.output_size) == (4, 2)
    output, state, values = called(cell, np.concatenate(STATE[:6], 1))
    weights, below, expected = Weights(values), ZEROS, []
    for number in range(3):
        memory, last = STATE[2 * number : 2 * number + 2]
        part = INPUTS[:, 2 * number : 2 * number + 3]
        i, j, f, o = weights.sums("W", "B", [part, last, below], 4)
        memory = sigmoid(f + 0.5 + weights["W_F_diag"] * memory) * memory + sigmoid(
            i + weights["W_I_diag"] * memory
        ) * np.tanh(j)
        memory = memory if clip is None else np.clip(memory, -clip, clip)
        below = sigmoid(o + weights["W_O_diag"] * memory) * np.tanh(memory)
        expected += [memory, below]
    close(state, np.concatenate(expected, 1))
    close(output, np.concatenate(expected[1::2], 1))


def grid(weights: Weights, parts: list[Any], states: Any, block: int, coupled: bool) -> Any:
    """Return the outputs and the new states of one block, by the formulas."""
    outputs, news = [], []
    low, below = ZEROS, ZEROS
    is_shared = not any(key.startswith(f"{weights._prefix}W_t") for key in weights._values)

    def peeped(gate: str, kind: str, freq: Any, time: Any) -> Any:
        kind = "freq" if is_shared else kind
        return (
            weights[f"W_{gate}_diag_{kind}f_{block}"] * freq
            + weights[f"W_{gate}_diag_{kind}t_{block}"] * time
        )

    for index, part in enumerate(parts):
        memory, last = states[2 * index], states[2 * index + 1]
        sums = {
            kind: weights.sums(
                f"W_{letter}_{block}", f"B_{letter}_{block}", [part, last, below], 4 - coupled
            )
            for kind, letter in (("freq", "f"), ("time", "f" if is_shared else "t"))
        }
        made = {}
        for kind, own in (("freq", low), ("time", memory)):
            i = sigmoid(sums[kind][0] + peeped("I", kind, low, memory))
            f = 1 - i if coupled else sigmoid(sums[kind][2] + 1 + peeped("F", kind, low, memory))
            made[kind] = np.clip(f * own + i * np.tanh(sums[kind][1]), -0.9, 0.9)
        outs = {
            kind: sigmoid(sums[kind][-1] + peeped("O", kind, made["freq"], made["time"]))
            * np.tanh(made[kind])
            for kind in made
        }
        low, below = made["freq"], outs["freq"]
        outputs += [outs["time"], outs["freq"]]
        news += [made["time"], outs["time"]]
    return outputs, news


@pytest.mark.parametrize("use_peepholes", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("coupled", [False, True])
def test_a_grid_runs_along_time_and_frequency(
    use_peepholes: bool, shared: bool, coupled: bool
) -> None:
    cell = rnn.GridLSTMCell(
        2, use_peepholes, shared, 0.9, feature_size=3, frequency_skip=2, num_unit_shards=2,
        num_frequency_blocks=[3], couple_input_forget_gates=coupled,
    )  # fmt: skip
    assert cell.output_size == 12
    assert cell.state_size._fields[:3] == ("state_f00_b00_c", "state_f00_b00_m", "state_f01_b00_c")
    output, state, values = called(cell, cell.state_tuple_type(*STATE[:6]))
    parts = [INPUTS[:, start : start + 3] for start in (0, 2, 4)]
    outputs, news = grid(Weights(values), parts, STATE[:6], 0, coupled)
    close(output, np.concatenate(outputs, 1))
    close(state, news)


def test_blocks_of_frequencies_have_weights_of_their_own() -> None:
    cell = rnn.GridLSTMCell(
        2, cell_clip=0.9, feature_size=2, frequency_skip=1, num_frequency_blocks=[2, 1],
        start_freqindex_list=[0, 4], end_freqindex_list=[3, 6],
    )  # fmt: skip
    output, state, values = called(cell, cell.state_tuple_type(*STATE[:6]))
    weights = Weights(values)
    first = grid(weights, [INPUTS[:, 0:2], INPUTS[:, 1:3]], STATE[:4], 0, False)
    second = grid(weights, [INPUTS[:, 4:6]], STATE[4:6], 1, False)
    close(output, np.concatenate(first[0] + second[0], 1))
    close(state, first[1] + second[1])


def test_a_state_may_be_one_tensor() -> None:
    sizes: Any = {"cell_clip": 0.9, "feature_size": 7, "num_frequency_blocks": [1]}
    cell = rnn.GridLSTMCell(2, frequency_skip=1, state_is_tuple=False, **sizes)
    assert (cell.state_size, cell.state_tuple_type) == (4, None)
    output, state, values = called(cell, np.concatenate(STATE[:2], 1))
    outputs, news = grid(Weights(values), [INPUTS], STATE[:2], 0, False)
    close(output, np.concatenate(outputs, 1))
    close(state, np.concatenate(news, 1))


@pytest.mark.parametrize("offset", [0, 1, -1])
def test_a_bidirectional_grid_runs_from_both_ends(offset: int) -> None:
    cell = rnn.BidirectionalGridLSTMCell(
        2, cell_clip=0.9, feature_size=3, frequency_skip=2, num_frequency_blocks=[3],
        backward_slice_offset=offset,
    )  # fmt: skip
    assert cell.output_size == 24
    assert cell.state_size._fields[6] == "bwd_state_f00_b00_c"
    output, state, values = called(cell, cell.state_tuple_type(*STATE[:12]))
    moved = np.pad(INPUTS, [(0, 0), (1, 1)])[:, 1 + offset : 8 + offset]
    parts = [INPUTS[:, start : start + 3] for start in (0, 2, 4)]
    back = [moved[:, start : start + 3] for start in (4, 2, 0)]
    forward = grid(Weights(values, "fwd/"), parts, STATE[:6], 0, False)
    backward = grid(Weights(values, "bwd/"), back, STATE[6:12], 0, False)
    close(output, np.concatenate(forward[0] + backward[0], 1))
    close(state, forward[1] + backward[1])


def test_grids_run_through_sequences_and_have_gradients() -> None:
    cell = rnn.GridLSTMCell(3, feature_size=2, frequency_skip=1, num_frequency_blocks=[3])
    outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 5, 4]), dtype=tf.float32)
    slopes = tf.gradients(outputs, tf.trainable_variables())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values, last, found = session.run([outputs, state, slopes])
    assert values.shape == (2, 5, 18)
    assert type(last) is cell.state_tuple_type
    assert all(np.abs(slope).max() > 0 for slope in found)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"num_frequency_blocks": None}, "Must specify num_frequency_blocks"),
        ({"num_frequency_blocks": [2]}, "requires 2 but gets 3"),
        ({"num_frequency_blocks": [1, 2]}, "num_frequency_blocks is 2, but there are 1 starts"),
        (
            {"num_frequency_blocks": [3], "start_freqindex_list": [0]},
            "there are 1 starts and 0 ends",
        ),
    ],
)
def test_blocks_must_fit_the_inputs(more: Any, message: str) -> None:
    def call() -> Any:
        cell = rnn.GridLSTMCell(2, feature_size=3, frequency_skip=2, **more)
        return cell(tf.constant(INPUTS), cell.zero_state(3, tf.float32))

    with pytest.raises(ValueError, match=message):
        call()


def test_the_size_of_the_inputs_must_be_known() -> None:
    unknown = tf.placeholder(tf.float32, [3, None])
    for cell in (
        rnn.TimeFreqLSTMCell(2, feature_size=3),
        rnn.GridLSTMCell(2, feature_size=3, num_frequency_blocks=[1]),
    ):
        with pytest.raises(ValueError, match="Cannot infer input_size"):
            cell(unknown, cell.zero_state(3, tf.float32))
    cell = rnn.TimeFreqLSTMCell(2, feature_size=3, num_unit_shards=8)
    with pytest.raises(ValueError, match="Too many shards"):
        cell(tf.constant(INPUTS), cell.zero_state(3, tf.float32))


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("peepholes", [False, True])
@pytest.mark.parametrize("projection", [None, 4])
def test_columns_of_weights_have_the_lengths_of_their_norms(
    norm: bool, peepholes: bool, projection: int | None
) -> None:
    cell = rnn.WeightNormLSTMCell(
        2, norm, peepholes, 0.8, num_proj=projection, proj_clip=0.7, forget_bias=0.5
    )
    size = projection or 2
    last = np.tile(STATE[0], 2)[:, :size]
    output, state, values = called(cell, tf.nn.rnn_cell.LSTMStateTuple(STATE[1], last))
    weights = Weights({key.split("/", 1)[1]: value for key, value in values.items()})

    def product(prefix: str, parts: list[Any]) -> Any:
        pieces = np.split(weights[f"{prefix}kernel"], np.cumsum([p.shape[1] for p in parts])[:-1])
        if norm:
            pieces = [
                piece / np.linalg.norm(piece, axis=0) * weights[f"{prefix}norm_{number}"]
                for number, piece in enumerate(pieces)
            ]
        return sum(part @ piece for part, piece in zip(parts, pieces, strict=True))

    i, j, f, o = np.split(product("", [INPUTS, last]) + weights["bias"], 4, 1)
    memory = sigmoid(f + 0.5 + weights["w_f_diag"] * STATE[1]) * STATE[1]
    memory = memory + sigmoid(i + weights["w_i_diag"] * STATE[1]) * np.tanh(j)
    memory = np.clip(memory, -0.8, 0.8)
    expected = sigmoid(o + weights["w_o_diag"] * memory) * np.tanh(memory)
    if projection:
        expected = np.clip(product("projection/", [expected]), -0.7, 0.7)
    close(output, expected)
    close(state.c, memory)
    close(state.h, expected)


def test_time_and_batch_change_places() -> None:
    known = tf.zeros([2, 3, 4])
    assert rnn.transpose_batch_time(known).shape.as_list() == [3, 2, 4]
    vector = tf.zeros([3])
    assert rnn.transpose_batch_time(vector) is vector
    assert rnn.best_effort_input_batch_size([tf.placeholder(tf.float32), known]) == 3
    unknown = tf.placeholder(tf.float32)
    feeds = {unknown: np.arange(6).reshape(2, 3)}
    with tf.Session() as session:
        turned = session.run(rnn.transpose_batch_time(unknown), feeds)
        size = session.run(rnn.best_effort_input_batch_size([unknown]), feeds)
    np.testing.assert_array_equal(turned, feeds[unknown].T)
    assert size == 3
    with pytest.raises(ValueError, match="to have rank at least 2"):
        rnn.best_effort_input_batch_size([vector])


def test_a_compiled_cell_computes_what_the_cell_does() -> None:
    cell = tf.nn.rnn_cell.GRUCell(2)
    wrapped = rnn.CompiledWrapper(cell)
    assert (wrapped.state_size, wrapped.output_size) == (2, 2)
    one, _ = wrapped(tf.constant(INPUTS), tf.constant(STATE[0]))
    other, _ = cell(tf.constant(INPUTS), tf.constant(STATE[0]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(*session.run([one, other]))


def test_the_saved_state_of_core_is_that_of_contrib() -> None:
    assert rnn.static_state_saving_rnn is tf.nn.static_state_saving_rnn
