"""`tf.contrib`: the parts that between-graph replication and input pipelines use.

They are `tf.contrib.training` and `tf.contrib.staging`.
"""

from typing import Any

from capstan.api import staging
from capstan.api.absent import absent
from capstan.train import ps_strategy as training

__all__ = ["staging", "training"]


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib", name)
