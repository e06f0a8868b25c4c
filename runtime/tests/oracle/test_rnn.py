"""Recurrent networks compute what unrolled loops of TensorFlow's operations compute.

TensorFlow 2 has no `tf.nn.rnn_cell`, so its programs call the operations of a cell by themselves.
"""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(11)
ROWS = RANDOM.uniform(-1, 1, (3, 5, 4)).astype(np.float32)
LENGTHS = np.array([5, 2, 3], np.int32)
UNITS = 6


def values(shape: Any) -> Any:
    size = int(np.prod(shape))
    return (np.sin(np.arange(size) * 1.7) / 2).reshape(shape).astype(np.float32)


def linear(v1: Any, parts: Any, variables: Any) -> Any:
    return v1.matmul(v1.concat(parts, 1), variables[0]) + variables[1]


def basic(v1: Any, x: Any, state: Any, v: Any) -> Any:
    output = v1.tanh(linear(v1, [x, state[0]], v))
    return output, [output]


def lstm(v1: Any, x: Any, state: Any, v: Any) -> Any:
    i, j, f, o = v1.split(linear(v1, [x, state[1]], v), 4, 1)
    memory = state[0] * v1.sigmoid(f + 1.0) + v1.sigmoid(i) * v1.tanh(j)
    output = v1.tanh(memory) * v1.sigmoid(o)
    return output, [memory, output]


def gru(v1: Any, x: Any, state: Any, v: Any) -> Any:
    r, u = v1.split(v1.sigmoid(linear(v1, [x, state[0]], v)), 2, 1)
    candidate = v1.tanh(linear(v1, [x, r * state[0]], v[2:]))
    output = u * state[0] + (1 - u) * candidate
    return output, [output]


def peephole(v1: Any, x: Any, state: Any, v: Any) -> Any:
    i, j, f, o = v1.split(linear(v1, [x, state[1]], v), 4, 1)
    _, _, by_f, by_i, by_o, projection = v
    memory = state[0] * v1.sigmoid(f + 1.0 + by_f * state[0])
    memory += v1.sigmoid(i + by_i * state[0]) * v1.tanh(j)
    output = v1.matmul(v1.sigmoid(o + by_o * memory) * v1.tanh(memory), projection)
    return output, [memory, output]


GATES = 4 + UNITS
CELLS: dict[str, tuple[Callable[[], Any], Any, list[int], dict[str, Any]]] = {
    "basic_rnn_cell": (
        lambda: capstan.nn.rnn_cell.BasicRNNCell(UNITS), basic, [UNITS],
        {"kernel": [GATES, UNITS], "bias": [UNITS]},
    ),
    "basic_lstm_cell": (
        lambda: capstan.nn.rnn_cell.BasicLSTMCell(UNITS), lstm, [UNITS, UNITS],
        {"kernel": [GATES, 4 * UNITS], "bias": [4 * UNITS]},
    ),
    "gru_cell": (
        lambda: capstan.nn.rnn_cell.GRUCell(UNITS), gru, [UNITS],
        {
            "gates/kernel": [GATES, 2 * UNITS], "gates/bias": [2 * UNITS],
            "candidate/kernel": [GATES, UNITS], "candidate/bias": [UNITS],
        },
    ),
    "lstm_cell": (
        lambda: capstan.nn.rnn_cell.LSTMCell(UNITS, use_peepholes=True, num_proj=2), peephole,
        [UNITS, 2],
        {
            "kernel": [6, 4 * UNITS], "bias": [4 * UNITS], "w_f_diag": [UNITS],
            "w_i_diag": [UNITS], "w_o_diag": [UNITS], "projection/kernel": [UNITS, 2],
        },
    ),
}  # fmt: skip


def unrolled(v1: Any, name: str) -> Any:
    """Return the outputs and states of TensorFlow, with the variables of a cell."""
    _, step, sizes, shapes = CELLS[name]
    variables = [
        v1.Variable(values(shape), name=f"rnn/{name}/{part}") for part, shape in shapes.items()
    ]
    state = [v1.zeros([3, size]) for size in sizes]
    outputs = []
    for time in range(5):
        output, new = step(v1, v1.constant(ROWS[:, time]), state, variables)
        alive = v1.constant((time < LENGTHS)[:, None])
        outputs.append(v1.where_v2(alive, output, v1.zeros_like(output)))
        state = [v1.where_v2(alive, one, old) for one, old in zip(new, state, strict=True)]
    return v1.stack(outputs, 1), state


def trained(tf: Any, network: Callable[[], Any]) -> Any:
    """Return outputs and states of each of three steps of training, and the variables."""
    with tf.Graph().as_default(), tf.Session() as session:
        outputs, state = network()
        loss = tf.reduce_sum(tf.square(outputs - 0.3)) + tf.reduce_sum(state[-1])
        train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
        session.run(tf.global_variables_initializer())
        for variable in tf.global_variables():
            variable.load(values(variable.shape.as_list()), session)
        found = [session.run([train, outputs, state])[1:] for _ in range(3)]
        return found, {variable.op.name: variable.eval() for variable in tf.global_variables()}


