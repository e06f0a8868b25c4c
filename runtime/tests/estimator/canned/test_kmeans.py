"""KMeans finds the centers of clear clusters, and saves and uses them."""

import pathlib
from typing import Any

import numpy as np
import pytest

import capstan as tf

CENTERS = np.array([[0, 0], [6, 6], [0, 6]], np.float32)


def points() -> Any:
    random = np.random.default_rng(0)
    return (np.repeat(CENTERS, 40, 0) + random.normal(size=(120, 2)) * 0.2).astype(np.float32)


def batches(size: int, epochs: int | None = None) -> Any:
    shuffled = np.random.default_rng(1).permutation(points())
    return lambda: tf.data.Dataset.from_tensor_slices(shuffled).repeat(epochs).batch(size)


@pytest.mark.parametrize("initial", ["random", "kmeans_plus_plus", CENTERS + 1])
@pytest.mark.parametrize("settings", [{"use_mini_batch": False}, {}])
def test_the_centers_are_those_of_the_clusters(
    tmp_path: pathlib.Path, initial: Any, settings: Any
) -> None:
    # From other random centers, the algorithm may find other clusters.
    config = tf.estimator.RunConfig(str(tmp_path), tf_random_seed=6)
    kmeans = tf.estimator.experimental.KMeans(
        3, initial_clusters=initial, config=config,
        relative_tolerance=None if not settings else 1e-6, **settings
    )  # fmt: skip
    size = 120 if settings else 30
    kmeans.train(batches(size), max_steps=60)
    if settings:  # The loss stops changing long before.
        assert tf.train.load_variable(str(tmp_path), "global_step") < 60
    centers = kmeans.cluster_centers()
    order = np.lexsort(centers.round().T)
    np.testing.assert_allclose(centers[order], CENTERS[[0, 1, 2]][np.lexsort(CENTERS.T)], atol=0.2)
    read = lambda: tf.data.Dataset.from_tensor_slices(points()).batch(120)  # noqa: E731
    distances = np.stack(list(kmeans.transform(read)))
    expected = np.linalg.norm(points()[:, np.newaxis] - centers, axis=2)
    np.testing.assert_allclose(distances, expected, 1e-2, 1e-2)
    nearest = list(kmeans.predict_cluster_index(read))
    assert nearest == expected.argmin(1).tolist()
    np.testing.assert_allclose(kmeans.score(read), (expected.min(1) ** 2).sum(), 1e-3)


def test_columns_are_joined_by_name_or_by_feature_columns(tmp_path: pathlib.Path) -> None:
    x, y = points().T

    def input_fn() -> Any:
        return {"y": tf.constant(y[:, np.newaxis]), "x": tf.constant(x[:, np.newaxis])}

    plain = tf.estimator.experimental.KMeans(3, tmp_path / "a", CENTERS + 1, use_mini_batch=False)
    plain.train(input_fn, steps=5)
    np.testing.assert_allclose(plain.cluster_centers(), CENTERS, atol=0.2)
    columns = [tf.feature_column.numeric_column("x")]
    narrow = tf.estimator.experimental.KMeans(
        2, tmp_path / "b", np.array([[0], [6]], np.float32), use_mini_batch=False,
        feature_columns=columns,
    )  # fmt: skip
    narrow.train(input_fn, steps=5)
    np.testing.assert_allclose(narrow.cluster_centers(), [[0], [6]], atol=0.2)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="Unsupported initialization algorithm 'best'"):
        tf.estimator.experimental.KMeans(2, initial_clusters="best")
    with pytest.raises(ValueError, match="Unsupported distance metric 'taxi'"):
        tf.estimator.experimental.KMeans(2, distance_metric="taxi")
