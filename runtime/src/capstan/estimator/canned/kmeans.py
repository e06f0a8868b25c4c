"""`tf.estimator.experimental.KMeans`: points in clusters around centers.

The names of the variables are TensorFlow's (tensorflow_estimator/.../canned/kmeans.py).
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from capstan.api import (
    array_ops,
    clustering,
    clustering_centers,
    control_flow_ops,
    feature_column,
    logging,
    metrics,
    reduce_ops,
)
from capstan.core.arrays import Array
from capstan.estimator import estimator, estimator_spec, export_output
from capstan.train import hook, steps, summary, waiting
from capstan.train.saved_model import constants


class KMeansClustering(estimator.Estimator):
    """Clusters of points. `input_fn` returns points, a matrix or a dictionary of columns.

    `num_clusters` centers are chosen by `initial_clusters`: `RANDOM_INIT`,
    `KMEANS_PLUS_PLUS_INIT`, a function `f(points, n)` that returns at most n centers and is called
    for more batches until there are enough, or a matrix. Each step moves the centers. If
    `use_mini_batch` is False, a batch has all points, and the centers become the means of their
    points. Otherwise a batch is a sample, and points are assigned to centers that change every
    `mini_batch_steps_per_iteration` steps. Training stops if the loss changes by less than
    `relative_tolerance`. `feature_columns` turn a dictionary into points; without them, its
    matrices are joined in the order of their names.

    Raises:
        ValueError: the algorithm or the distance is unknown.
    """

    SQUARED_EUCLIDEAN_DISTANCE: ClassVar[str] = clustering.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE: ClassVar[str] = clustering.COSINE_DISTANCE
    RANDOM_INIT: ClassVar[str] = clustering_centers.RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT: ClassVar[str] = clustering_centers.KMEANS_PLUS_PLUS_INIT
    SCORE: ClassVar[str] = "score"
    CLUSTER_INDEX: ClassVar[str] = "cluster_index"
    ALL_DISTANCES: ClassVar[str] = "all_distances"
    CLUSTER_CENTERS_VAR_NAME: ClassVar[str] = clustering.CLUSTERS_VAR_NAME

    def __init__(
        self,
        num_clusters: Any,
        model_dir: Any = None,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        seed: int | None = None,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
        feature_columns: Iterable[Any] | None = None,
    ) -> None:
        clustering.check(initial_clusters, distance_metric)
        self._distance_metric = distance_metric

        def model_fn(features: Any, mode: str, config: Any) -> estimator_spec.EstimatorSpec:
            graph = clustering.KMeans(
                _points(features, feature_columns),
                num_clusters,
                initial_clusters,
                distance_metric,
                use_mini_batch,
                mini_batch_steps_per_iteration,
                seed,
                kmeans_plus_plus_num_retries,
            ).training_graph()
            return _spec(graph, mode, config, relative_tolerance)

        super().__init__(model_fn, model_dir, config)

    def predict_cluster_index(self, input_fn: Any) -> Iterator[Any]:
        """Yield the number of the nearest center of each point."""
        return self._predicted(input_fn, self.CLUSTER_INDEX)

    def score(self, input_fn: Any) -> Any:
        """Return the sum of the squared distances of the first batch to the nearest centers."""
        return self.evaluate(input_fn, steps=1)[self.SCORE]

    def transform(self, input_fn: Any) -> Iterator[Any]:
        """Yield the distances of each point to all centers."""
        for distances in self._predicted(input_fn, self.ALL_DISTANCES):
            is_squared = self._distance_metric == self.SQUARED_EUCLIDEAN_DISTANCE
            yield np.sqrt(distances) if is_squared else distances

    def cluster_centers(self) -> Array:
        """Return the centers in the newest checkpoint, a row for each.

        Raises:
            ValueError: there is no checkpoint.
        """
        centers: Array = self.get_variable_value(self.CLUSTER_CENTERS_VAR_NAME)
        return centers

    def _predicted(self, input_fn: Any, key: str) -> Iterator[Any]:
        for prediction in self.predict(input_fn, [key]):
            yield prediction[key]


def _points(features: Any, feature_columns: Iterable[Any] | None) -> Any:
    if not isinstance(features, Mapping):
        return features
    if feature_columns:
        return feature_column.input_layer(features, feature_columns)
    return array_ops.concat([features[name] for name in sorted(features)], 1)


def _spec(
    graph: clustering.Clustering, mode: str, config: Any, relative_tolerance: float | None
) -> estimator_spec.EstimatorSpec:
    loss = reduce_ops.reduce_sum(graph.distances[0])
    summary.scalar("loss/raw", loss)
    step = steps.get_global_step().assign_add(1)
    hooks: list[hook.SessionRunHook] = [
        InitializeClustersHook(graph.init_op, graph.is_initialized, config.is_chief)
    ]
    if relative_tolerance is not None:
        hooks.append(_LossRelativeChangeHook(loss, relative_tolerance))
    index = export_output.PredictOutput(graph.indices[0])
    return estimator_spec.EstimatorSpec(
        mode,
        predictions={
            KMeansClustering.ALL_DISTANCES: graph.all_distances[0],
            KMeansClustering.CLUSTER_INDEX: graph.indices[0],
        },
        loss=loss,
        train_op=control_flow_ops.with_dependencies([graph.train_op, step], loss),
        eval_metric_ops={KMeansClustering.SCORE: metrics.mean(loss)},
        training_hooks=hooks,
        export_outputs={
            KMeansClustering.ALL_DISTANCES: export_output.PredictOutput(graph.all_distances[0]),
            KMeansClustering.CLUSTER_INDEX: index,
            constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: index,
        },
    )


class _LossRelativeChangeHook(hook.SessionRunHook):
    """Stops when the loss changes by less than `tolerance` of itself."""

    def __init__(self, loss: Any, tolerance: float) -> None:
        self._loss, self._tolerance = loss, tolerance
        self._before: Any = None

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(self._loss)

    def after_run(self, run_context: hook.SessionRunContext, run_values: Any) -> None:
        loss, before = run_values.results, self._before
        if before and abs(loss - before) / (1 + abs(before)) < self._tolerance:
            run_context.request_stop()
        self._before = loss


class InitializeClustersHook(hook.SessionRunHook):
    """Lets the chief choose the first centers. The other workers wait for them."""

    def __init__(self, init_op: Any, is_initialized: Any, is_chief: bool) -> None:
        self._init_op, self._is_initialized, self._is_chief = init_op, is_initialized, is_chief

    def after_create_session(self, session: Any, coord: Any) -> None:
        for pause in waiting.pauses(waiting.LONGEST_SECS):
            try:
                if session.run(self._is_initialized):
                    return
                if self._is_chief:
                    session.run(self._init_op)
                else:
                    threading.Event().wait(pause)
            except RuntimeError as error:
                logging.info(error)
