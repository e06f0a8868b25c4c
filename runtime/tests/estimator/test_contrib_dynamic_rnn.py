"""`tf.contrib.learn.DynamicRnnEstimator` computes NumPy's predictions, and learns."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib import learn
from capstan.contrib.learn import dynamic_rnn

layers = tf.contrib.layers
pytestmark = pytest.mark.e2e
Kind, Problem = dynamic_rnn.PredictionType, learn.ProblemType
X = np.array([[1.0, -2.0, 0.5], [3.0, 9.0, 9.0], [-1.0, 2.0, 9.0]], "f")
LENGTHS = [3, 1, 2]
MASK = np.arange(3) < np.array(LENGTHS)[:, None]
CONTEXT = np.array([[0.5], [1.0], [-1.0]], "f")


def features() -> dict[str, Any]:
    return {
        "x": tf.constant(X), "length": tf.constant(LENGTHS), "c": tf.constant(CONTEXT),
        "sequence_length": tf.constant(LENGTHS),
    }  # fmt: skip


def logits(estimator: Any) -> Any:
    """Return the logits of each step, as NumPy computes them."""
    value = estimator.get_variable_value
    cell, dense = "rnn/basic_rnn_cell", "fully_connected"
    found = []
    for numbers, context in zip(X, CONTEXT, strict=True):
        state, rows = np.zeros(2), []
        for number in numbers:
            joined = np.concatenate([[number], context, state])
            state = np.tanh(joined @ value(f"{cell}/kernel") + value(f"{cell}/bias"))
            rows.append(state @ value(f"{dense}/weights") + value(f"{dense}/biases"))
        found.append(rows)
    return np.array(found)


def estimator_of(problem: int, kind: int, folder: pathlib.Path, **more: Any) -> Any:
    return learn.DynamicRnnEstimator(
        problem, kind, [layers.real_valued_column("x")], [layers.real_valued_column("c")],
        num_units=[2], model_dir=str(folder), **more,
    )  # fmt: skip


@pytest.mark.parametrize("is_single", [False, True])
def test_a_regression_masks_the_padding(is_single: bool, tmp_path: pathlib.Path) -> None:
    kind = Kind.SINGLE_VALUE if is_single else Kind.MULTIPLE_VALUE
    estimator = estimator_of(Problem.LINEAR_REGRESSION, kind, tmp_path)
    labels = X[:, 0] if is_single else X
    estimator.fit(input_fn=lambda: (features(), tf.constant(labels)), steps=2)
    predictions = next(estimator._core.predict(features, yield_single_examples=False))
    expected = logits(estimator)[..., 0]
    chosen = expected[np.arange(3), np.array(LENGTHS) - 1] if is_single else expected
    np.testing.assert_allclose(predictions["scores"], chosen, rtol=1e-4, atol=1e-5)
    assert predictions["rnn_cell_state_0"].shape == (3, 2)
    found = estimator.evaluate(input_fn=lambda: (features(), tf.constant(labels)), steps=1)
    errors = (chosen - labels) ** 2
    assert found["loss"] == pytest.approx((errors if is_single else errors[MASK]).mean(), rel=1e-4)


@pytest.mark.parametrize("count", [2, 3])
def test_a_classification_of_steps(count: int, tmp_path: pathlib.Path) -> None:
    estimator = estimator_of(
        Problem.CLASSIFICATION, Kind.MULTIPLE_VALUE, tmp_path, num_classes=count,
        predict_probabilities=True, optimizer="Momentum", momentum=0.9, learning_rate=0.05,
    )  # fmt: skip
    labels = (X > 0).astype(int)

    def input_fn() -> Any:
        return features(), tf.constant(labels)

    estimator.fit(input_fn=input_fn, steps=40)
    predictions = next(estimator._core.predict(features, yield_single_examples=False))
    expected = logits(estimator)
    if count == 2:
        expected = np.concatenate([np.zeros_like(expected), expected], 2)
    chances = np.exp(expected) / np.exp(expected).sum(2, keepdims=True)
    np.testing.assert_allclose(predictions["probabilities"], chances, rtol=1e-3)
    assert predictions["classes"].tolist() == expected.argmax(2).tolist()
    found = estimator.evaluate(input_fn=input_fn, steps=1)
    right = chances[np.arange(3)[:, None], np.arange(3), labels]
    assert found["loss"] == pytest.approx(-np.log(right[MASK]).mean(), rel=1e-3)
    assert found["accuracy"] == pytest.approx((expected.argmax(2) == labels)[MASK].mean())


def gru(value: Any, number: int, inputs: Any, state: Any) -> Any:
    """Return the next state of a layer of GRUs, as NumPy computes it."""
    scope = f"rnn/multi_rnn_cell/cell_{number}/gru_cell"

    def dense(name: str, given: Any) -> Any:
        joined = np.concatenate([inputs, given], 1)
        return joined @ value(f"{scope}/{name}/kernel") + value(f"{scope}/{name}/bias")

    reset, update = np.split(1 / (1 + np.exp(-dense("gates", state))), 2, 1)
    return update * state + (1 - update) * np.tanh(dense("candidate", reset * state))


def test_a_first_state_and_words_are_features(tmp_path: pathlib.Path) -> None:
    words = layers.sparse_column_with_hash_bucket("word", 5)
    estimator = learn.DynamicRnnEstimator(
        Problem.CLASSIFICATION, Kind.SINGLE_VALUE, [layers.embedding_column(words, 3)],
        num_classes=2, num_units=[2, 3], cell_type="gru", model_dir=str(tmp_path),
        dropout_keep_probabilities=[0.9, 0.8, 1.0],
    )  # fmt: skip

    def input_fn() -> Any:
        word = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["a", "b", "a"], [2, 2])
        states = {"rnn_cell_state_0": tf.ones([2, 2]), "rnn_cell_state_1": tf.ones([2, 3])}
        return {"word": word, **states}, tf.constant([0, 1])

    estimator.fit(input_fn=input_fn, steps=2)
    value = estimator.get_variable_value
    scope = "sequence_input_from_feature_columns/input_layer/word_embedding"
    table = value(f"{scope}/embedding_weights")
    # The buckets of "a" and "b" are 4 and 2. The second example has one word.
    steps = [np.stack([table[4], table[4]]), np.stack([table[2], np.zeros(3)])]
    states = [np.ones([2, 2]), np.ones([2, 3])]
    for step in steps:
        states[0] = gru(value, 0, step, states[0])
        states[1] = gru(value, 1, states[0], states[1])
    logits = states[1] @ value("fully_connected/weights") + value("fully_connected/biases")
    predictions = next(estimator._core.predict(input_fn, yield_single_examples=False))
    for number, state in enumerate(states):
        np.testing.assert_allclose(predictions[f"rnn_cell_state_{number}"], state, rtol=1e-4)
    expected = np.log1p(np.exp([logits[0, 0], -logits[1, 0]])).mean()
    found = estimator.evaluate(input_fn=input_fn, steps=1)
    assert found["loss"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("sizes", [(), (1,), (3,), (3, 2)])
def test_a_column_of_numbers_has_all_numbers_of_a_step(sizes: tuple[int, ...]) -> None:
    # TensorFlow's own examples give the column another dimension.
    values = np.arange(8 * np.prod(sizes, dtype=int), dtype=np.float32).reshape(2, 4, *sizes)
    for dimension in 1, 5:
        column = layers.real_valued_column("x", dimension, normalizer=lambda x: x * 2)
        with tf.Graph().as_default(), tf.Session() as session:
            found = layers.sequence_input_from_feature_columns({"x": tf.constant(values)}, [column])
            size = int(np.prod(sizes))
            assert found.shape.as_list()[-1] == size
            np.testing.assert_array_equal(session.run(found), 2 * values.reshape(2, 4, size))


def test_wrong_arguments_are_refused() -> None:
    x = [layers.real_valued_column("x")]
    kinds: Any = learn.DynamicRnnEstimator
    for arguments, match in (
        ((Problem.CLASSIFICATION, 3, x), "prediction_type must be one of"),
        ((Problem.CLASSIFICATION, Kind.SINGLE_VALUE, x), "num_classes must be specified"),
        ((Problem.UNSPECIFIED, Kind.SINGLE_VALUE, x), "problem_type must be either"),
    ):
        with pytest.raises(ValueError, match=match):
            kinds(*arguments)
    with pytest.raises(ValueError, match="one greater than the number of cells"):
        dynamic_rnn.construct_rnn_cell([2, 3], "lstm", [0.5, 0.5])
    with pytest.raises(ValueError, match="supported cell types"):
        dynamic_rnn.construct_rnn_cell(2, "fast")
