"""The cells of `tf.contrib.grid_rnn` compute what NumPy's cells of a grid do."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

grid = tf.contrib.grid_rnn
RANDOM = np.random.RandomState(3)
INPUTS = RANDOM.uniform(-1, 1, (2, 5)).astype(np.float32)
STATES = RANDOM.uniform(-1, 1, (3, 2, 2, 2)).astype(np.float32)
"""Memories and outputs of up to three dimensions, for two examples and two units."""


def called(cell: Any, state: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Return the output and the new state of a step, and the random values of the variables."""
    with tf.Graph().as_default(), tf.Session() as session:
        output, new = cell(tf.constant(INPUTS), tf.nest.map_structure(tf.constant, state))
        session.run(tf.global_variables_initializer())
        random, weights = np.random.RandomState(5), {}
        for variable in tf.trainable_variables():
            values = random.uniform(-1, 1, variable.shape.as_list()).astype(np.float32)
            variable.load(values, session)
            weights[variable.op.name] = values
        return (*session.run([output, new]), weights)


def sigmoid(value: Any) -> Any:
    return 1 / (1 + np.exp(-value))


def lstm(weights: Any, scope: str, inputs: Any, memory: Any, output: Any, bias: float) -> Any:
    kernel, more = weights[f"{scope}/kernel"], weights[f"{scope}/bias"]
    i, j, f, o = np.split(np.concatenate([inputs, output], 1) @ kernel + more, 4, 1)
    memory = sigmoid(f + bias) * memory + sigmoid(i) * np.tanh(j)
    return memory, sigmoid(o) * np.tanh(memory)


@pytest.mark.parametrize("tied", [False, True])
def test_the_first_dimension_of_two_takes_the_inputs_and_runs_last(tied: bool) -> None:
    state = tuple((each[0], each[1]) for each in STATES[:2])
    output, new, weights = called(grid.Grid2LSTMCell(2, tied=tied, forget_bias=0.5), state)
    first = "recurrent/lstm_cell" if tied else "recurrent/cell_0/lstm_cell"
    second = "recurrent/lstm_cell" if tied else "recurrent/cell_1/lstm_cell"
    root = "Grid2LSTMCell"
    assert weights.keys() == {
        f"{root}/project_m_0", f"{root}/project_c_0",
        *(f"{root}/{scope}/{kind}" for scope in (first, second) for kind in ("kernel", "bias")),
    }  # fmt: skip
    old, memory = (INPUTS @ weights[f"{root}/project_{kind}_0"] for kind in "mc")
    after = lstm(weights, f"{root}/{second}", old, STATES[1, 0], STATES[1, 1], 0.5)
    before = lstm(weights, f"{root}/{first}", old, memory, after[1], 0.5)
    np.testing.assert_allclose(output, [before[1]], rtol=1e-5)
    np.testing.assert_allclose(new, [before, after], rtol=1e-5)


def test_a_dense_layer_takes_the_place_of_a_cell() -> None:
    cell = grid.Grid3LSTMCell(2, non_recurrent_fn=tf.tanh, output_is_tuple=False)
    state = tuple((each[0], each[1]) for each in STATES[1:])
    output, new, weights = called(cell, state)
    root = "Grid3LSTMCell"
    old = INPUTS @ weights[f"{root}/project_m_0"]
    inputs = np.concatenate([old, STATES[1, 1]], 1)
    after = [
        lstm(weights, f"{root}/recurrent/cell_{dim}/lstm_cell", inputs, STATES[dim, 0], last, 1)
        for dim, last in ((1, STATES[2, 1]), (2, STATES[2, 1]))
    ]
    scope = f"{root}/non_recurrent/cell_0/fully_connected"
    joined = np.concatenate([old, after[0][1], after[1][1]], 1)
    expected = np.tanh(joined @ weights[f"{scope}/weights"] + weights[f"{scope}/biases"])
    np.testing.assert_allclose(output, expected, rtol=1e-5)
    np.testing.assert_allclose(new, after, rtol=1e-5)


