"""`tf.contrib.learn.KMeansClustering` (contrib/learn/python/learn/estimators/kmeans.py)."""

from collections.abc import Iterator
from typing import Any, ClassVar

from capstan.contrib.learn import estimators
from capstan.contrib.learn import run_config as run_configs
from capstan.estimator.canned import kmeans

_Core = kmeans.KMeansClustering


class KMeansClustering(estimators.Estimator):
    """Clusters of points, as `tf.estimator.experimental.KMeans`.

    `random_seed` is the seed of the first centers. Raises as that class.
    """

    SQUARED_EUCLIDEAN_DISTANCE: ClassVar[str] = _Core.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE: ClassVar[str] = _Core.COSINE_DISTANCE
    RANDOM_INIT: ClassVar[str] = _Core.RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT: ClassVar[str] = _Core.KMEANS_PLUS_PLUS_INIT
    SCORES: ClassVar[str] = "scores"
    CLUSTER_IDX: ClassVar[str] = "cluster_idx"
    CLUSTERS: ClassVar[str] = _Core.CLUSTER_CENTERS_VAR_NAME
    ALL_SCORES: ClassVar[str] = "all_scores"

    def __init__(
        self,
        num_clusters: int,
        model_dir: Any = None,
        initial_clusters: Any = _Core.RANDOM_INIT,
        distance_metric: str = _Core.SQUARED_EUCLIDEAN_DISTANCE,
        random_seed: int = 0,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
    ) -> None:
        core = _Core(
            num_clusters, model_dir, initial_clusters, distance_metric, random_seed,
            use_mini_batch, mini_batch_steps_per_iteration, kmeans_plus_plus_num_retries,
            relative_tolerance, config or run_configs.RunConfig(),
        )  # fmt: skip

        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
            spec = core.model_fn(features, labels, mode, config)
            metrics = {**(spec.eval_metric_ops or {})}
            if _Core.SCORE in metrics:
                metrics[self.SCORES] = metrics[_Core.SCORE]
            named = {
                **spec.predictions,
                self.CLUSTER_IDX: spec.predictions[_Core.CLUSTER_INDEX],
                self.ALL_SCORES: spec.predictions[_Core.ALL_DISTANCES],
            }
            return spec._replace(predictions=named, eval_metric_ops=metrics)

        super().__init__(model_fn, core.model_dir, config)

    def predict_cluster_idx(self, input_fn: Any = None) -> Iterator[Any]:
        """Yield the number of the nearest center of each point."""
        for each in self.predict(input_fn=input_fn, outputs=[self.CLUSTER_IDX]):
            yield each[self.CLUSTER_IDX]

    def score(self, input_fn: Any = None, steps: int | None = None) -> Any:
        """Return the sum of the distances of the points of a batch to their centers."""
        return self.evaluate(input_fn=input_fn, steps=steps)[self.SCORES]

    def transform(self, input_fn: Any = None, as_iterable: bool = False) -> Any:
        """Return the distances of each point to all centers, squares of Euclidean distances."""
        found = self.predict(input_fn=input_fn, outputs=[self.ALL_SCORES], as_iterable=as_iterable)
        return found if as_iterable else found[self.ALL_SCORES]

    def clusters(self) -> Any:
        """Return the centers, a row for each. Raises as `get_variable_value`."""
        return self.get_variable_value(self.CLUSTERS)
