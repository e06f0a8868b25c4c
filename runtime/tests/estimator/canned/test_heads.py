"""The heads of canned Estimators compute losses, predictions and metrics by their formulas."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import capstan as tf
from capstan.estimator.canned import heads

MODES = tf.estimator.ModeKeys
MEAN = tf.losses.Reduction.MEAN
SUM = tf.losses.Reduction.SUM
LOGITS = np.array([[2.0], [-1.0], [0.5]], np.float32)
THREE = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]], np.float32)


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        tf.train.create_global_step()
        yield


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(tf.tables_initializer())
        return session.run(fetches, feeds)


def evaluated(head: Any, logits: Any, labels: Any, features: Any = None, **more: Any) -> Any:
    """Return the loss and the metrics of one batch."""
    spec = head.create_estimator_spec(
        features or {}, MODES.EVAL, tf.constant(logits), tf.constant(labels), **more
    )
    updates = {name: update for name, (_, update) in spec.eval_metric_ops.items()}
    return run([spec.loss, updates])


def cross_entropy(logits: Any, labels: Any) -> Any:
    return np.log1p(np.exp(-logits)) * labels + np.log1p(np.exp(logits)) * (1 - labels)


def test_a_binary_head_sums_the_cross_entropies() -> None:
    labels = np.array([1, 1, 0])
    losses = cross_entropy(LOGITS[:, 0], labels)
    loss, metrics = evaluated(heads.BinaryClassHead(loss_reduction=SUM), LOGITS, labels)
    np.testing.assert_allclose(loss, losses.sum(), rtol=1e-5)
    logistic = 1 / (1 + np.exp(-LOGITS))
    wanted = {
        "average_loss": losses.mean(), "accuracy": 1 / 3, "precision": 0.5, "recall": 0.5,
        "label/mean": 2 / 3, "accuracy_baseline": 2 / 3, "prediction/mean": logistic.mean(),
        "auc": 0.5,
    }  # fmt: skip
    for name, value in wanted.items():
        np.testing.assert_allclose(metrics[name], value, rtol=1e-4, err_msg=name)


@pytest.mark.parametrize("column", ["weight", "column"])
def test_weights_multiply_the_losses(column: str) -> None:
    weights = np.array([1.0, 2.0, 0.0], np.float32)
    chosen = column if column == "weight" else tf.feature_column.numeric_column("weight")
    losses = cross_entropy(LOGITS[:, 0], 1)
    for reduction, wanted in (
        (tf.losses.Reduction.SUM, (losses * weights).sum()),
        (MEAN, (losses * weights).sum() / 3),
    ):
        head = heads.BinaryClassHead(chosen, loss_reduction=reduction)
        loss, metrics = evaluated(head, LOGITS, [[1], [1], [1]], {"weight": tf.constant(weights)})
        np.testing.assert_allclose(loss, wanted, rtol=1e-5)
        np.testing.assert_allclose(metrics["average_loss"], (losses * weights).sum() / 3, rtol=1e-5)


def test_a_binary_head_predicts_words_and_exports_its_scores() -> None:
    head = heads.BinaryClassHead(label_vocabulary=["no", "yes"], loss_reduction=SUM)
    spec = head.create_estimator_spec({}, MODES.PREDICT, tf.constant(LOGITS))
    assert sorted(spec.export_outputs) == [
        "classification", "predict", "regression", "serving_default"
    ]  # fmt: skip
    served = spec.export_outputs["serving_default"]
    found, classes = run([spec.predictions, served.classes])
    assert found["classes"].tolist() == [[b"yes"], [b"no"], [b"yes"]]
    assert found["class_ids"].tolist() == [[1], [0], [1]]
    assert classes.tolist() == [[b"no", b"yes"]] * 3
    logistic = 1 / (1 + np.exp(-LOGITS))
    np.testing.assert_allclose(found["logistic"], logistic, rtol=1e-5)
    np.testing.assert_allclose(
        found["probabilities"], np.hstack([1 - logistic, logistic]), rtol=1e-5
    )
    loss, _ = evaluated(head, LOGITS, [["yes"], ["yes"], ["no"]])
    wanted = cross_entropy(LOGITS[:, 0], np.array([1, 1, 0])).sum()
    np.testing.assert_allclose(loss, wanted, rtol=1e-5)


def test_a_binary_head_measures_at_thresholds() -> None:
    head = heads.BinaryClassHead(thresholds=[0.5, 0.9])
    _, metrics = evaluated(head, LOGITS, [1, 1, 0])
    assert metrics["accuracy/positive_threshold_0.5"] == pytest.approx(1 / 3)
    assert metrics["recall/positive_threshold_0.5"] == pytest.approx(0.5)
    assert metrics["precision/positive_threshold_0.9"] == 0.0
    with pytest.raises(ValueError, match=r"not in \(0, 1\)"):
        heads.BinaryClassHead(thresholds=[1.0])


@pytest.mark.parametrize("vocabulary", [None, ["a", "b", "c"]])
def test_a_head_of_many_classes_takes_the_softmax(vocabulary: Any) -> None:
    labels = [[1], [2]] if vocabulary is None else [["b"], ["c"]]
    head = heads.MultiClassHead(3, label_vocabulary=vocabulary, loss_reduction=SUM)
    shares = np.exp(THREE) / np.exp(THREE).sum(1, keepdims=True)
    loss, metrics = evaluated(head, THREE, labels)
    np.testing.assert_allclose(loss, -np.log(shares[[0, 1], [1, 2]]).sum(), rtol=1e-5)
    assert metrics["accuracy"] == 1.0
    spec = head.create_estimator_spec({}, MODES.PREDICT, tf.constant(THREE))
    found = run(spec.predictions)
    names = [b"1", b"2"] if vocabulary is None else [b"b", b"c"]
    assert found["classes"].ravel().tolist() == names
    np.testing.assert_allclose(found["probabilities"], shares, rtol=1e-5)


def test_a_regression_head_takes_the_squared_error() -> None:
    labels = np.array([[1.0, 2.0], [0.0, 4.0]], np.float32)
    head = heads.RegressionHead(2, "weight", SUM)
    weights = np.array([[1.0, 0.5], [2.0, 0.0]], np.float32)
    loss, metrics = evaluated(head, THREE[:, :2], labels, {"weight": tf.constant(weights)})
    errors = (THREE[:, :2] - labels) ** 2 * weights
    np.testing.assert_allclose(loss, errors.sum(), rtol=1e-5)
    np.testing.assert_allclose(metrics["average_loss"], errors.sum() / weights.sum(), rtol=1e-5)
    np.testing.assert_allclose(metrics["label/mean"], (labels * weights).sum() / 3.5, rtol=1e-5)


def test_a_regression_head_predicts_by_its_inverse_link() -> None:
    head = heads.RegressionHead(inverse_link_fn=tf.exp)
    spec = head.create_estimator_spec({}, MODES.PREDICT, tf.constant(LOGITS))
    found = run(spec.predictions)
    np.testing.assert_allclose(found["predictions"], np.exp(LOGITS), rtol=1e-5)
    assert found["logits"].tolist() == LOGITS.tolist()


def test_a_name_is_the_suffix_of_metrics_and_summaries() -> None:
    head = heads.RegressionHead(loss_reduction=SUM, name="first")
    _, metrics = evaluated(head, LOGITS, LOGITS + 1, regularization_losses=[tf.constant(2.0)])
    assert metrics["regularization_loss/first"] == 2.0
    spec = head.create_estimator_spec(
        {}, MODES.TRAIN, tf.constant(LOGITS), tf.constant(LOGITS + 1),
        train_op_fn=lambda loss: tf.group(loss),
    )  # fmt: skip
    found = tf.Summary.FromString(run([tf.summary.merge_all(), spec.train_op])[0])
    assert {value.tag: value.simple_value for value in found.value} == {
        "loss/first": 3.0, "average_loss/first": 1.0
    }  # fmt: skip


def test_a_program_may_give_its_own_losses() -> None:
    def loss_fn(labels: Any, logits: Any, features: Any) -> Any:
        return tf.abs(labels - logits) * features["factor"]

    head = heads.RegressionHead(loss_reduction=SUM, loss_fn=loss_fn)
    loss, _ = evaluated(head, LOGITS, LOGITS + 2, {"factor": tf.constant(0.5)})
    np.testing.assert_allclose(loss, 3.0, rtol=1e-5)
    with pytest.raises(ValueError, match="must contain argument: logits"):
        heads.RegressionHead(loss_fn=lambda labels: labels)
    with pytest.raises(ValueError, match=r"unexpected args: \['other'\]"):
        heads.RegressionHead(loss_fn=lambda labels, logits, other: labels)
    short = heads.RegressionHead(loss_fn=lambda labels, logits: tf.reduce_sum(labels, 1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="loss_fn must return"):
        evaluated(short, LOGITS, LOGITS)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: heads.MultiClassHead(2), "n_classes must be > 2"),
        (lambda: heads.MultiClassHead(3, label_vocabulary=["a"]), "does not have"),
        (lambda: heads.RegressionHead(label_dimension=0), "Invalid label_dimension 0"),
        (lambda: heads.RegressionHead(loss_reduction="none"), "Invalid loss_reduction"),
    ],
)
def test_wrong_heads_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
    with pytest.raises(TypeError, match="list or tuple"):
        heads.BinaryClassHead(label_vocabulary="ab")


def test_labels_and_logits_that_do_not_fit_are_refused() -> None:
    head = heads.BinaryClassHead()
    with pytest.raises(ValueError, match="must provide a labels Tensor"):
        head.create_loss({}, MODES.EVAL, tf.constant(LOGITS), None)
    with pytest.raises(ValueError, match=r"Mismatched label shape. .*=1.  Received 2"):
        evaluated(head, LOGITS, np.zeros((3, 2)))
    sparse = tf.SparseTensor([[0, 0]], [1.0], [3, 1])
    with pytest.raises(ValueError, match="SparseTensor labels are not supported"):
        head.create_loss({}, MODES.EVAL, tf.constant(LOGITS), sparse)
    with pytest.raises(ValueError, match="logits_dimension"):
        head.create_estimator_spec({}, MODES.PREDICT, tf.constant(THREE))
    with pytest.raises(TypeError, match="string or _NumericColumn"):
        evaluated(heads.BinaryClassHead(weight_column=3), LOGITS, [1, 1, 0])


@pytest.mark.parametrize("labels, words", [([2, 0, 1], "<= n_classes - 1"), ([-1, 0, 1], ">= 0")])
def test_labels_are_classes(labels: Any, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        evaluated(heads.BinaryClassHead(), LOGITS, labels)
    with pytest.raises(ValueError, match="Labels dtype should be integer"):
        evaluated(heads.MultiClassHead(3), THREE, [[0.0], [1.0]])


def test_a_shape_of_unknown_rank_is_checked_in_the_step() -> None:
    logits, labels = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    spec = heads.RegressionHead().create_estimator_spec({}, MODES.EVAL, logits, labels)
    assert run(spec.loss, {logits: LOGITS, labels: LOGITS}) == 0.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="logits shape must be"):
        run(spec.loss, {logits: THREE, labels: LOGITS})


def test_training_needs_one_way_to_train() -> None:
    head, logits = heads.RegressionHead(loss_reduction=SUM), tf.Variable(LOGITS)
    labels = tf.constant(LOGITS)
    with pytest.raises(ValueError, match="cannot both be None"):
        head.create_estimator_spec({}, MODES.TRAIN, logits, labels)
    optimizer = tf.train.GradientDescentOptimizer(0.25)
    with pytest.raises(ValueError, match="cannot both be set"):
        head.create_estimator_spec(
            {}, MODES.TRAIN, logits, labels, optimizer, train_op_fn=lambda loss: loss
        )
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign(tf.Variable(0.0, name="v"), 7.0))
    spec = head.create_estimator_spec({}, MODES.TRAIN, logits, labels + 2.0, optimizer)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(spec.train_op)
        assert session.run(["v:0", tf.train.get_global_step()]) == [7.0, 1]
        np.testing.assert_allclose(session.run(logits), LOGITS + 1.0, rtol=1e-5)