def test_one_dimension_has_projections_in_the_place_of_its_state() -> None:
    state = (STATES[0, 0],)
    output, new, weights = called(grid.Grid1BasicRNNCell(2), state)
    root = "Grid1BasicRNNCell"
    old = INPUTS @ weights[f"{root}/project_m_0"]
    scope = f"{root}/recurrent/cell_0/basic_rnn_cell"
    expected = np.tanh(old @ weights[f"{scope}/kernel"] + weights[f"{scope}/bias"])
    np.testing.assert_allclose(output, [expected], rtol=1e-5)
    np.testing.assert_allclose(new, [expected], rtol=1e-5)


def test_states_are_tuples_or_one_tensor() -> None:
    state = tuple((each[0], each[1]) for each in STATES[:2])
    joined = np.concatenate([*state[0], *state[1]], 1)
    cell = grid.Grid2BasicLSTMCell(2, state_is_tuple=False)
    assert (cell.state_size, cell.output_size) == (8, (2,))
    output, new, _ = called(cell, joined)
    expected, parts, _ = called(grid.Grid2BasicLSTMCell(2), state)
    np.testing.assert_allclose(output, expected, rtol=1e-6)
    np.testing.assert_allclose(new, np.concatenate([*parts[0], *parts[1]], 1), rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (lambda: grid.Grid2GRUCell(3, tied=True), (3, 3)),
        (lambda: grid.Grid2GRUCell(3, non_recurrent_fn=tf.nn.relu), (3,)),
        (lambda: grid.Grid1LSTMCell(3, use_peepholes=True), ((3, 3),)),
        (
            lambda: grid.GridRNNCell(3, 3, [0, 2], [1], 1, 2, cell_fn=tf.nn.rnn_cell.GRUCell),
            (3, 3),
        ),
    ],
)
def test_grids_run_over_sequences(make: Any, size: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        cell = make()
        assert tf.nest.flatten(cell.state_size) == tf.nest.flatten(size)
        outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 4, 6]), dtype=tf.float32)
        loss = tf.reduce_sum(outputs[0])
        assert all(each is not None for each in tf.gradients(loss, tf.trainable_variables()))
        session.run(tf.global_variables_initializer())
        found = session.run([outputs, state])
        assert found[0][0].shape == (2, 4, 3)


class OldCell(tf.nn.rnn_cell.RNNCell):
    """A cell that gets its variable in each call, as cells did before they were layers."""

    state_size = output_size = 2

    def __init__(self, num_units: int) -> None:
        super().__init__()

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        joined = tf.concat([inputs, state], 1)
        weights = tf.get_variable("w", [joined.shape[1].value, 2])
        output = tf.matmul(joined, weights)
        return output, output


def test_tied_cells_share_the_variables_that_they_get() -> None:
    cell = grid.GridRNNCell(2, 2, 0, 0, 0, tied=True, cell_fn=OldCell)
    output, _, weights = called(cell, (STATES[0, 0], STATES[1, 0]))
    shared = weights["GridRNNCell/recurrent/w"]
    old = INPUTS @ weights["GridRNNCell/project_m_0"]
    after = np.concatenate([old, STATES[1, 0]], 1) @ shared
    np.testing.assert_allclose(output, [np.concatenate([old, after], 1) @ shared], rtol=1e-5)


def test_wrong_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="dims must be >= 1"):
        grid.GridRNNCell(2, 0)
    with pytest.raises(ValueError, match=r"Invalid dims: \[2\]"):
        grid.GridRNNCell(2, 2, input_dims=2)
    with pytest.raises(TypeError, match="must return an RNNCell"):
        grid.GridRNNCell(2, 2, cell_fn=lambda size: size)
    with pytest.raises(ValueError, match="tuple of 2"):
        called(grid.Grid2GRUCell(2), (STATES[0, 0],))
