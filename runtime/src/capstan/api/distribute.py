"""`tf.distribute`: the cluster of a task, and the strategy that trains on parameter servers."""

from typing import Any

from capstan.api import cluster_resolver
from capstan.api import distribute_experimental as experimental
from capstan.api.absent import absent

__all__ = ["cluster_resolver", "experimental"]


def __getattr__(name: str) -> Any:
    raise absent("tf.distribute", name)
