"""The networks of `tf.contrib.cudnn_rnn`, against cuDNN's formulas."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

cudnn = tf.contrib.cudnn_rnn
RANDOM = np.random.RandomState(21)
INPUTS = RANDOM.uniform(-1, 1, (5, 3, 4)).astype(np.float32)
LENGTHS = np.array([5, 2, 3], np.int32)
LAYERS = {
    "lstm": cudnn.CudnnLSTM, "gru": cudnn.CudnnGRU, "rnn_tanh": cudnn.CudnnRNNTanh,
    "rnn_relu": cudnn.CudnnRNNRelu,
}  # fmt: skip
CELLS = {
    "lstm": cudnn.CudnnCompatibleLSTMCell,
    "gru": cudnn.CudnnCompatibleGRUCell,
    "rnn_tanh": tf.nn.rnn_cell.BasicRNNCell,
    "rnn_relu": lambda units: tf.nn.rnn_cell.BasicRNNCell(units, tf.nn.relu),
}


def sigmoid(value: Any) -> Any:
    return 1 / (1 + np.exp(-value))


def step(mode: str, x: Any, h: Any, c: Any, weights: Any) -> tuple[Any, Any]:
    """Return the new `h` and `c` by the formulas of cuDNN."""
    joined = np.concatenate([x, h], 1)
    if mode == "lstm":
        i, j, f, o = np.split(joined @ weights["kernel"] + weights["bias"], 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(j)
        return sigmoid(o) * np.tanh(c), c
    if mode == "gru":
        gates = joined @ weights["gates/kernel"] + weights["gates/bias"]
        reset, update = np.split(sigmoid(gates), 2, 1)
        own, old = "candidate/input_projection", "candidate/hidden_projection"
        of_state = h @ weights[f"{old}/kernel"] + weights[f"{old}/bias"]
        of_inputs = x @ weights[f"{own}/kernel"] + weights[f"{own}/bias"]
        return (1 - update) * np.tanh(of_inputs + reset * of_state) + update * h, c
    value = joined @ weights["kernel"] + weights["bias"]
    return (np.tanh(value) if mode == "rnn_tanh" else np.maximum(value, 0)), c


def expected(mode: str, weights: Any, h: Any, c: Any, lengths: Any) -> Any:
    """Return the outputs of a network and its last states, example by example."""
    outputs = np.zeros((5, 3, 2 * len(weights[0])), np.float32)
    h, c = h.copy(), c.copy()
    for example, length in enumerate(lengths):
        rows = INPUTS[:length, example : example + 1]
        for layer, directions in enumerate(weights):
            found = []
            for number, cell in enumerate(directions):
                place, made = layer * len(directions) + number, []
                for x in rows[::-1] if number else rows:
                    one = slice(example, example + 1)
                    h[place, one], c[place, one] = step(mode, x, h[place, one], c[place, one], cell)
                    made.append(h[place, one].copy())
                found.append(made[::-1] if number else made)
            rows = [np.concatenate(parts, 1) for parts in zip(*found, strict=True)]
        outputs[:length, example] = np.concatenate(rows)
    return outputs, h, c


@pytest.mark.parametrize("time_major", [True, False])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("mode", LAYERS)
def test_a_network_computes_the_formulas_of_cudnn(
    mode: str, directions: int, time_major: bool
) -> None:
    layer = LAYERS[mode](2, 2, direction=("unidirectional", "bidirectional")[directions - 1])
    h, c = (RANDOM.uniform(-1, 1, (2 * directions, 3, 2)).astype(np.float32) for _ in range(2))
    given = (h, c) if mode == "lstm" else (h,)
    lengths = LENGTHS if time_major else None
    turned = [value if time_major else value.swapaxes(0, 1) for value in (INPUTS, *given)]
    outputs, state = layer(
        tf.constant(turned[0]), tuple(map(tf.constant, turned[1:])), lengths, time_major
    )
    assert (layer.rnn_mode, layer.num_dirs, layer.input_size) == (mode, directions, 4)
    assert [[int(s) for s in shape] for shape in layer.state_shape(3)] == [
        [2 * directions, 3, 2]
    ] * len(given)
    assert layer.trainable_weights == tf.trainable_variables()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in tf.trainable_variables():
            variable.load(RANDOM.uniform(-1, 1, variable.shape.as_list()), session)
        values = session.run({v.op.name: v for v in tf.trainable_variables()})
        found, last = session.run([outputs, state])
    name = layer.scope_name
    weights = [
        [
            {key[len(prefix) :]: value for key, value in values.items() if key.startswith(prefix)}
            for prefix in prefixes(name, mode, number, directions)
        ]
        for number in range(2)
    ]
    assert sum(len(cell) for row in weights for cell in row) == len(values)
    result = expected(mode, weights, h, c, LENGTHS if time_major else [5] * 3)
    result = [value if time_major else value.swapaxes(0, 1) for value in result]
    np.testing.assert_allclose(found, result[0][..., : 2 * directions], rtol=1e-4, atol=1e-5)
    for one, other in zip(last, result[1:], strict=False):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def prefixes(name: str, mode: str, number: int, directions: int) -> list[str]:
    kind = {"lstm": "cudnn_compatible_lstm_cell", "gru": "cudnn_compatible_gru_cell"}
    cell = kind.get(mode, "basic_rnn_cell")
    if directions == 1:
        return [f"{name}/rnn/multi_rnn_cell/cell_{number}/{cell}/"]
    path = f"{name}/stack_bidirectional_rnn/cell_{number}/bidirectional_rnn"
    return [f"{path}/{direction}/{cell}/" for direction in ("fw", "bw")]


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("mode", LAYERS)
def test_the_compatible_cells_restore_the_weights_of_a_network(
    mode: str, directions: int, tmp_path: pathlib.Path
) -> None:
    direction = ("unidirectional", "bidirectional")[directions - 1]
    layer = LAYERS[mode](2, 3, direction=direction, name="network")
    outputs, _ = layer(tf.constant(INPUTS))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected = session.run(outputs)
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.variable_scope("network"):
        rows = [[CELLS[mode](3) for _ in range(2)] for _ in range(directions)]
        if directions == 1:
            cell = tf.nn.rnn_cell.MultiRNNCell(rows[0])
            outputs, _ = tf.nn.dynamic_rnn(cell, INPUTS, dtype=tf.float32, time_major=True)
        else:
            outputs, _, _ = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
                *rows, tf.constant(INPUTS), dtype=tf.float32, time_major=True
            )
        with tf.Session() as session:
            tf.train.Saver().restore(session, path)
            np.testing.assert_allclose(session.run(outputs), expected, rtol=1e-5, atol=1e-6)


def test_the_initializers_get_the_shapes_of_the_matrices_and_biases() -> None:
    asked: list[list[int]] = []

    def kernel(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        asked.append(list(shape))
        return tf.fill(shape, tf.cast(len(asked), dtype))

    layer = cudnn.CudnnGRU(
        2, 3, direction="bidirectional", kernel_initializer=kernel,
        bias_initializer=tf.constant_initializer(0.25), dtype=tf.float64,
    )  # fmt: skip
    layer.build([None, None, 4])
    assert sorted(asked) == sorted(map(list, layer.canonical_weight_shapes))
    assert layer.canonical_bias_shapes == [[3]] * 24
    assert all(variable.dtype.base_dtype == tf.float64 for variable in tf.trainable_variables())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values = session.run({v.op.name: v for v in layer.trainable_weights})
    for name, value in values.items():
        if name.endswith("bias"):
            joint = 0.25 if "/candidate/" in name else 0.5
            np.testing.assert_array_equal(value, np.full(value.shape, joint))
    gates = next(value for name, value in values.items() if name.endswith("gates/kernel"))
    places = [gates[:4, :3], gates[4:, :3], gates[:4, 3:], gates[4:, 3:]]
    assert [set(place.ravel()) for place in places] == [{1.0}, {2.0}, {3.0}, {4.0}]


def test_dropout_lies_between_the_layers_and_only_in_training() -> None:
    tf.set_random_seed(3)
    layer = cudnn.CudnnLSTM(2, 64, dropout=0.5)
    trained, _ = layer(tf.constant(INPUTS))
    tested, _ = layer(tf.constant(INPUTS), training=False)
    single = cudnn.CudnnLSTM(1, 4, dropout=0.9)
    alone = [single(tf.constant(INPUTS), training=training)[0] for training in (True, False)]
    assert len(layer.trainable_weights) == 4
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first, second = session.run(trained), session.run(trained)
        assert not np.allclose(first, second)
        np.testing.assert_array_equal(session.run(tested), session.run(tested))
        np.testing.assert_array_equal(*session.run(alone))


def test_a_second_network_can_reuse_the_variables() -> None:
    for reuse in (False, True):
        with tf.variable_scope("shared", reuse=reuse):
            outputs, _ = cudnn.CudnnGRU(1, 3, name="network")(tf.constant(INPUTS))
    assert len(tf.trainable_variables()) == 6
    assert all(slope is not None for slope in tf.gradients(outputs, tf.trainable_variables()))


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="Invalid direction: up"):
        cudnn.CudnnLSTM(1, 2, direction="up")
    with pytest.raises(ValueError, match="Invalid input_mode: none"):
        cudnn.CudnnLSTM(1, 2, input_mode="none")
    with pytest.raises(ValueError, match="Only support float16"):
        cudnn.CudnnLSTM(1, 2, dtype=tf.int32)
    with pytest.raises(ValueError, match="has no skip_input"):
        cudnn.CudnnLSTM(1, 2, input_mode="skip_input")
    with pytest.raises(ValueError, match="has no skip_input"):
        cudnn.CudnnLSTM(1, 4, input_mode="auto_select")(tf.constant(INPUTS))
    layer = cudnn.CudnnLSTM(1, 2)
    with pytest.raises(ValueError, match="has not been built"):
        _ = layer.input_size
    with pytest.raises(ValueError, match="with 3 dims, got 2"):
        layer.build([3, 4])
    with pytest.raises(ValueError, match="should be defined"):
        layer.build([3, 4, None])
    with pytest.raises(TypeError, match="expecting tuple"):
        cudnn.CudnnLSTM(1, 2)(tf.constant(INPUTS), initial_state=tf.zeros([1, 3, 2]))
    with pytest.raises(AttributeError, match="CudnnLSTMSaveable"):
        _ = cudnn.CudnnLSTMSaveable
