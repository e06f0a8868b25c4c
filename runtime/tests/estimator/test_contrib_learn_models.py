"""The models of `tf.contrib.learn`: their heads, their default optimizers, and their layers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib import learn
from capstan.contrib.learn import head_estimators

pytestmark = pytest.mark.e2e


def two_heads() -> Any:
    return learn.multi_head(
        [
            learn.multi_class_head(2, label_name="big", head_name="class"),
            learn.regression_head(label_name="value", head_name="number"),
        ]
    )


@pytest.mark.parametrize(
    ("make", "scopes"),
    [
        (
            lambda columns: learn.DNNEstimator(two_heads(), [4], columns, gradient_clip_norm=5.0,
            optimizer=tf.train.AdamOptimizer(0.05)),
            {"dnn/hiddenlayer_0/weights", "dnn/logits/biases"},
        ),
        (
            lambda columns: learn.LinearEstimator(columns, two_heads(), optimizer="Adagrad"),
            {"linear/x/weight"},
        ),
        (
            lambda columns: learn.DNNLinearCombinedEstimator(
                two_heads(), None, columns, "Adagrad", False, columns, None, [4],
                config=learn.RunConfig(tf_random_seed=1),
            ),
            {"dnn/hiddenlayer_0/weights", "linear/x/weight"},
        ),
    ],
)  # fmt: skip
def test_models_train_with_the_heads_of_a_program(
    make: Callable[[Any], Any], scopes: set[str]
) -> None:
    x = np.linspace(-1, 1, 20, dtype="f")[:, None]

    def input_fn() -> Any:
        return {"x": tf.constant(x)}, {"big": tf.constant(x > 0), "value": tf.constant(2 * x)}

    estimator = make([tf.contrib.layers.real_valued_column("x")])
    estimator.fit(input_fn=input_fn, steps=1)
    assert scopes <= set(estimator.get_variable_names())
    if isinstance(estimator, learn.DNNLinearCombinedEstimator):
        first = estimator.evaluate(input_fn=input_fn, steps=1)
        estimator.fit(input_fn=input_fn, steps=20)
        metrics = estimator.evaluate(input_fn=input_fn, steps=1)
        assert metrics["global_step"] == 21
        assert metrics["loss"] < first["loss"]
        assert "accuracy/class" in metrics


def one() -> Any:
    """Return one example, whose feature and label are 1."""
    return {"x0": tf.ones([1, 1])}, tf.ones([1, 1])


def columns() -> list[Any]:
    return [tf.contrib.layers.real_valued_column("x0")]


def ftrl(rate: float, gradient: float) -> float:
    """Return a weight that was 0, after a step of Ftrl."""
    return -rate * gradient / np.sqrt(0.1 + gradient**2)


def test_a_linear_model_has_the_default_rate_of_contrib() -> None:
    assert head_estimators.linear_rate(36) == pytest.approx(1 / 6)
    models = (
        learn.LinearRegressor(columns()),
        learn.DNNLinearCombinedRegressor(linear_feature_columns=columns()),
    )
    for model in models:
        model.fit(input_fn=one, steps=1)
        weight = model.get_variable_value("linear/x0/weight")
        np.testing.assert_allclose(weight, [[ftrl(0.2, -2.0)]], rtol=1e-5)


def test_a_deep_network_has_the_default_rate_of_contrib() -> None:
    models = (
        learn.DNNRegressor([2], columns()),
        learn.DNNLinearCombinedRegressor(dnn_feature_columns=columns(), dnn_hidden_units=[2]),
    )

    def zeros() -> Any:
        return {"x0": tf.zeros([1, 1])}, tf.ones([1, 1])

    for model in models:
        model.fit(input_fn=zeros, steps=1)
        bias = model.get_variable_value("dnn/logits/biases")
        np.testing.assert_allclose(bias, [0.05 * 2 / np.sqrt(0.1 + 4)], rtol=1e-5)


def test_the_default_optimizer_clips_gradients() -> None:
    model = learn.LinearRegressor(columns(), gradient_clip_norm=0.1)
    model.fit(input_fn=one, steps=1)
    weight = model.get_variable_value("linear/x0/weight")
    np.testing.assert_allclose(weight, [[ftrl(0.2, -0.1 / np.sqrt(2))]], rtol=1e-5)
    free = learn.LinearRegressor(columns(), gradient_clip_norm=0.0)  # as in TensorFlow, no limit
    free.fit(input_fn=one, steps=1)
    assert free.get_variable_value("linear/x0/weight") > weight


ADAGRAD = 2 / np.sqrt(0.1 + 4)
"""The step of Adagrad for the gradient -2, with the rate 1."""


@pytest.mark.parametrize(
    ("make", "scope", "expected"),
    [
        (lambda more: learn.LinearRegressor(columns(), **more), "linear/", 0.1 * ADAGRAD),
        (
            lambda more: learn.DNNLinearCombinedRegressor(
                linear_feature_columns=columns(), **more
            ),
            "", 0.1 * ADAGRAD,
        ),
        # A deep network also trains the bias as a variable of the model.
        (lambda more: learn.DNNRegressor([2], columns(), **more), "dnn/", None),
    ],
)  # fmt: skip
def test_a_centered_bias_learns(make: Callable[[Any], Any], scope: str, expected: Any) -> None:
    # With other seeds, the deep network may predict more than 1 and lower its bias.
    config = learn.RunConfig(tf_random_seed=1)
    model = make({"enable_centered_bias": True, "config": config})
    model.fit(input_fn=one, steps=1)
    bias = model.get_variable_value(f"{scope}regression_head/centered_bias_weight")
    if expected is None:
        assert bias[0] > 0.1 * ADAGRAD
    else:
        np.testing.assert_allclose(bias, [expected], rtol=1e-5)


def test_a_layer_has_the_function_of_its_name() -> None:
    models = [
        learn.DNNRegressor(
            [3], columns(), activation_fn=function, config=learn.RunConfig(tf_random_seed=1)
        )
        for function in ("tanh", tf.tanh)
    ]
    scores = [
        next(iter(model.fit(input_fn=one, steps=1).predict(input_fn=one))) for model in models
    ]
    assert scores[0] == scores[1]
    with pytest.raises(ValueError, match=r"should be one of \[relu, tanh, sigmoid\]"):
        learn.DNNRegressor([3], columns(), activation_fn="step")


def test_words_of_two_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="label_keys is not supported for n_classes=2"):
        learn.LinearClassifier(columns(), label_keys=["no", "yes"])


@pytest.mark.parametrize(
    ("make", "runs"),
    [
        (lambda more: learn.DNNRegressor([2], columns(), **more), 2),
        (
            lambda more: learn.DNNLinearCombinedRegressor(
                dnn_feature_columns=columns(), dnn_hidden_units=[2], **more
            ),
            2,
        ),
        (lambda more: learn.LinearRegressor(columns(), **more), 0),  # as in TensorFlow
    ],
)
def test_training_a_deep_network_runs_the_updates_of_the_graph(
    make: Callable[[Any], Any], runs: int
) -> None:
    def count_steps(features: Any, labels: Any) -> Any:
        count = tf.get_variable("count", initializer=0, trainable=False)
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(count, 1))
        return features, labels

    model = make({"feature_engineering_fn": count_steps}).fit(input_fn=one, steps=2)
    model.evaluate(input_fn=one, steps=1)
    assert model.get_variable_value("count") == runs


def sparse(*values: Any) -> Any:
    places = [[number, 0] for number in range(len(values))]
    return tf.SparseTensor(places, tf.constant(values), [len(values), 1])


def mixed_features() -> Any:
    features = {"age": tf.constant([[1.0], [2.0]]), "job": sparse("x", "y"), "w": sparse(1.0, 2.0)}
    return features, tf.constant([[0], [1]])


@pytest.mark.parametrize(
    "make",
    [
        lambda columns: learn.LinearClassifier(columns),
        lambda columns: learn.DNNLinearCombinedClassifier(linear_feature_columns=columns),
    ],
)
def test_the_variables_of_a_linear_model_have_the_names_of_contrib(make: Any) -> None:
    layers = tf.contrib.layers
    age, job = layers.real_valued_column("age"), layers.sparse_column_with_hash_bucket("job", 9)
    model = make(
        [
            *(age, job, layers.bucketized_column(age, [1.5]), layers.one_hot_column(job)),
            layers.weighted_sparse_column(job, "w"),
        ]
    )
    model.fit(input_fn=mixed_features, steps=1)
    slots = "/Ftrl", "/Ftrl_1"
    names = {name for name in model.get_variable_names() if not name.endswith(slots)}
    assert names == {
        "global_step",
        "linear/age/weight",
        "linear/age_bucketized/weights",
        "linear/bias_weight",
        "linear/job/weights",
        "linear/job_one_hot/weight",
        "linear/job_weighted_by_w/weights",
    }
    metrics = model.evaluate(input_fn=mixed_features, steps=1)
    assert metrics["loss"] < np.log(2)


def test_the_variable_of_features_without_a_name_has_an_empty_name() -> None:
    x, y = np.ones((4, 2), "f"), np.ones(4, "f")
    model = learn.LinearRegressor(learn.infer_real_valued_columns_from_input(x))
    model.fit(x, y, steps=1)
    assert "linear//weight" in model.get_variable_names()
    assert model.get_variable_value("linear//weight").shape == (2, 1)


def test_a_linear_model_of_newer_columns_has_the_names_of_the_newer_estimators() -> None:
    model = learn.LinearRegressor([tf.feature_column.numeric_column("x0")])
    model.fit(input_fn=one, steps=1)
    assert "linear/linear_model/x0/weights" in model.get_variable_names()
