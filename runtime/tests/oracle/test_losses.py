"""The losses of `tf.losses` have the values, gradients, names and collections of TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(7)
SHAPE = (4, 3)
LABELS = (RANDOM.uniform(size=SHAPE) > 0.5).astype(np.float32)
PREDICTIONS = RANDOM.uniform(0.1, 0.9, SHAPE).astype(np.float32)
ONE_HOT, CLASSES = np.eye(3, dtype=np.float32)[[0, 2, 1, 1]], np.array([0, 2, 1, 1])
ROWS = np.array([[1.0], [0.0], [2.0], [0.5]], np.float32)

LOSSES: list[Callable[[Any, Any], Any]] = [
    lambda v1, x: v1.losses.absolute_difference(LABELS, x),
    lambda v1, x: v1.losses.absolute_difference(LABELS, x, ROWS),
    lambda v1, x: v1.losses.mean_squared_error(LABELS, x, scope="mine"),
    lambda v1, x: v1.losses.mean_squared_error(LABELS, x, 2.0, reduction="weighted_sum"),
    lambda v1, x: v1.losses.mean_squared_error(LABELS, x, ROWS, reduction="none"),
    lambda v1, x: v1.losses.mean_squared_error(LABELS, x, ROWS, reduction="weighted_mean"),
    lambda v1, x: v1.losses.mean_squared_error(
        LABELS, x, 0.0, reduction="weighted_sum_over_batch_size"
    ),
    lambda v1, x: v1.losses.mean_squared_error(LABELS, x, 0.0),
    lambda v1, x: v1.losses.cosine_distance(LABELS, x, 1),
    lambda v1, x: v1.losses.hinge_loss(LABELS, x),
    lambda v1, x: v1.losses.huber_loss(LABELS, x, ROWS, delta=0.3),
    lambda v1, x: v1.losses.log_loss(LABELS, x),
    lambda v1, x: v1.losses.mean_pairwise_squared_error(LABELS, x, ROWS),
    lambda v1, x: v1.losses.sigmoid_cross_entropy(LABELS, x, label_smoothing=0.1),
    lambda v1, x: v1.losses.softmax_cross_entropy(ONE_HOT, x),
    lambda v1, x: v1.losses.softmax_cross_entropy(
        ONE_HOT, x, ROWS[:, 0], label_smoothing=0.2, loss_collection="others"
    ),
    lambda v1, x: v1.losses.sparse_softmax_cross_entropy(CLASSES, x),
    lambda v1, x: v1.losses.sparse_softmax_cross_entropy(CLASSES[:, None], x, ROWS),
]


def run(v1: Any) -> Any:
    with v1.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(v1.float32, [None, 3])
        losses = [build(v1, x) for build in LOSSES]
        graph.add_to_collection("regularization_losses", v1.constant(3.0))
        total = [v1.losses.get_regularization_loss()]
        total += [v1.add_n([v1.reduce_sum(loss) for loss in v1.losses.get_losses()])]
        slopes = v1.gradients(losses, x)
        return (
            [loss.name for loss in losses],
            [loss.name for loss in v1.losses.get_losses()],
            session.run([losses, total, slopes], {x: PREDICTIONS}),
        )


def test_losses_are_tensorflows(v1: Any) -> None:
    found, expected = run(capstan), run(v1)
    assert len(found[1]) == len(LOSSES) - 1
    assert found[:2] == expected[:2]
    for values, wanted in zip(found[2], expected[2], strict=True):
        for value, want in zip(values, wanted, strict=True):
            np.testing.assert_allclose(value, want, rtol=1e-4, atol=1e-6, strict=True)


@pytest.mark.parametrize("weights", [[1.0, 2.0, 3.0], [[1.0], [2.0]], np.ones([1, 4, 3])])
@pytest.mark.parametrize(
    "build",
    [
        lambda v1, w: v1.losses.compute_weighted_loss(v1.constant(PREDICTIONS), w),
        lambda v1, w: v1.losses.mean_pairwise_squared_error(LABELS, PREDICTIONS, w),
        lambda v1, w: v1.metrics.mean(PREDICTIONS, w)[1],
    ],
)
def test_fed_weights_of_another_shape_end_the_step(v1: Any, weights: Any, build: Any) -> None:
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            fed = tf.placeholder(tf.float32)
            result = build(tf, fed)
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(result, {fed: weights})


def test_fed_weights_of_labels_may_have_one_more_axis(v1: Any) -> None:
    found = []
    for tf in (capstan, v1):
        with tf.Graph().as_default(), tf.Session() as session:
            fed = tf.placeholder(tf.float32)
            loss = tf.losses.sparse_softmax_cross_entropy(CLASSES, PREDICTIONS, fed)
            found.append([session.run(loss, {fed: w}) for w in (ROWS, ROWS[:, 0], 2.0)])
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_weights_of_another_shape_are_refused(v1: Any) -> None:
    for tf in (capstan, v1):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, SHAPE)
            message = "weights can not be broadcast to values."
            with pytest.raises(ValueError, match=message):
                tf.losses.mean_squared_error(LABELS, x, np.ones([2, 3], np.float32))


@pytest.mark.parametrize("logits_type", ["float16", "float32", "float64"])
@pytest.mark.parametrize("labels_type", ["int32", "float32", "float64"])
@pytest.mark.parametrize("suffix", ["", "_v2"])
def test_labels_of_any_type_give_the_loss_of_tensorflow(
    v1: Any, suffix: str, labels_type: str, logits_type: str
) -> None:
    results = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            labels = tf.constant(np.eye(3, dtype=labels_type))
            logits = tf.constant(np.arange(9).reshape(3, 3).astype(logits_type))
            function = getattr(tf.nn, f"softmax_cross_entropy_with_logits{suffix}")
            losses = function(labels=labels, logits=logits)
            sparse = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1, 2], logits=logits)
            slope = tf.gradients(losses, logits)[0]
            results.append([losses.dtype.name, *session.run([losses, sparse, slope])])
    (kind, *found), (expected_kind, *expected) = results
    assert kind == expected_kind
    for value, other in zip(found, expected, strict=True):
        assert value.dtype == other.dtype
        np.testing.assert_allclose(value, other, rtol=1e-3 if logits_type == "float16" else 1e-6)


def test_the_labels_may_have_another_rank_than_the_logits(v1: Any) -> None:
    losses = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            loss = tf.nn.softmax_cross_entropy_with_logits_v2(
                labels=tf.expand_dims(np.eye(3), 0), logits=tf.constant(np.eye(3), tf.float32)
            )
            losses.append(session.run(loss))
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-6)


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize(
    "function, names",
    [
        ("absolute_difference", ("labels", "predictions")),
        ("cosine_distance", ("labels", "predictions")),
        ("hinge_loss", ("labels", "logits")),
        ("huber_loss", ("labels", "predictions")),
        ("log_loss", ("labels", "predictions")),
        ("mean_pairwise_squared_error", ("labels", "predictions")),
        ("mean_squared_error", ("labels", "predictions")),
        ("sigmoid_cross_entropy", ("multi_class_labels", "logits")),
        ("softmax_cross_entropy", ("onehot_labels", "logits")),
        ("sparse_softmax_cross_entropy", ("labels", "logits")),
    ],
)
def test_an_error_names_the_operand_of_a_loss_that_is_none(
    v1: Any, function: str, names: tuple[str, str], missing: int
) -> None:
    given: dict[str, Any] = dict(zip(names, (LABELS, PREDICTIONS), strict=True))
    given[names[missing]] = None
    if function == "cosine_distance":
        given["axis"] = 1
    for tf in (v1, capstan):
        with (
            tf.Graph().as_default(),
            pytest.raises(ValueError, match=rf"\b{names[missing]}`? must not be None"),
        ):
            getattr(tf.losses, function)(**given)
