"""`tf.contrib.slim`, `losses` and `metrics`: programs of before TensorFlow 1.0 train with them."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

pytestmark = pytest.mark.e2e

slim = tf.contrib.slim
POINTS = np.random.RandomState(1).uniform(-1, 1, (8, 2)).astype(np.float32)
TARGETS = POINTS @ np.array([[2.0], [-1.0]], np.float32) + 0.5


def train_op(**options: Any) -> Any:
    with slim.arg_scope([slim.fully_connected], activation_fn=None):
        outputs = slim.fully_connected(slim.batch_norm(tf.constant(POINTS), decay=0.5), 1)
    tf.losses.mean_squared_error(tf.constant(TARGETS), outputs)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    return slim.learning.create_train_op(tf.losses.get_total_loss(), optimizer, **options)


def test_a_model_trains_to_its_last_step_and_is_saved(tmp_path: pathlib.Path) -> None:
    def trained(steps: int, **options: Any) -> Any:
        with tf.Graph().as_default():
            op = train_op(clip_gradient_norm=1.0, summarize_gradients=True)
            return slim.learning.train(op, str(tmp_path), number_of_steps=steps, **options)

    first, last = trained(1), trained(60, trace_every_n_steps=50)
    assert last < first / 3
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-60")
    assert [path.name for path in tmp_path.glob("tf_trace-*")] == ["tf_trace-51.json"]
    averages = tf.train.load_variable(str(tmp_path), "BatchNorm/moving_mean")
    np.testing.assert_allclose(averages, POINTS.mean(0), atol=1e-3)


def test_a_training_without_a_folder_ends_with_its_input() -> None:
    number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    loss = train_op() + 0 * tf.cast(number, tf.float32)
    assert slim.learning.train(loss, None, log_every_n_steps=0) > 0


def test_gradients_are_multiplied_by_names() -> None:
    weights = tf.Variable(1.0, name="w")
    multiply = slim.learning.multiply_gradients
    ((gradient, _),) = multiply([(tf.constant(2.0), weights)], {"w": 3.0})
    with tf.Session() as session:
        assert session.run(gradient) == 6.0
    with pytest.raises(ValueError, match="Requested multiple of `None` gradient"):
        multiply([(None, weights)], {"w": 3.0})


def test_arguments_that_do_not_go_together_are_refused() -> None:
    op = train_op()
    for arguments, message in [
        ({"train_op": None, "logdir": None}, "train_op cannot be None"),
        ({"logdir": None, "saver": tf.train.Saver()}, "Cannot provide saver because logdir=None"),
        ({"logdir": None, "number_of_steps": 0}, "must be either None or a positive number"),
        ({"logdir": None, "sync_optimizer": [1]}, "must be a tf.train.SyncReplicasOptimizer"),
    ]:
        with pytest.raises(ValueError, match=message):
            slim.learning.train(**{"train_op": op, **arguments})


def test_the_variables_of_a_model_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    tf.get_variable("weights", [2, 3])
    assert slim.model_analyzer.analyze_vars(tf.global_variables(), print_info=True) == (6, 24)
    assert "weights:0 (float32 2x3) [6, bytes: 24]" in capsys.readouterr().out


def test_losses_take_predictions_first_and_a_weight_for_each_example() -> None:
    losses = tf.contrib.losses
    found, wanted = np.array([[1.0, 2.0], [5.0, 4.0]]), np.array([[1.0, 0.0], [2.0, 3.0]])
    logits = np.array([[2.0, 0.0], [0.0, 1.0]])
    weights = np.array([0.0, 2.0])
    labels = np.array([[1.0, 0.0], [1.0, 0.0]])
    each = [
        losses.mean_squared_error(tf.constant(found), tf.constant(wanted), weights),
        losses.absolute_difference(tf.constant(found), tf.constant(wanted), weights[:, None]),
        losses.softmax_cross_entropy(tf.constant(logits), tf.constant(labels), weights),
        losses.sparse_softmax_cross_entropy(tf.constant(logits), tf.constant([0, 0])),
        losses.hinge_loss(tf.constant(logits), tf.constant(labels)),
    ]
    assert losses.get_losses() == each[:-1]
    with tf.Session() as session:
        squared, absolute, softmax, sparse, hinge = session.run(each)
    entropy = np.log(np.exp(logits).sum(1)) - logits[:, 0]
    np.testing.assert_allclose((squared, absolute), (10.0, 4.0))
    np.testing.assert_allclose((softmax, sparse), (2 * entropy[1], entropy.mean()), rtol=1e-5)
    np.testing.assert_allclose(hinge, [[0, 1], [1, 2]])


def test_the_collection_of_the_losses_can_be_changed_for_a_block() -> None:
    losses = tf.contrib.losses
    logits, labels = tf.constant([[1.2, 0.4]]), tf.constant([[1.0, 0.0]])
    for collection in (None, "own"):
        with tf.contrib.framework.arg_scope([losses.add_loss], loss_collection=collection):
            made = [
                losses.compute_weighted_loss(logits),
                losses.absolute_difference(logits, labels),
                losses.mean_squared_error(logits, labels),
                losses.log_loss(logits, labels),
                losses.sigmoid_cross_entropy(logits, labels),
                losses.softmax_cross_entropy(logits, labels),
                losses.sparse_softmax_cross_entropy(logits, [0]),
                losses.cosine_distance(logits, labels, 1),
                losses.mean_pairwise_squared_error(logits, labels),
            ]
    assert losses.get_losses() == []
    assert tf.get_collection("own") == made


def test_metrics_take_predictions_first() -> None:
    metrics = tf.contrib.metrics
    found, wanted = tf.constant([1, 1, 0, 1]), tf.constant([1, 0, 0, 0])
    values, updates = metrics.aggregate_metric_map(
        {
            "precision": metrics.streaming_precision(found, wanted),
            "recall": metrics.streaming_recall(found, wanted),
            "mean": metrics.streaming_mean(tf.constant([1.0, 3.0])),
            "auc": metrics.streaming_auc(tf.constant([0.1, 0.9]), tf.constant([0, 1])),
        }
    )
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(updates)
        results = session.run({**values, "accuracy": metrics.accuracy(found, wanted)})
    expected = {"precision": 1 / 3, "recall": 1.0, "mean": 2.0, "auc": 1.0, "accuracy": 0.5}
    assert results == pytest.approx(expected, rel=1e-4)
