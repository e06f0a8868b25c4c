"""`tf.tpu`: what programs for TPUs also use without TPUs."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.bfloat16 import bfloat16_scope as bfloat16_scope
from capstan.api.tpu_replicas import cross_replica_sum as cross_replica_sum
from capstan.api.tpu_replicas import outside_compilation as outside_compilation
from capstan.core import public
from capstan.train.cross_shard_optimizer import CrossShardOptimizer as CrossShardOptimizer


def __getattr__(name: str) -> Any:
    raise absent("tf.tpu", name)


def __dir__() -> list[str]:
    return public.names(globals())
