"""`tf.distribute.experimental.ParameterServerStrategy`, which estimators take.

Source: tensorflow/python/distribute/parameter_server_strategy.py of 2019.
"""

from typing import Any

from capstan.api import cluster_resolver as resolvers
from capstan.core import cluster

__all__ = ["ParameterServerStrategy"]


class ParameterServerStrategy:
    """Says that an estimator trains on parameter servers, each worker at its own pace.

    Estimators train so with and without a strategy. Give the strategy to
    `tf.estimator.RunConfig(train_distribute=...)`. TF_CONFIG must describe the cluster. Variables
    are spread over the ps tasks in turn. A worker trains on one device: its first GPU, or its CPUs.
    Start a worker for each GPU. TensorFlow lets a worker use all GPUs of its machine.

    Nothing else takes a strategy: it has no `scope`. It never changes, and threads may share it.

    Raises:
        ValueError: `cluster_resolver` has another cluster than TF_CONFIG, or no cluster.
    """

    def __init__(self, cluster_resolver: Any = None) -> None:
        if cluster_resolver is None:
            return
        given = cluster.ClusterSpec(cluster_resolver.cluster_spec())
        if not given:
            raise ValueError("Cluster spec must be non-empty in `cluster_resolver`.")
        found = resolvers.TFConfigClusterResolver().cluster_spec()
        if given != found:
            other = f"names {found.as_dict()}" if found else "is not set or names no cluster"
            raise ValueError(
                "cluster_resolver must have the cluster of TF_CONFIG, because estimators find the "
                f"tasks there. It has {given.as_dict()}, and TF_CONFIG {other}. Set TF_CONFIG to "
                "the cluster of cluster_resolver."
            )

    @property
    def num_replicas_in_sync(self) -> int:
        """1: no worker waits for the gradients of another worker."""
        return 1

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"'ParameterServerStrategy' has no attribute {name!r}: Capstan's estimators take the "
            "strategy, and nothing else does. Place variables with tf.train.replica_device_setter."
        )
