"""The metrics of `tf.metrics` have the values, names, variables and collections of TensorFlow."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np

import capstan

pytestmark = genuine.MARKS

RANDOM = np.random.RandomState(3)
BATCHES = [(RANDOM.randint(0, 2, 6), RANDOM.uniform(size=6).astype(np.float32)) for _ in range(3)]
WEIGHTS = np.array([1.0, 0.0, 2.0, 0.5, 1.0, 3.0], np.float32)


def _of_unknown_shape(v1: Any, value: Any) -> Any:
    return v1.placeholder_with_default(value, None)


METRICS: list[Callable[[Any, Any, Any], Any]] = [
    lambda v1, y, x: v1.metrics.mean(x),
    lambda v1, y, x: v1.metrics.mean(x, WEIGHTS, ["values"], "updates", name="mine"),
    lambda v1, y, x: v1.metrics.accuracy(y, v1.cast(x > 0.5, v1.int64)),
    lambda v1, y, x: v1.metrics.accuracy(y[:, None], x > 0.5, WEIGHTS),
    lambda v1, y, x: v1.metrics.mean_absolute_error(v1.to_float(y), x),
    lambda v1, y, x: v1.metrics.mean_squared_error(v1.to_float(y), x, WEIGHTS),
    lambda v1, y, x: v1.metrics.root_mean_squared_error(v1.to_float(y), x),
    lambda v1, y, x: v1.metrics.true_positives(y, x > 0.5),
    lambda v1, y, x: v1.metrics.true_negatives(y, x > 0.5, WEIGHTS),
    lambda v1, y, x: v1.metrics.false_positives(y, x > 0.5),
    lambda v1, y, x: v1.metrics.false_negatives(y, x > 0.5),
    lambda v1, y, x: v1.metrics.precision(y, x > 0.5),
    lambda v1, y, x: v1.metrics.recall(y, x > 0.5, WEIGHTS),
    lambda v1, y, x: v1.metrics.auc(y, x),
    lambda v1, y, x: v1.metrics.auc(y, x, WEIGHTS, num_thresholds=5),
    lambda v1, y, x: v1.metrics.auc(y, x, thresholds=[0.8, 0.2, 0.55]),
    *(
        lambda v1, y, x, method=method: v1.metrics.auc(
            y, x, curve="PR", summation_method=method, num_thresholds=20
        )
        for method in ("trapezoidal", "careful_interpolation", "minoring", "majoring")
    ),
    lambda v1, y, x: v1.metrics.true_positives_at_thresholds(y, x, [0.2, 0.6]),
    lambda v1, y, x: v1.metrics.true_negatives_at_thresholds(y, x, [0.2, 0.6], WEIGHTS),
    lambda v1, y, x: v1.metrics.false_positives_at_thresholds(y[:, None], x, [0.2, 0.6]),
    lambda v1, y, x: v1.metrics.false_negatives_at_thresholds(y, x, [0.5]),
    lambda v1, y, x: v1.metrics.precision_at_thresholds(y, x, [0.2, 0.6, 1.0]),
    lambda v1, y, x: v1.metrics.recall_at_thresholds(y, x, [0.0, 0.6], WEIGHTS),
    lambda v1, y, x: v1.metrics.sensitivity_at_specificity(y, x, 0.6),
    lambda v1, y, x: v1.metrics.specificity_at_sensitivity(y, x, 0.5, num_thresholds=20),
    lambda v1, y, x: v1.metrics.mean_iou(y, v1.to_int32(x * 3), 3),
    lambda v1, y, x: v1.metrics.mean_iou(y, v1.to_int32(x * 3), 3, v1.constant(WEIGHTS)),
    lambda v1, y, x: v1.metrics.mean_per_class_accuracy(y, v1.to_int64(x * 3), 3),
    lambda v1, y, x: v1.metrics.mean_per_class_accuracy(
        y, v1.to_int64(x * 3), 3, v1.constant(WEIGHTS)
    ),
    lambda v1, y, x: v1.metrics.mean_cosine_distance(
        v1.reshape(v1.to_float(y), [3, 2]), v1.reshape(x, [3, 2]), 1
    ),
    lambda v1, y, x: v1.metrics.mean_relative_error(x + 1, x, v1.to_float(y)),
    lambda v1, y, x: v1.metrics.mean_tensor(x),
    lambda v1, y, x: v1.metrics.mean_tensor(x, WEIGHTS),
    lambda v1, y, x: v1.metrics.percentage_below(x, 0.4),
    lambda v1, y, x: v1.metrics.accuracy(y[:, None], x[:, None] > 0.5, WEIGHTS),
    *(
        lambda v1, y, x, w=w, place=place: v1.metrics.accuracy(
            place(v1, y[:, None]), x > 0.5, place(v1, w)
        )
        for place in (_of_unknown_shape, lambda v1, value: value)
        for w in (WEIGHTS, WEIGHTS[:, None], np.float32(2))
    ),
]


def ranked(v1: Any) -> list[Any]:
    """Return metrics of two examples with four classes each."""
    x = v1.constant([[0.1, 0.4, 0.2, 0.3], [0.5, 0.2, 0.2, 0.1]])
    one = v1.constant([1, 3], v1.int64)
    many = v1.constant([[1, 3, 0], [3, 2, 9]], v1.int64)
    sparse = v1.SparseTensor([[0, 0], [0, 1], [1, 0]], v1.constant([3, 1, 0], v1.int64), [2, 2])
    line = v1.SparseTensor([[0], [1]], v1.constant([3, 0], v1.int64), [2])
    m, share = v1.metrics, [[0.5], [2.0]]
    return [
        m.precision_at_k(one, x, 1),
        m.precision_at_k(many, x, 2, weights=[0.5, 2.0]),
        m.precision_at_k(sparse, x, 2, class_id=3),
        m.precision_at_k(many, x, 3, class_id=3, name="mine"),
        m.precision_at_top_k(many, v1.constant([[0, 1], [2, 3]]), 2),
        m.recall_at_k(one, x, 2),
        m.recall_at_k(many, x, 2, weights=v1.constant([0.5, 2.0])),
        m.recall_at_k(sparse, x, 3, class_id=0),
        m.recall_at_k(line, x, 1, class_id=3),
        m.recall_at_top_k(many, v1.constant([[0, 1], [2, 3]]), class_id=2),
        m.average_precision_at_k(many, x, 3),
        m.average_precision_at_k(one[:, None], x, 2, weights=[0.5, 2.0]),
        m.average_precision_at_k(sparse, x, 2),
        m.sparse_precision_at_k(one, x, 2),
        m.sparse_average_precision_at_k(one[:, None], x, 1),
        m.mean(x, share),
    ]


def run(tf: Any) -> Any:
    """Return the names of the variables, and the values after each batch."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        y, x = tf.placeholder(tf.int64, [6]), tf.placeholder(tf.float32, [6])
        pairs = [build(tf, y, x) for build in METRICS]
        session.run(tf.local_variables_initializer())
        results = [session.run([value for value, _ in pairs])]
        for labels, predictions in BATCHES:
            feed = {y: labels, x: predictions}
            results.append(session.run([update for _, update in pairs], feed))
            results.append(session.run([value for value, _ in pairs]))
        names = [variable.name for variable in tf.local_variables()]
        kept = [graph.get_collection(key) for key in ("values", "updates", "metric_variables")]
        return names, [len(each) for each in kept], results


