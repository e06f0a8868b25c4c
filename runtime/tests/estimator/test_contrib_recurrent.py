"""The recurrent estimators of `tf.contrib` compute NumPy's logits and learn from sequences."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib import estimator as contrib

pytestmark = pytest.mark.e2e
column = tf.feature_column
ROWS = [[1.0, -2.0, 0.5], [3.0], [-1.0, 2.0]]
LABELS = [[1], [1], [0]]
"""Whether the first number is positive."""


def input_fn() -> Any:
    indices = [[row, step] for row, numbers in enumerate(ROWS) for step in range(len(numbers))]
    values = [number for numbers in ROWS for number in numbers]
    features = {
        "x": tf.SparseTensor(indices, values, [3, 3]),
        "word": tf.SparseTensor(indices, ["a", "b", "c", "a", "c", "b"], [3, 3]),
        "bias": tf.constant([[0.5], [1.0], [-1.0]]),
    }
    return features, tf.constant(LABELS)


def test_the_logits_follow_from_the_last_step_of_an_example(tmp_path: pathlib.Path) -> None:
    estimator = contrib.RNNClassifier(
        [column.sequence_numeric_column("x")], [column.numeric_column("bias")], [2],
        model_dir=str(tmp_path),
    )  # fmt: skip
    estimator.train(input_fn, steps=3)
    names = {name for name in estimator.get_variable_names() if name.startswith("rnn")}
    cell, dense = "rnn/rnn/basic_rnn_cell", "rnn/logits/dense"
    plain = {f"{scope}/{kind}" for scope in (cell, dense) for kind in ("kernel", "bias")}
    assert {name for name in names if not name.endswith("Adagrad")} == plain
    weights = {name: estimator.get_variable_value(name) for name in plain}
    expected = []
    for numbers, bias in zip(ROWS, [0.5, 1.0, -1.0], strict=True):
        state = np.zeros(2)
        for number in numbers:
            joined = np.concatenate([[number, bias], state])
            state = np.tanh(joined @ weights[f"{cell}/kernel"] + weights[f"{cell}/bias"])
        expected.append(state @ weights[f"{dense}/kernel"] + weights[f"{dense}/bias"])
    predictions = estimator.predict(input_fn, yield_single_examples=False)
    np.testing.assert_allclose(next(predictions)["logits"], expected, rtol=1e-4, atol=1e-5)


def test_a_network_learns(tmp_path: pathlib.Path) -> None:
    words = column.sequence_categorical_column_with_vocabulary_list("word", ["a", "b", "c"])
    estimator = contrib.RNNEstimator(
        contrib.regression_head(), [column.embedding_column(words, 2)], num_units=[4, 3],
        cell_type="lstm", optimizer=lambda: tf.train.AdamOptimizer(0.05),
        model_dir=str(tmp_path), config=tf.estimator.RunConfig(tf_random_seed=1),
    )  # fmt: skip
    estimator.train(input_fn, steps=1)
    first = estimator.evaluate(input_fn, steps=1)
    estimator.train(input_fn, steps=15)
    last = estimator.evaluate(input_fn, steps=1)
    assert last["loss"] < first["loss"]
    scope = "rnn/sequence_input_layer/sequence_input_layer/word_embedding"
    assert f"{scope}/embedding_weights" in estimator.get_variable_names()
    found = contrib.read_eval_metrics(estimator.eval_dir())
    assert found[16]["loss"] == pytest.approx(last["loss"])


def test_cells_may_depend_on_the_mode() -> None:
    modes: list[str] = []

    def rnn_cell_fn(mode: str) -> Any:
        modes.append(mode)
        return tf.nn.rnn_cell.GRUCell(2)

    estimator = contrib.RNNClassifier(
        [column.sequence_numeric_column("x")], rnn_cell_fn=rnn_cell_fn, n_classes=3
    )
    estimator.train(input_fn, steps=1)
    assert modes == ["train"]


def test_wrong_layers_are_refused() -> None:
    x = [column.sequence_numeric_column("x")]
    for more, match in (
        ({}, "num_units or rnn_cell_fn"),
        ({"num_units": [1], "rnn_cell_fn": lambda mode: None}, "must not be specified"),
        ({"num_units": [1], "cell_type": "fast"}, "Supported cell types are"),
    ):
        with pytest.raises(ValueError, match=match):
            contrib.RNNClassifier(x, **more).train(input_fn, steps=1)