def network(name: str, form: str) -> Any:
    """Return the outputs and states of Capstan, for one way to unroll a cell."""
    tf, cell = capstan, CELLS[name][0]()
    if form == "static":
        inputs = tf.unstack(tf.constant(ROWS), axis=1)
        outputs, state = tf.nn.static_rnn(cell, inputs, dtype=tf.float32, sequence_length=LENGTHS)
        outputs = tf.stack(outputs, 1)
    elif form == "dynamic":
        fed = tf.placeholder_with_default(ROWS, [None, None, 4])
        outputs, state = tf.nn.dynamic_rnn(cell, fed, LENGTHS, dtype=tf.float32)
    else:
        start = cell.zero_state(3, tf.float32)
        turned = ROWS.swapaxes(0, 1)
        outputs, state = tf.nn.dynamic_rnn(cell, turned, LENGTHS, start, time_major=True)
        outputs = tf.transpose(outputs, [1, 0, 2])
    return outputs, list(state) if isinstance(state, tuple) else [state]


@pytest.mark.parametrize("name", CELLS)
def test_a_recurrent_network_trains_as_in_tensorflow(v1: Any, name: str) -> None:
    expected, wanted = trained(v1, lambda: unrolled(v1, name))
    for form in ("static", "dynamic", "time major"):
        found, variables = trained(capstan, lambda form=form: network(name, form))
        for step, expected_step in zip(found, expected, strict=True):
            np.testing.assert_allclose(step[0], expected_step[0], rtol=1e-3, atol=1e-5)
            for one, other in zip(step[1], expected_step[1], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
        assert variables.keys() == wanted.keys()
        for key, value in wanted.items():
            np.testing.assert_allclose(variables[key], value, rtol=1e-3, atol=1e-5, err_msg=key)


class Cell:
    """A cell for both libraries, as TensorFlow 2 has none. `tf` is the module of its operations."""

    output_size = state_size = UNITS

    def __init__(self, tf: Any) -> None:
        self._tf = tf

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        return self._tf.zeros([batch_size, UNITS], dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with self._tf.variable_scope("cell"):
            kernel = self._tf.get_variable("kernel", [GATES, UNITS])
        output = self._tf.tanh(self._tf.matmul(self._tf.concat([inputs, state], 1), kernel))
        return output, output


class Saver:
    """Keeps the states of `static_state_saving_rnn` in variables."""

    def __init__(self, tf: Any) -> None:
        self._states = {"s": tf.Variable(values([3, UNITS]), name="s", trainable=False)}

    def state(self, name: str) -> Any:
        return self._states[name].read_value()

    def save_state(self, name: str, value: Any) -> Any:
        return self._states[name].assign(value)


def chosen_inputs(tf: Any, *, emits: bool) -> Any:
    """Return a `loop_fn` for `raw_rnn` that reads ROWS, and counts its calls."""
    rows = tf.TensorArray(tf.float32, 5).unstack(ROWS.swapaxes(0, 1))

    def loop_fn(time: Any, output: Any, state: Any, count: Any) -> Any:
        finished = time >= LENGTHS
        following = tf.cond(
            tf.reduce_all(finished), lambda: tf.zeros([3, 4]), lambda: rows.read(time)
        )
        following.set_shape([3, 4])
        if output is None:
            first = tf.constant(values([3, UNITS]))
            shapes = (tf.zeros([UNITS]), tf.zeros([], tf.int32)) if emits else None
            return finished, following, first, shapes, tf.constant(1) if emits else None
        kept = (output * 2, tf.fill([3], time)) if emits else output
        return finished, following, state, kept, count + 1 if emits else None

    return loop_fn


def both_ways(tf: Any, form: str) -> Any:
    """Return the outputs of one form of a network, and a list of its states."""
    cells, dynamic = (Cell(tf), Cell(tf)), tf.nn.bidirectional_dynamic_rnn
    fed = tf.placeholder_with_default(ROWS, [None, None, 4])
    listed = tf.unstack(tf.constant(ROWS), axis=1)
    if form == "dynamic":
        outputs, states = dynamic(*cells, fed, LENGTHS, dtype=tf.float32)
    elif form == "unlimited":
        outputs, states = dynamic(*cells, fed, dtype=tf.float32)
    elif form == "time major":
        start = tf.constant(values([3, UNITS]))
        turned = tf.constant(ROWS.swapaxes(0, 1))
        outputs, states = dynamic(*cells, turned, LENGTHS, start, start, time_major=True)
    elif form == "saved":
        outputs, state = tf.nn.static_state_saving_rnn(cells[0], listed, Saver(tf), "s", LENGTHS)
        return tf.stack(outputs), [state]
    elif form.startswith("raw"):
        loop_fn = chosen_inputs(tf, emits=form == "raw with outputs")
        arrays, state, count = tf.nn.raw_rnn(cells[0], loop_fn)
        if count is None:
            return arrays.stack(), [state]
        return arrays[0].stack(), [tf.cast(arrays[1].stack() + count, tf.float32), state]
    else:
        lengths = LENGTHS if form == "static" else None
        outputs, *states = tf.nn.static_bidirectional_rnn(
            *cells, listed, dtype=tf.float32, sequence_length=lengths
        )
        return tf.stack(outputs), states
    return tf.concat(outputs, 2), list(states)


@pytest.mark.parametrize(
    "form",
    [
        *("dynamic", "unlimited", "time major", "static", "unlimited list", "saved", "raw"),
        "raw with outputs",
    ],
)
def test_a_network_of_another_form_trains_as_in_tensorflow(v1: Any, form: str) -> None:
    expected, wanted = trained(v1, lambda: both_ways(v1, form))
    found, variables = trained(capstan, lambda: both_ways(capstan, form))
    assert variables.keys() == wanted.keys()
    for step, expected_step in zip(found, expected, strict=True):
        np.testing.assert_allclose(step[0], expected_step[0], rtol=1e-3, atol=1e-5)
        for one, other in zip(step[1], expected_step[1], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    for key, value in wanted.items():
        np.testing.assert_allclose(variables[key], value, rtol=1e-3, atol=1e-5, err_msg=key)


def test_a_cell_that_is_there_twice_shares_its_weights_if_the_sizes_agree() -> None:
    tf = capstan
    for size in (4, 5):
        with tf.Graph().as_default():
            cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(4)] * 2)
            inputs = tf.placeholder(tf.float32, [2, 3, size])
            if size == 4:
                tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
                assert len(tf.trainable_variables()) == 2
            else:
                with pytest.raises(ValueError, match="Dimensions must be equal, but are 8 and 9"):
                    tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)


