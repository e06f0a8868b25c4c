"""The canned Estimators compute their formulas, from checkpoints with TensorFlow's names."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.estimator.canned import choices

pytestmark = pytest.mark.e2e

estimators = tf.estimator
X = tf.feature_column.numeric_column("x", shape=(2,))
KIND = tf.feature_column.categorical_column_with_identity("kind", 3)
EMBEDDED = tf.feature_column.embedding_column(KIND, 2)
HEAD = estimators.RegressionHead(loss_reduction=tf.losses.Reduction.SUM)
FEATURES = {
    "x": np.array([[1.0, 2.0], [3.0, -1.0]], np.float32),
    "kind": np.array([[0], [2]], np.int64),
}
W0, B0 = np.array([[1.0, -1.0], [0.5, 2.0]], np.float32), np.array([0.5, -0.5], np.float32)
W1, B1 = np.array([[2.0], [-3.0]], np.float32), np.array([1.0], np.float32)
HIDDEN = np.maximum(FEATURES["x"] @ W0 + B0, 0)
DEEP = {
    "dnn/hiddenlayer_0/kernel": W0,
    "dnn/hiddenlayer_0/bias": B0,
    "dnn/logits/kernel": W1,
    "dnn/logits/bias": B1,
}
LINEAR = {
    "linear/linear_model/x/weights": np.array([[10.0], [-2.0]], np.float32),
    "linear/linear_model/kind/weights": np.array([[1.0], [2.0], [3.0]], np.float32),
    "linear/linear_model/bias_weights": np.array([5.0], np.float32),
}
WIDE = FEATURES["x"] @ LINEAR["linear/linear_model/x/weights"] + np.array([[1.0], [3.0]]) + 5.0


def features() -> Any:
    return {name: tf.constant(value) for name, value in FEATURES.items()}


def saved(folder: pathlib.Path, values: dict[str, Any]) -> None:
    """Save a checkpoint of step 7 with these values."""
    with tf.Graph().as_default(), tf.Session() as session:
        for name, value in values.items():
            tf.get_variable(name, initializer=value)
        tf.get_variable("global_step", initializer=np.int64(7), trainable=False)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(folder / "model"))


def predicted(model: Any) -> Any:
    (batch,) = model.predict(lambda: only_once(features()), yield_single_examples=False)
    return batch


def only_once(batch: Any) -> Any:
    return tf.data.Dataset.from_tensors(batch)


MODELS: dict[str, tuple[Callable[[Any], Any], dict[str, Any], Any]] = {
    "linear": (lambda folder: estimators.LinearRegressor([X, KIND], folder), LINEAR, WIDE),
    "deep": (
        lambda folder: estimators.DNNRegressor([2], [X], folder), DEEP, HIDDEN @ W1 + B1
    ),
    "wide and deep": (
        lambda folder: estimators.DNNLinearCombinedRegressor(
            folder, [X, KIND], dnn_feature_columns=[X], dnn_hidden_units=[2]),
        {**DEEP, **LINEAR},
        HIDDEN @ W1 + B1 + WIDE,
    ),
    "linear with a head": (
        lambda folder: estimators.LinearEstimator(HEAD, [X, KIND], folder), LINEAR, WIDE),
    "deep with a head": (
        lambda folder: estimators.DNNEstimator(HEAD, [2], [X], folder), DEEP, HIDDEN @ W1 + B1
    ),
    "wide and deep with a head": (
        lambda folder: estimators.DNNLinearCombinedEstimator(
            HEAD, folder, [X, KIND], dnn_feature_columns=[X], dnn_hidden_units=[2]),
        {**DEEP, **LINEAR},
        HIDDEN @ W1 + B1 + WIDE,
    ),
    "baseline with a head": (
        lambda folder: estimators.BaselineEstimator(HEAD, folder), {"baseline/bias": B1},
        np.array([[1.0], [1.0]]),
    ),
    "baseline": (
        estimators.BaselineRegressor, {"baseline/bias": B1}, np.array([[1.0], [1.0]])
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_model_predicts_from_a_checkpoint_with_tensorflows_names(
    name: str, tmp_path: pathlib.Path
) -> None:
    make, values, wanted = MODELS[name]
    saved(tmp_path, values)
    np.testing.assert_allclose(predicted(make(tmp_path))["predictions"], wanted, rtol=1e-5)
    labels = np.array([[1.0], [2.0]], np.float32)
    found = make(tmp_path).evaluate(lambda: only_once((features(), tf.constant(labels))))
    np.testing.assert_allclose(found["loss"], ((wanted - labels) ** 2).sum(), rtol=1e-5)
    assert found["global_step"] == 7


def test_a_classifier_has_an_embedding_and_batch_norm_under_tensorflows_names(
    tmp_path: pathlib.Path,
) -> None:
    model = estimators.DNNClassifier(
        [4, 3], [EMBEDDED], tmp_path, n_classes=3, batch_norm=True, dropout=0.5, optimizer="SGD"
    )
    labels = [[0], [2]]
    model.train(lambda: (features(), tf.constant(labels)), steps=2)
    names = {name for name in model.get_variable_names() if name.startswith("dnn/")}
    layers = [f"dnn/hiddenlayer_{number}" for number in (0, 1)]
    assert names == {
        "dnn/input_from_feature_columns/input_layer/kind_embedding/embedding_weights",
        *(f"{layer}/{part}" for layer in (*layers, "dnn/logits") for part in ("kernel", "bias")),
        *(
            f"{layer}/batchnorm_{layer[-1]}/{part}"
            for layer in layers
            for part in ("beta", "gamma", "moving_mean", "moving_variance")
        ),
    }
    assert (model.get_variable_value(f"{layers[0]}/batchnorm_0/moving_variance") != 1.0).any()
    assert predicted(model)["probabilities"].shape == (2, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: estimators.LinearClassifier([X, KIND], folder, n_classes=3),
        lambda folder: estimators.DNNClassifier([8], [X, EMBEDDED], folder, n_classes=3,
                                                optimizer="Adam"),
        lambda folder: estimators.DNNLinearCombinedClassifier(
            folder, [KIND], tf.train.FtrlOptimizer(0.5), [X],
            lambda: tf.train.AdagradOptimizer(0.5), [8], n_classes=3),
        lambda folder: estimators.BaselineClassifier(folder, 3),
    ],
)  # fmt: skip
def test_training_lowers_the_loss_and_counts_each_step_once(
    make: Any, tmp_path: pathlib.Path
) -> None:
    model, labels = make(tmp_path), np.array([[0], [2]])

    def input_fn() -> Any:
        return features(), tf.constant(labels)

    model.train(input_fn, steps=1)
    before = model.evaluate(input_fn, steps=1)
    model.train(input_fn, steps=30)
    after = model.evaluate(input_fn, steps=1)
    assert after["global_step"] == 31
    assert after["loss"] < before["loss"]


def test_large_tables_are_cut_over_the_parameter_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"chief": ["c:1"], "ps": ["p:1", "p:2"]}
    task = {"type": "chief", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    wide = tf.feature_column.categorical_column_with_identity("kind", 1 << 25)
    deep = tf.feature_column.embedding_column(wide, 8)
    model = estimators.DNNLinearCombinedClassifier(
        None, [wide], dnn_feature_columns=[deep], dnn_hidden_units=[2]
    )
    with tf.Graph().as_default():
        tf.train.create_global_step()
        labels = tf.constant([[0], [1]])
        model.model_fn(features(), labels, tf.estimator.ModeKeys.TRAIN, model.config)
        names = {variable.op.name for variable in tf.trainable_variables()}
    table = "dnn/input_from_feature_columns/input_layer/kind_embedding/embedding_weights"
    for name in (table, "linear/linear_model/kind/weights"):
        assert {f"{name}/part_0", f"{name}/part_1"} <= names
    assert "dnn/hiddenlayer_0/kernel/part_1" not in names


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: estimators.DNNLinearCombinedClassifier(), "must be defined"),
        (lambda: estimators.DNNLinearCombinedClassifier(dnn_feature_columns=[X]), "hidden_units"),
        (lambda: estimators.LinearClassifier([X], n_classes=1), "n_classes must be > 2"),
        (lambda: choices.get_optimizer_instance("Lion", 0.1), r"Unsupported .* Lion.*'Ftrl'"),
        (lambda: choices.get_optimizer_instance("SGD"), "learning_rate must be specified"),
        (lambda: choices.get_optimizer_instance(3), "not an Optimizer instance"),
    ],
)
def test_wrong_models_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_wide_and_deep_models_do_not_wait_for_one_another() -> None:
    sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)
    model = estimators.DNNLinearCombinedRegressor(None, [X], sync)
    with pytest.raises(ValueError, match="SyncReplicasOptimizer does not support"):
        model.train(lambda: (features(), tf.constant([[1.0], [2.0]])), steps=1)
    with pytest.raises(ValueError, match="features should be a dictionary"):
        estimators.DNNRegressor([2], [X]).train(lambda: (tf.constant([[1.0]]), [[1.0]]), steps=1)


def test_a_baseline_needs_examples_of_one_number() -> None:
    model = estimators.BaselineRegressor()
    with pytest.raises(ValueError, match="features are empty"):
        model.train(lambda: ({}, tf.constant([1.0])), steps=1)


@pytest.mark.parametrize(
    "make, scope",
    [
        (lambda: estimators.DNNLinearCombinedClassifier(linear_feature_columns=[X]), ""),
        (lambda: estimators.DNNLinearCombinedRegressor(linear_feature_columns=[X]), ""),
        (lambda: estimators.LinearClassifier([X], n_classes=3), "linear/"),
        (lambda: estimators.DNNClassifier([2], [X]), "dnn/"),
    ],
)
def test_programs_log_losses_by_tensorflows_names(make: Callable[[], Any], scope: str) -> None:
    names = {"mean": f"{scope}head/truediv", "sum": f"{scope}head/weighted_loss/Sum"}
    seen: list[dict[str, float]] = []
    hook = tf.train.LoggingTensorHook(names, 1, formatter=lambda values: str(seen.append(values)))
    make().train(lambda: (features(), tf.constant([[0], [1]])), hooks=[hook], steps=1)
    (logged,) = seen
    assert logged["mean"] == logged["sum"] / 2
