"""Mini-batches move the centers of k-means as their definition says.

TensorFlow reads the counts of a mini-batch before or after it adds to them, as it happens.
"""

import numpy as np
import pytest

import capstan as tf
from capstan.api import clustering


@pytest.mark.parametrize("period", [1, 3])
@pytest.mark.parametrize("metric", ["squared_euclidean", "cosine"])
def test_a_mini_batch_moves_each_center_toward_its_points(period: int, metric: str) -> None:
    random = np.random.default_rng(period)
    points = random.normal(size=(60, 2)).astype(np.float32)
    is_cosine = metric == "cosine"
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    held = (unit if is_cosine else points)[:4].astype(np.float64)
    moving, counts = held.copy(), np.full(4, 1 if period == 1 else 0)
    with tf.Graph().as_default(), tf.Session() as session:
        batch = tf.placeholder(tf.float32, [None, 2])
        graph = clustering.KMeans(
            batch, 4, points[:4], metric, use_mini_batch=True,
            mini_batch_steps_per_iteration=period,
        ).training_graph()  # fmt: skip
        session.run(tf.global_variables_initializer())
        session.run(graph.init_op, {batch: points})
        assert session.run(graph.is_initialized)
        for step in range(8):
            part = slice(step, None, 8)
            session.run(graph.train_op, {batch: points[part]})
            seen = held if period > 1 else moving.copy()
            if period > 1 and step and step % period == 0:
                held, counts = moving.copy(), np.zeros(4, int)
                if is_cosine:
                    held /= np.linalg.norm(held, axis=1, keepdims=True)
            used = (unit if is_cosine else points)[part]
            near = seen / np.linalg.norm(seen, axis=1, keepdims=True) if is_cosine else seen
            chosen = ((used[:, np.newaxis] - near) ** 2).sum(2).argmin(1)
            for center in range(4):
                mine = used[chosen == center]
                if len(mine):
                    total = counts[center] + len(mine)
                    moving[center] += (mine.sum(0) - len(mine) * moving[center]) / total
                    counts[center] = total
            name = "clusters" if period == 1 else "clusters_updated"
            (variable,) = (v for v in tf.global_variables() if v.op.name == name)
            np.testing.assert_allclose(session.run(variable), moving, 1e-4, 1e-4)