def run_ranked(tf: Any) -> Any:
    """Return the names of the variables, and the values after each of two batches."""
    with tf.Graph().as_default(), tf.Session() as session:
        pairs = ranked(tf)
        session.run(tf.local_variables_initializer())
        results = []
        for _ in range(2):
            results.append(session.run([update for _, update in pairs]))
            results.append(session.run([value for value, _ in pairs]))
        # TensorFlow 2 computes the maximum of the labels, and 1.15 does not.
        names = [variable.name.replace("max_1", "max") for variable in tf.local_variables()]
        return names, results


def test_metrics_of_the_largest_predictions_are_tensorflows(v1: Any) -> None:
    found, expected = run_ranked(capstan), run_ranked(v1)
    assert found[0] == expected[0]
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)


def test_metrics_are_tensorflows(v1: Any) -> None:
    found, expected = run(capstan), run(v1)
    assert found[:2] == expected[:2]
    for values, wanted in zip(found[2], expected[2], strict=True):
        for value, wanted_value in zip(values, wanted, strict=True):
            np.testing.assert_allclose(value, wanted_value, rtol=1e-5, atol=1e-6)


def test_the_values_at_a_chosen_threshold_have_the_names_of_tensorflow(v1: Any) -> None:
    found = {}
    for tf in (capstan, v1):
        with tf.Graph().as_default():
            y, x = tf.placeholder(tf.int64, [6]), tf.placeholder(tf.float32, [6])
            found[tf] = [
                tensor.name
                for pair in (
                    tf.metrics.sensitivity_at_specificity(y, x, 0.6),
                    tf.metrics.specificity_at_sensitivity(y, x, 0.5, name="mine"),
                )
                for tensor in pair
            ]
    assert found[capstan] == found[v1]
