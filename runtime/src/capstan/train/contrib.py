"""`tf.contrib`. Only `tf.contrib.training` exists: between-graph replication uses it."""

from typing import Any

from capstan.api.absent import absent
from capstan.train import ps_strategy as training

__all__ = ["training"]


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib", name)
