"""The heads of several labels, of counts, of probabilities, and of several heads."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.python.estimator.canned import head as own_heads

MODES = tf.estimator.ModeKeys
SUM = tf.losses.Reduction.SUM
LOGITS = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]], np.float32)
MARKS = np.array([[1, 0, 0], [0, 1, 1]], np.int64)
WEIGHTS = np.array([2.0, 0.5], np.float32)


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.train.create_global_step()
        yield


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(tf.tables_initializer())
        return session.run(fetches)


def evaluated(head: Any, logits: Any, labels: Any, features: Any = None, **more: Any) -> Any:
    """Return the loss and the metrics of one batch."""
    spec = head.create_estimator_spec(features or {}, MODES.EVAL, logits, labels, **more)
    updates = {name: update for name, (_, update) in spec.eval_metric_ops.items()}
    return run([spec.loss, updates])


def cross_entropy(logits: Any, labels: Any) -> Any:
    return np.log1p(np.exp(-logits)) * labels + np.log1p(np.exp(logits)) * (1 - labels)


@pytest.mark.parametrize(
    "labels, vocabulary",
    [
        (lambda: tf.constant(MARKS), None),
        (lambda: tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [0, 1, 2], [2, 2]), None),
        (
            lambda: tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["a", "c", "b"], [2, 2]),
            ["a", "b", "c"],
        ),
    ],
)
def test_a_head_of_several_labels_takes_the_mean_over_the_classes(
    labels: Any, vocabulary: Any
) -> None:
    head = tf.estimator.MultiLabelHead(3, "weight", label_vocabulary=vocabulary)
    losses = cross_entropy(LOGITS, MARKS).mean(1)
    features = {"weight": tf.constant(WEIGHTS)}
    loss, metrics = evaluated(head, tf.constant(LOGITS), labels(), features)
    np.testing.assert_allclose(loss, (losses * WEIGHTS).sum() / 2, rtol=1e-5)
    np.testing.assert_allclose(metrics["average_loss"], (losses * WEIGHTS).sum() / 2.5, rtol=1e-5)
    assert head.loss_reduction == tf.losses.Reduction.SUM_OVER_BATCH_SIZE


def test_a_head_of_several_labels_measures_classes_and_thresholds() -> None:
    head = tf.estimator.MultiLabelHead(
        3, thresholds=[0.6], label_vocabulary=["a", "b", "c"],
        classes_for_class_based_metrics=["b"],
    )  # fmt: skip
    _, metrics = evaluated(head, tf.constant(LOGITS), tf.constant(MARKS))
    shares = 1 / (1 + np.exp(-LOGITS))
    hits = shares >= 0.6
    np.testing.assert_allclose(metrics["probability_mean/b"], shares[:, 1].mean(), rtol=1e-5)
    np.testing.assert_allclose(metrics["auc/b"], 1.0, rtol=1e-5)
    wanted = (hits == MARKS).mean()
    np.testing.assert_allclose(metrics["accuracy/positive_threshold_0.6"], wanted, rtol=1e-5)
    wanted = (hits & (MARKS == 1)).sum() / hits.sum()
    np.testing.assert_allclose(metrics["precision/positive_threshold_0.6"], wanted, rtol=1e-5)


def test_a_head_of_several_labels_predicts_a_probability_for_each_class() -> None:
    head = tf.estimator.MultiLabelHead(3, label_vocabulary=["a", "b", "c"])
    spec = head.create_estimator_spec({}, MODES.PREDICT, tf.constant(LOGITS))
    assert sorted(spec.export_outputs) == ["classification", "predict", "serving_default"]
    served = spec.export_outputs["serving_default"]
    found, classes = run([spec.predictions, served.classes])
    np.testing.assert_allclose(found["probabilities"], 1 / (1 + np.exp(-LOGITS)), rtol=1e-5)
    assert classes.tolist() == [[b"a", b"b", b"c"]] * 2
    assert list(head.predictions(tf.constant(LOGITS), ["logits"])) == ["logits"]
    with pytest.raises(ValueError, match="Prediction key must be in PredictionKeys, given: x"):
        head.predictions(tf.constant(LOGITS), ["x"])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"n_classes": 1}, "n_classes must be > 1"),
        ({"n_classes": 2, "thresholds": [0.0]}, "thresholds"),
        ({"n_classes": 2, "label_vocabulary": "ab"}, "must be a list or tuple"),
        ({"n_classes": 2, "label_vocabulary": ["a"]}, "must be n_classes"),
        ({"n_classes": 2, "classes_for_class_based_metrics": [2]}, r"in range \[0, 1\]"),
        ({"n_classes": 2, "classes_for_class_based_metrics": ["a"]}, "must be provided"),
    ],
)
def test_a_wrong_head_of_several_labels_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.estimator.MultiLabelHead(**arguments)


@pytest.mark.parametrize(
    "labels, message",
    [
        (lambda: tf.constant(MARKS + 1), "indicator Tensor"),
        (lambda: tf.SparseTensor([[0, 0]], [3], [2, 1]), r"values in \[0, 3\)"),
    ],
)
def test_labels_outside_the_classes_fail_the_step(labels: Any, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        evaluated(tf.estimator.MultiLabelHead(3), tf.constant(LOGITS), labels())


@pytest.mark.parametrize("is_full", [False, True])
def test_a_poisson_head_predicts_rates(is_full: bool) -> None:
    counts = np.array([[0.0, 3.0, 1.0], [2.0, 5.0, 0.0]], np.float32)
    head = tf.estimator.PoissonRegressionHead(3, compute_full_loss=is_full, loss_reduction=SUM)
    loss, _ = evaluated(head, tf.constant(LOGITS), tf.constant(counts))
    wanted = (np.exp(LOGITS) - counts * LOGITS).sum()
    if is_full:
        # TensorFlow takes Stirling's approximation.
        wanted += sum(
            z * math.log(z) - z + 0.5 * math.log(2 * math.pi * z) for z in (3.0, 2.0, 5.0)
        )
    np.testing.assert_allclose(loss, wanted, rtol=1e-5)
    found = run(head.predictions(tf.constant(LOGITS)))
    np.testing.assert_allclose(found["predictions"], np.exp(LOGITS), rtol=1e-5)


def test_a_logistic_head_takes_probabilities_as_labels() -> None:
    labels = np.array([[0.25], [1.0]], np.float32)
    head = tf.estimator.LogisticRegressionHead()
    loss, metrics = evaluated(head, tf.constant(LOGITS[:, :1]), tf.constant(labels))
    np.testing.assert_allclose(loss, cross_entropy(LOGITS[:, :1], labels).mean(), rtol=1e-5)
    assert sorted(metrics) == ["average_loss", "label/mean", "prediction/mean"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Labels must be in range"):
        evaluated(head, tf.constant(LOGITS[:, :1]), tf.constant(labels + 1))


def two_heads(weights: Any = None) -> Any:
    return tf.estimator.MultiHead(
        [
            tf.estimator.MultiLabelHead(2, name="first"),
            tf.estimator.RegressionHead(name="second"),
        ],
        weights,
    )


def test_several_heads_share_the_logits() -> None:
    head = two_heads([1.0, 3.0])
    assert (head.name, head.logits_dimension) == ("first_second", 3)
    labels = {"first": tf.constant(MARKS[:, :2]), "second": tf.constant([[1.0], [2.0]])}
    first = cross_entropy(LOGITS[:, :2], MARKS[:, :2]).mean()
    second = ((LOGITS[:, 2] - [1.0, 2.0]) ** 2).mean()
    split = {"first": tf.constant(LOGITS[:, :2]), "second": tf.constant(LOGITS[:, 2:])}
    for logits in (tf.constant(LOGITS), split):
        loss, metrics = evaluated(head, logits, labels, regularization_losses=[tf.constant(0.5)])
        np.testing.assert_allclose(loss, first + 3 * second + 0.5, rtol=1e-5)
        np.testing.assert_allclose(metrics["loss/first"], first, rtol=1e-5)
        np.testing.assert_allclose(metrics["loss/second"], second, rtol=1e-5)
        np.testing.assert_allclose(metrics["average_loss/second"], second, rtol=1e-5)
        assert metrics["regularization_loss"] == 0.5
    np.testing.assert_allclose(
        run(head.loss(labels, tf.constant(LOGITS))), first + 3 * second, rtol=1e-5
    )


def test_several_heads_serve_the_first_by_default() -> None:
    spec = two_heads().create_estimator_spec({}, MODES.PREDICT, tf.constant(LOGITS))
    assert sorted(spec.export_outputs) == [
        "first", "first/classification", "first/predict", "predict", "second",
        "second/predict", "second/regression", "serving_default",
    ]  # fmt: skip
    outputs = spec.export_outputs
    assert outputs["serving_default"] is outputs["first"]
    assert sorted(outputs["predict"].outputs) == [
        "first/logits", "first/probabilities", "second/predictions"
    ]  # fmt: skip
    found = run(spec.predictions)
    assert found["second", "predictions"].tolist() == LOGITS[:, 2:].tolist()


def test_several_heads_train_by_one_step() -> None:
    logits = tf.Variable(LOGITS)
    labels = {"first": tf.constant(MARKS[:, :2]), "second": tf.constant([[1.0], [2.0]])}
    spec = two_heads().create_estimator_spec(
        {}, MODES.TRAIN, logits, labels, tf.train.GradientDescentOptimizer(1.0), [logits]
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(spec.train_op)
        moved = session.run(logits)
        assert session.run(tf.train.get_global_step()) == 1
    np.testing.assert_allclose(moved[:, 2], LOGITS[:, 2] - (LOGITS[:, 2] - [1.0, 2.0]), rtol=1e-5)
    step = (1 / (1 + np.exp(-LOGITS[:, :2])) - MARKS[:, :2]) / 4
    np.testing.assert_allclose(moved[:, :2], LOGITS[:, :2] - step, rtol=1e-5)
    tags = [value.tag for value in tf.Summary.FromString(run(tf.summary.merge_all())).value]
    assert sorted(tags) == ["loss", "loss/first", "loss/second"]


@pytest.mark.parametrize(
    "fail, message",
    [
        (lambda: tf.estimator.MultiHead([]), "Must specify heads"),
        (lambda: tf.estimator.MultiHead([tf.estimator.RegressionHead()]), "name specified"),
        (lambda: two_heads([1.0]), "must have the same size"),
        (lambda: two_heads().predictions(tf.constant(LOGITS[:, :2])), "should equal 3 but is 2"),
        (lambda: two_heads().predictions({"first": tf.constant(LOGITS)}), r"\['second'\]"),
        (lambda: two_heads().loss(tf.constant(1), tf.constant(LOGITS)), "must be a dict"),
        (lambda: two_heads().loss({"first": 1}, tf.constant(LOGITS)), "labels has missing"),
    ],
)
def test_wrong_calls_of_several_heads_are_refused(fail: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fail()


def test_only_the_given_updates_and_variables_change() -> None:
    logits, other = tf.Variable(LOGITS[:, :1]), tf.Variable(1.0)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign(other, 5.0))
    head = tf.estimator.RegressionHead()
    spec = head.create_estimator_spec(
        {}, MODES.TRAIN, logits * other, tf.zeros([2, 1]),
        tf.train.GradientDescentOptimizer(0.5), trainable_variables=[logits],
        update_ops=[tf.assign_add(tf.train.get_global_step(), 10)],
    )  # fmt: skip
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(spec.train_op)
        assert session.run([other, tf.train.get_global_step()]) == [1.0, 11]
        np.testing.assert_allclose(session.run(logits), LOGITS[:, :1] * 0.5, rtol=1e-5)
    with pytest.raises(ValueError, match="update_ops should be a list or a tuple"):
        head.create_estimator_spec(
            {}, MODES.TRAIN, logits, tf.zeros([2, 1]), train_op_fn=tf.group, update_ops=3
        )


def test_the_reductions_of_keras_mean_those_of_losses() -> None:
    reductions = tf.losses.Reduction
    for given, wanted in (
        ("sum", reductions.SUM), ("sum_over_batch_size", reductions.SUM_OVER_BATCH_SIZE)
    ):  # fmt: skip
        assert tf.estimator.RegressionHead(loss_reduction=given).loss_reduction == wanted


def test_the_heads_of_own_estimators_sum_the_losses_by_default() -> None:
    labels = tf.constant([[1.0], [0.0]])
    logits = tf.constant([[1.0], [3.0]])
    binary = own_heads._binary_logistic_head_with_sigmoid_cross_entropy_loss(name="mine")
    loss, metrics = evaluated(binary, logits, labels)
    assert loss == pytest.approx(cross_entropy(np.array([1.0, 3.0]), np.array([1, 0])).sum())
    assert "accuracy/mine" in metrics
    loss, _ = evaluated(own_heads._regression_head(), logits, labels)
    assert loss == 9.0
    loss, _ = evaluated(own_heads._regression_head_with_mean_squared_error_loss(), logits, labels)
    assert loss == 9.0
    many = own_heads._multi_class_head_with_softmax_cross_entropy_loss(3)
    loss, _ = evaluated(many, tf.zeros([2, 3]), tf.constant([[0], [2]]))
    assert loss == pytest.approx(2 * math.log(3))
