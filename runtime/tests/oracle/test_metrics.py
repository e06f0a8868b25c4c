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


def test_metrics_are_tensorflows(v1: Any) -> None:
    found, expected = run(capstan), run(v1)
    assert found[:2] == expected[:2]
    for values, wanted in zip(found[2], expected[2], strict=True):
        np.testing.assert_allclose(values, wanted, rtol=1e-5, atol=1e-6)
