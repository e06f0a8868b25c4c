"""Linear models trained by stochastic dual coordinate ascent reach the optimum of their loss."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

COUNT = 60


def data(kind: str) -> tuple[dict[str, Any], Any, Any]:
    """Return features, labels, and the features as a matrix with a column for each weight."""
    random = np.random.default_rng(4)
    x = random.normal(size=(COUNT, 2)).astype(np.float32)
    # -1 is no id, and an id that an example has twice counts twice.
    ids = random.integers(-1, 4, (COUNT, 2))
    counts = np.stack([(ids == number).sum(1) for number in range(4)], 1)
    score = x[:, 0] - 0.5 * x[:, 1] + counts @ [0.5, -0.5, 1.0, 0.0] + random.normal(size=COUNT)
    labels = (score > 0.5).astype(np.int64) if kind == "classifier" else score.astype(np.float32)
    features = {
        "x": x, "c": ids, "id": np.array([f"example {number}" for number in range(COUNT)]),
        "w": random.uniform(0.5, 2, COUNT).astype(np.float32),
    }  # fmt: skip
    return features, labels, np.concatenate([counts, x, np.ones((COUNT, 1))], 1)


def columns() -> list[Any]:
    ids = tf.feature_column.categorical_column_with_identity("c", 4)
    return [tf.feature_column.numeric_column("x", (2,)), ids]


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
@pytest.mark.parametrize(
    ("settings", "weight_column"),
    [({}, None), ({"num_table_shards": 2, "adaptive": True}, "w")],
)
def test_the_weights_are_the_optimum(
    tmp_path: pathlib.Path, kind: str, settings: Any, weight_column: str | None
) -> None:
    features, labels, matrix = data(kind)
    l2 = 2.0
    sdca = tf.estimator.experimental.LinearSDCA("id", symmetric_l2_regularization=l2, **settings)
    make = tf.estimator.LinearClassifier if kind == "classifier" else tf.estimator.LinearRegressor
    model = make(columns(), model_dir=tmp_path, optimizer=sdca, weight_column=weight_column)

    def input_fn() -> Any:
        return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(30)

    model.train(input_fn, steps=100)
    # The states of the examples are restored too.
    model.train(input_fn, steps=100)
    weights = np.concatenate(
        [
            model.get_variable_value(f"linear_model/{name}").ravel()
            for name in ("c/weights", "x/weights", "bias_weights")
        ]
    )
    logits = matrix @ weights
    predicted = 1 / (1 + np.exp(-logits)) if kind == "classifier" else logits
    shares = features["w"] if weight_column else np.ones(COUNT)
    slope = matrix.T @ (shares * (predicted - labels)) + l2 * weights
    np.testing.assert_allclose(slope, 0, atol=0.01 * np.abs(matrix).sum())
    events = [
        event for path in tmp_path.glob("events*") for event in tf.train.summary_iterator(str(path))
    ]
    found = {value.tag: value.simple_value for event in events for value in event.summary.value}
    assert found["examples_seen"] == COUNT
    assert abs(found["approximate_duality_gap"]) < 0.01


def test_the_l1_penalty_makes_weights_zero(tmp_path: pathlib.Path) -> None:
    features, labels, matrix = data("regressor")
    l1, l2 = 8.0, 8.0
    sdca = tf.estimator.experimental.LinearSDCA(
        "id", symmetric_l1_regularization=l1, symmetric_l2_regularization=l2
    )
    model = tf.estimator.LinearRegressor(columns(), model_dir=tmp_path, optimizer=sdca)
    model.train(
        lambda: tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(30), steps=50
    )
    weights = np.concatenate(
        [
            model.get_variable_value(f"linear_model/{name}").ravel()
            for name in ("c/weights", "x/weights", "bias_weights")
        ]
    )
    slope = matrix.T @ (matrix @ weights - labels) + l2 * weights
    assert (weights == 0).any()
    np.testing.assert_allclose(slope[weights != 0], -l1 * np.sign(weights[weights != 0]), atol=0.1)
    assert (np.abs(slope[weights == 0]) <= l1 + 0.1).all()


def test_models_that_do_not_fit_are_refused() -> None:
    optimizer = tf.estimator.experimental.LinearSDCA("id", symmetric_l2_regularization=2.0)
    with pytest.raises(ValueError, match="sparse_combiner must be 'sum'"):
        tf.estimator.LinearClassifier(columns(), optimizer=optimizer, sparse_combiner="mean")
    with pytest.raises(ValueError, match="one logit"):
        tf.estimator.LinearClassifier(columns(), n_classes=3, optimizer=optimizer)
    with pytest.raises(ValueError, match="symmetric_l2_regularization should be positive"):
        tf.estimator.experimental.LinearSDCA("id", symmetric_l2_regularization=0.0)
    with pytest.raises(ValueError, match="symmetric_l1_regularization should be non-negative"):
        tf.estimator.experimental.LinearSDCA("id", symmetric_l1_regularization=-1.0)
    model = tf.estimator.LinearEstimator(
        tf.estimator.PoissonRegressionHead(), columns(), optimizer=optimizer
    )
    features, labels, _ = data("regressor")
    with pytest.raises(ValueError, match="Unsupported head type"):
        model.train(lambda: tf.data.Dataset.from_tensor_slices((features, labels)).batch(30))