def test_cells_in_sequence_have_tensorflows_variables() -> None:
    tf = capstan
    with tf.Graph().as_default():
        make = tf.nn.rnn_cell
        cells = [make.DropoutWrapper(make.BasicLSTMCell(2), 0.5), make.GRUCell(3)]
        cell = make.MultiRNNCell(cells)
        outputs, (first, second) = tf.nn.dynamic_rnn(cell, ROWS, dtype=tf.float32)
        assert outputs.shape.as_list() == [3, 5, 3]
        assert isinstance(first, make.LSTMStateTuple)
        assert second.shape.as_list() == [3, 3]
        start = "rnn/multi_rnn_cell/cell_"
        assert [variable.op.name for variable in tf.global_variables()] == [
            f"{start}0/basic_lstm_cell/kernel",
            f"{start}0/basic_lstm_cell/bias",
            f"{start}1/gru_cell/gates/kernel",
            f"{start}1/gru_cell/gates/bias",
            f"{start}1/gru_cell/candidate/kernel",
            f"{start}1/gru_cell/candidate/bias",
        ]
        with pytest.raises(ValueError, match="If there is no initial_state"):
            tf.nn.dynamic_rnn(make.GRUCell(2), ROWS, scope="other")


class _Pair(capstan.nn.rnn_cell.RNNCell):
    """Adds up the first and the second parts of its inputs."""

    state_size = output_size = (2, 3)

    def call(self, inputs: Any, state: Any) -> Any:
        sums = tuple(part + total for part, total in zip(inputs, state, strict=True))
        return sums, sums


@pytest.mark.parametrize("lengths", [None, [3, 1]])
def test_a_network_of_lists_passes_pairs_of_tensors_to_its_cell(lengths: Any) -> None:
    tf = capstan
    steps = [(np.full((2, 2), 10.0**time), np.full((2, 3), 2.0**time)) for time in range(3)]
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tuple(map(tf.constant, step)) for step in steps]
        outputs, state = tf.nn.static_rnn(
            _Pair(), inputs, dtype=tf.float64, sequence_length=lengths
        )
        both, _, backwards = tf.nn.static_bidirectional_rnn(
            _Pair(), _Pair(), inputs, dtype=tf.float64, sequence_length=lengths
        )
        found = session.run([outputs[2], state, both[0], backwards])
    ends = [111, 111] if lengths is None else [111, 1]
    (last, _), (total, _), (joined, small), (turned, _) = found
    np.testing.assert_array_equal(last[:, 0], ends if lengths is None else [111, 0])
    np.testing.assert_array_equal(total[:, 1], ends)
    np.testing.assert_array_equal(joined[:, 1:3], [[1, end] for end in ends])
    np.testing.assert_array_equal(turned[:, 0], ends)
    assert small.shape == (2, 6)
