"""The heads of `tf.contrib.learn`: losses, predictions and metrics worked out with NumPy."""

import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.contrib import learn

pytestmark = pytest.mark.e2e
TRAIN, EVAL, INFER = learn.ModeKeys.TRAIN, learn.ModeKeys.EVAL, learn.ModeKeys.INFER
LOGITS = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0], [-1.0, 0.5, 2.0], [2.0, 1.0, 0.0]], "f")
COLUMN = np.array([[1.0], [-2.0], [0.5], [3.0]], "f")
WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0], "f")


def softmax(logits: Any) -> Any:
    powers = np.exp(logits)
    return powers / powers.sum(1, keepdims=True)


def sigmoid(logits: Any) -> Any:
    return 1 / (1 + np.exp(-logits))


def cross_entropy(labels: Any, logits: Any) -> Any:
    return -labels * np.log(sigmoid(logits)) - (1 - labels) * np.log(1 - sigmoid(logits))


def run(
    head: Any, mode: str, labels: Any, logits: Any, features: Mapping[str, Any] | None = None
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return the loss, the predictions and the metrics of one batch."""
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = {name: tf.constant(value) for name, value in (features or {}).items()}
        ops = head.create_model_fn_ops(
            tensors, mode, labels, lambda loss: tf.no_op(), logits=tf.constant(logits)
        )
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(tf.tables_initializer())
        metrics = ops.eval_metric_ops or {}
        session.run([update for _, update in metrics.values()])
        values = session.run({name: value for name, (value, _) in metrics.items()})
        loss = None if ops.loss is None else session.run(ops.loss)
        return loss, session.run(ops.predictions), values


def test_a_head_of_several_classes() -> None:
    labels = np.array([0, 1, 0, 2])
    head = learn.multi_class_head(3, metric_class_ids=[1], head_name="colour")
    loss, predictions, metrics = run(head, EVAL, labels, LOGITS)
    chances = softmax(LOGITS)
    expected = -np.log(chances[np.arange(4), labels]).mean()
    assert loss == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(predictions["probabilities"], chances, rtol=1e-5)
    assert predictions["classes"].tolist() == [0, 1, 2, 0]
    assert metrics == {
        "accuracy/colour": 0.5,
        "labels/actual_label_mean/class1/colour": 0.25,
        "labels/logits_mean/class1/colour": pytest.approx(LOGITS[:, 1].mean()),
        "labels/prediction_mean/class1/colour": 0.25,
        "labels/probability_mean/class1/colour": pytest.approx(chances[:, 1].mean(), rel=1e-5),
        "loss/colour": pytest.approx(expected, rel=1e-5),
    }


def test_weights_divide_the_trained_loss_by_the_batch_and_the_reported_one_by_their_sum() -> None:
    labels = np.array([[0], [1], [0], [2]])
    losses = -np.log(softmax(LOGITS)[np.arange(4), labels[:, 0]])
    head = learn.multi_class_head(3, weight_column_name="w")
    trained, _, _ = run(head, TRAIN, labels, LOGITS, {"w": WEIGHTS})
    evaluated, _, metrics = run(head, EVAL, labels, LOGITS, {"w": WEIGHTS})
    assert trained == evaluated == pytest.approx((losses * WEIGHTS).sum() / 4, rel=1e-5)
    assert metrics["loss"] == pytest.approx((losses * WEIGHTS).sum() / WEIGHTS.sum(), rel=1e-5)
    assert metrics["accuracy"] == pytest.approx(0.3)


def test_words_name_classes() -> None:
    head = learn.multi_class_head(3, label_keys=["red", "green", "blue"])
    loss, predictions, metrics = run(head, EVAL, [["red"], ["green"], ["red"], ["blue"]], LOGITS)
    assert predictions["classes"].tolist() == [b"red", b"green", b"blue", b"red"]
    assert metrics["accuracy"] == 0.5
    assert loss == pytest.approx(run(learn.multi_class_head(3), EVAL, [0, 1, 0, 2], LOGITS)[0])


def test_a_head_of_two_classes() -> None:
    labels = np.array([1, 0, 0, 1])
    head = learn.multi_class_head(2, thresholds=[0.5, 0.9])
    loss, predictions, metrics = run(head, EVAL, labels, COLUMN)
    assert loss == pytest.approx(cross_entropy(labels[:, None], COLUMN).mean(), rel=1e-5)
    chances = sigmoid(COLUMN)
    np.testing.assert_allclose(predictions["logistic"], chances, rtol=1e-5)
    np.testing.assert_allclose(
        predictions["probabilities"], np.hstack([1 - chances, chances]), rtol=1e-4
    )
    assert predictions["classes"].tolist() == [1, 0, 1, 1]
    known = {name: value for name, value in metrics.items() if not name.startswith("auc")}
    assert known == {
        "accuracy": 0.75,
        "accuracy/baseline_label_mean": 0.5,
        "accuracy/threshold_0.500000_mean": 0.75,
        "accuracy/threshold_0.900000_mean": 0.75,
        "labels/actual_label_mean": 0.5,
        "labels/prediction_mean": pytest.approx(chances.mean(), rel=1e-5),
        "loss": pytest.approx(loss, rel=1e-5),
        "precision/positive_threshold_0.500000_mean": pytest.approx(2 / 3),
        "precision/positive_threshold_0.900000_mean": pytest.approx(1),
        "recall/positive_threshold_0.500000_mean": pytest.approx(1),
        "recall/positive_threshold_0.900000_mean": 0.5,
    }
    assert metrics["auc"] == pytest.approx(1, abs=1e-3)


def test_a_head_of_any_number_of_classes() -> None:
    labels = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 1], [0, 1, 0]])
    head = learn.multi_label_head(3, metric_class_ids=[2], weight_column_name="w")
    features = {"w": WEIGHTS}
    loss, predictions, metrics = run(head, TRAIN, labels, LOGITS, features)
    assert loss == pytest.approx(
        (cross_entropy(labels, LOGITS) * WEIGHTS[:, None]).mean(), rel=1e-5
    )
    assert predictions["classes"].tolist() == (LOGITS > 0).astype(int).tolist()
    matches = (predictions["classes"] == labels).mean(1)
    assert metrics["accuracy"] == pytest.approx((matches * WEIGHTS).sum() / 10)
    assert metrics["labels/actual_label_mean/class2"] == pytest.approx(0.6)
    assert metrics["labels/logits_mean/class2"] == pytest.approx(
        (LOGITS[:, 2] * WEIGHTS).mean() * 0.4
    )
    assert "auc_precision_recall/class2" in metrics
    indices = np.argwhere(labels)
    with tf.Graph().as_default(), tf.Session() as session:
        sparse = tf.SparseTensor(indices, indices[:, 1], [4, 3])
        ops = learn.multi_label_head(3).create_model_fn_ops({}, EVAL, sparse, logits=LOGITS)
        assert session.run(ops.loss) == pytest.approx(
            cross_entropy(labels, LOGITS).mean(), rel=1e-5
        )


def test_heads_of_numbers_and_of_support_vector_machines() -> None:
    labels = np.array([1, 0, 0, 1])
    signs = 2 * labels[:, None] - 1
    loss, predictions, metrics = run(learn.binary_svm_head(), EVAL, labels, COLUMN)
    assert loss == pytest.approx(np.maximum(0, 1 - signs * COLUMN).mean())
    assert predictions["classes"].tolist() == [1, 0, 1, 1]
    assert metrics == {"accuracy": 0.75, "loss": pytest.approx(loss)}
    values = np.array([1.0, 2.0, 3.0, 4.0])
    head = learn.regression_head(link_fn=tf.square)
    loss, predictions, metrics = run(head, EVAL, values, COLUMN)
    assert loss == pytest.approx(((COLUMN[:, 0] - values) ** 2).mean())
    np.testing.assert_allclose(predictions["scores"], COLUMN[:, 0] ** 2)
    assert metrics == {"loss": pytest.approx(loss)}
    head = learn.poisson_regression_head()
    loss, predictions, _ = run(head, EVAL, values.astype("f"), COLUMN)
    stirling = values * np.log(values) - values + 0.5 * np.log(2 * np.pi * values)
    stirling[values <= 1] = 0
    expected = np.exp(COLUMN[:, 0]) - COLUMN[:, 0] * values + stirling
    assert loss == pytest.approx(expected.mean(), rel=1e-5)
    np.testing.assert_allclose(predictions["scores"], np.exp(COLUMN[:, 0]), rtol=1e-5)


def test_several_heads_add_their_losses() -> None:
    heads = [
        learn.multi_class_head(3, label_name="a", head_name="first"),
        learn.regression_head(label_name="b", head_name="second"),
        learn.head.loss_only_head(lambda: [tf.constant(0.25), tf.constant(0.5)], "penalty"),
    ]
    head = learn.multi_head(heads, [1.0, 2.0, 4.0])
    assert head.logits_dimension == 4
    labels = {"a": np.array([0, 1, 0, 2]), "b": np.array([1.0, 2, 3, 4], "f")}
    loss, predictions, metrics = run(head, EVAL, labels, np.hstack([LOGITS, COLUMN]))
    first = run(heads[0], EVAL, labels, LOGITS)[0]
    second = run(heads[1], EVAL, labels, COLUMN)[0]
    assert loss == pytest.approx(first + 2 * second + 4 * 0.75, rel=1e-5)
    assert metrics.keys() == {"accuracy/first", "loss/first", "loss/second"}
    np.testing.assert_allclose(predictions["second", "scores"], COLUMN[:, 0])
    with tf.Graph().as_default():
        parts = {"first": tf.constant(LOGITS), "second": tf.constant(COLUMN)}
        ops = learn.multi_head(heads[:2]).create_model_fn_ops({}, INFER, logits=parts)
        assert ops.output_alternatives.keys() == {"first", "second"}
        with pytest.raises(ValueError, match=r"first.*second"):
            ops.estimator_spec()
        assert ops.estimator_spec("second").export_outputs.keys() >= {"first", "serving_default"}


def test_a_centered_bias_learns_the_mean() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        head = learn.regression_head(enable_centered_bias=True)
        labels = tf.constant([3.0, 5.0])
        ops = head.create_model_fn_ops(
            {}, TRAIN, labels, learn.no_op_train_fn, logits=tf.zeros([2, 1])
        )
        (bias,) = tf.trainable_variables()
        assert bias.op.name == "regression_head/centered_bias_weight"
        session.run(tf.global_variables_initializer())
        before = session.run(ops.loss)
        assert before == pytest.approx((9 + 25) / 2)
        session.run(ops.train_op)
        # The first step of Adagrad: the rate times the slope, by the root of 0.1 and its square.
        slope = 2 * (3 + 5) / 2
        assert session.run(bias)[0] == pytest.approx(
            0.1 * slope / np.sqrt(0.1 + slope**2), rel=1e-5
        )


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: learn.multi_class_head(1), "n_classes must be > 1"),
        (lambda: learn.head._multi_class_head(None), "n_classes must be > 1"),
        (lambda: learn.multi_class_head(2, label_keys=["a", "b"]), "label_keys"),
        (lambda: learn.multi_class_head(3, metric_class_ids=[3]), "Class ID 3"),
        (lambda: learn.multi_class_head(3, loss_fn=lambda labels, logits: 0), "weights not found"),
        (lambda: learn.multi_head([learn.regression_head()]), "must have names"),
        (
            lambda: run(learn.regression_head(weight_column_name="w"), EVAL, [1.0], [[1.0]]),
            "Weights w missing",
        ),
        (lambda: learn.regression_head().create_model_fn_ops({}, INFER), "Neither logits"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(make: Callable[[], Any], match: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=match):
        make()


def test_an_estimator_with_two_heads_trains_and_exports(tmp_path: pathlib.Path) -> None:
    heads = [
        learn.multi_class_head(2, label_name="big", head_name="class", weight_column_name="w"),
        learn.regression_head(label_name="value", head_name="number"),
    ]

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        def optimize(loss: Any) -> Any:
            step = tf.train.get_global_step()
            return tf.train.AdagradOptimizer(0.5).minimize(loss, step)

        return learn.multi_head(heads).create_model_fn_ops(
            features, mode, labels, optimize, logits_input=features["x"]
        )

    def input_fn() -> Any:
        x = tf.constant(np.linspace(-1, 1, 20, dtype="f")[:, None])
        features = {"x": x, "w": tf.ones([20])}
        return features, {"big": tf.cast(x > 0, tf.int32), "value": 2 * x}

    def serving_input_fn() -> Any:
        x = tf.placeholder(tf.float32, [None, 1])
        return learn.InputFnOps({"x": x}, None, {"x": x})

    estimator = learn.Estimator(model_fn, str(tmp_path))
    estimator.fit(input_fn=input_fn, steps=60)
    metrics = estimator.evaluate(input_fn=input_fn, steps=1)
    assert metrics["accuracy/class"] > 0.9
    assert metrics["loss/number"] < 0.1
    names = {"class/logits/weights", "class/logits/biases", "number/logits/weights"}
    assert names <= set(estimator.get_variable_names())
    with pytest.raises(ValueError, match="specify a default_output_alternative"):
        estimator.export_savedmodel(str(tmp_path / "none"), serving_input_fn)
    export = learn.make_export_strategy(serving_input_fn, "number")
    folder = export.export(estimator, str(tmp_path / "out"))
    with tf.Graph().as_default():
        served = tf.contrib.predictor.from_saved_model(folder.decode())
        assert served({"x": [[0.5]]})["scores"][0] == pytest.approx(1, abs=0.2)
        key = "default_input_alternative:class"
        classes = tf.contrib.predictor.from_saved_model(folder.decode(), signature_def_key=key)
        assert classes({"x": [[1.0]]})["classes"].tolist() == [[b"0", b"1"]]


@pytest.mark.parametrize(("name", "expected"), [(None, 6.0), ("number", 3.0)])
def test_an_evaluation_reports_the_average_loss_of_one_head_without_a_name(
    name: str | None, expected: float
) -> None:
    head = learn.regression_head(weight_column_name="w", head_name=name)

    def step(_: Any) -> Any:
        return tf.assign_add(tf.train.get_global_step(), 1)

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        logits = features["x"] * tf.get_variable("v", [], initializer=tf.zeros_initializer())
        return head.create_model_fn_ops(features, mode, labels, step, logits)

    def input_fn() -> Any:
        features = {"x": tf.ones([4, 1]), "w": tf.constant([[1.0], [1.0], [0.0], [0.0]])}
        return features, tf.constant([[2.0], [np.sqrt(8.0)], [1.0], [1.0]])

    estimator = learn.Estimator(model_fn)
    estimator.fit(input_fn=input_fn, steps=1)
    metrics = estimator.evaluate(input_fn=input_fn, steps=1)
    assert metrics["loss"] == pytest.approx(expected)


def test_the_loss_of_several_heads_adds_their_trained_losses_in_an_evaluation_too() -> None:
    heads = [
        learn.regression_head("a", "w", head_name="first"),
        learn.regression_head("b", head_name="second"),
    ]
    features = {"w": np.array([[1.0], [0.0]], "f")}
    labels = {"a": np.array([[2.0], [5.0]], "f"), "b": np.array([[1.0], [1.0]], "f")}
    head = learn.multi_head(heads, [1.0, 0.5])
    loss, _, metrics = run(head, EVAL, labels, np.zeros((2, 2), "f"), features)
    assert loss == pytest.approx(4 / 2 + 0.5 * 1)
    assert (metrics["loss/first"], metrics["loss/second"]) == (4, 1)


def test_an_estimator_with_one_head_is_exported_by_a_strategy(tmp_path: pathlib.Path) -> None:
    head = learn.regression_head()

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        def optimize(loss: Any) -> Any:
            step = tf.train.get_global_step()
            return tf.train.AdagradOptimizer(0.5).minimize(loss, step)

        return head.create_model_fn_ops(
            features, mode, labels, optimize, logits_input=features["x"]
        )

    def input_fn() -> Any:
        x = tf.constant(np.linspace(-1, 1, 20, dtype="f")[:, None])
        return {"x": x}, 2 * x

    def serving_input_fn() -> Any:
        x = tf.placeholder(tf.float32, [None, 1])
        return learn.InputFnOps({"x": x}, None, {"x": x})

    estimator = learn.Estimator(model_fn, str(tmp_path))
    estimator.fit(input_fn=input_fn, steps=60)
    strategy = learn.make_export_strategy(serving_input_fn)
    folder = strategy.export(estimator, str(tmp_path / "out"))
    with tf.Graph().as_default():
        served = tf.contrib.predictor.from_saved_model(folder.decode())
        assert served({"x": [[0.5]]})["scores"][0] == pytest.approx(1, abs=0.2)
