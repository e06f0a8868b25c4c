"""`tf.contrib.cluster_resolver`: the tasks of a cluster, from different sources."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.cluster_resolver import (
    ClusterResolver,
    SimpleClusterResolver,
    SlurmClusterResolver,
    TFConfigClusterResolver,
    TPUClusterResolver,
)
from capstan.api.cluster_resolver import UnionResolver as UnionClusterResolver

__all__ = [
    "ClusterResolver",
    "SimpleClusterResolver",
    "SlurmClusterResolver",
    "TFConfigClusterResolver",
    "TPUClusterResolver",
    "UnionClusterResolver",
]


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.cluster_resolver", name)


def __dir__() -> list[str]:
    return sorted(__all__)
