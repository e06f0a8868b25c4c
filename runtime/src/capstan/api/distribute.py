"""`tf.distribute`. Only `cluster_resolver` exists: it tells a task about its cluster."""

from typing import Any

from capstan.api import cluster_resolver
from capstan.api.absent import absent

__all__ = ["cluster_resolver"]


def __getattr__(name: str) -> Any:
    raise absent("tf.distribute", name)
