"""`tf.contrib.factorization.GMM` (contrib/factorization/python/ops/gmm.py)."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from capstan.api import array_ops, context, state_ops, variables
from capstan.contrib import gaussian_mixture
from capstan.contrib.learn import estimators
from capstan.contrib.learn.model_fn import ModelFnOps
from capstan.estimator.canned import kmeans
from capstan.framework import collections
from capstan.train import steps

_Names = gaussian_mixture.GmmAlgorithm


class GMM(estimators.Estimator):
    """A mixture of normal distributions, trained by expectation maximisation.

    Features are a float32 matrix with a point in each row, or a dictionary of such matrices, which
    are joined in the order of their names. Labels are None. The loss of a step is the logarithm of
    the sum of the densities at the points. An evaluation reports its mean over the batches, where
    TensorFlow reports the sum. The other arguments are those of `GmmAlgorithm`; `initial_clusters`
    is "random", or a matrix of the first centers.

    Raises:
        ValueError: the covariance type or a letter of `params` is unknown, in training.
    """

    SCORES: ClassVar[str] = "scores"
    LOG_LIKELIHOOD: ClassVar[str] = "loss"
    ASSIGNMENTS: ClassVar[str] = "assignments"

    def __init__(
        self,
        num_clusters: int,
        model_dir: Any = None,
        random_seed: int | None = 0,
        params: str = "wmc",
        initial_clusters: Any = "random",
        covariance_type: str = "full",
        config: Any = None,
    ) -> None:
        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> ModelFnOps:
            if labels is not None:
                raise ValueError("The input function of GMM returns labels.")
            loss, scores, assignments, train, init, is_initialized = gaussian_mixture.gmm(
                _joined(features), initial_clusters, num_clusters, random_seed, covariance_type,
                params,
            )  # fmt: skip
            with context.control_dependencies([train]):
                step = state_ops.assign_add(steps.get_or_create_global_step(), 1).op
            hook = kmeans.InitializeClustersHook(init, is_initialized, config.is_chief)
            metrics = {self.SCORES: _last(scores)}
            return ModelFnOps(
                mode, {self.ASSIGNMENTS: assignments[0][0]}, loss, step, metrics,
                training_hooks=[hook],
            )  # fmt: skip

        super().__init__(model_fn, model_dir, config)

    def predict_assignments(
        self, input_fn: Callable[[], Any] | None = None, batch_size: int | None = None,
        outputs: Any = None,
    ) -> Iterator[Any]:  # fmt: skip
        """Yield the number of the most probable cluster of each point."""
        found = self.predict(input_fn=input_fn, batch_size=batch_size, outputs=outputs)
        for each in found:
            yield each[self.ASSIGNMENTS]

    def score(
        self, input_fn: Callable[[], Any] | None = None, batch_size: int | None = None,
        steps: int | None = None,
    ) -> Any:  # fmt: skip
        """Return the logarithm of the sum of the densities at the points of the last batch."""
        found = self.evaluate(input_fn=input_fn, batch_size=batch_size, steps=steps)
        return np.logaddexp.reduce(np.ravel(found[self.SCORES]))

    def weights(self) -> Any:
        """Return the weight of each cluster. Raises ValueError if the model is not trained."""
        return self.get_variable_value(_Names.CLUSTERS_WEIGHT)

    def clusters(self) -> Any:
        """Return the center of each cluster, a row for each. Raises as `weights`."""
        return np.squeeze(self.get_variable_value(_Names.CLUSTERS_VARIABLE), 1)

    def covariances(self) -> Any:
        """Return the covariances of the clusters: matrices, or rows of variances.

        Raises as `weights`.
        """
        return self.get_variable_value(_Names.CLUSTERS_COVS_VARIABLE)


def _joined(features: Any) -> Any:
    if isinstance(features, dict):
        return array_ops.concat([features[key] for key in sorted(features)], 1)
    return features


def _last(scores: Any) -> tuple[Any, Any]:
    """Return a metric whose value is that of the last batch."""
    key = collections.GraphKeys.LOCAL_VARIABLES
    held = variables.Variable(
        np.zeros(0, np.float32), trainable=False, collections=[key], validate_shape=False
    )
    return held, state_ops.assign(held, scores, validate_shape=False)
