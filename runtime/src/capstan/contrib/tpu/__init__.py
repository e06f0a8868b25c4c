"""`tf.contrib.tpu`: TPUEstimator and its settings, for programs that also run without TPUs.

Capstan knows no TPUs. A TPUEstimator with `use_tpu=False` trains on CPUs and GPUs.
"""

from typing import Any

from capstan.api.absent import absent
from capstan.api.bfloat16 import bfloat16_scope as bfloat16_scope
from capstan.api.tpu_replicas import cross_replica_sum as cross_replica_sum
from capstan.api.tpu_replicas import outside_compilation as outside_compilation
from capstan.api.tpu_replicas import repeat as repeat
from capstan.api.tpu_replicas import while_loop as while_loop
from capstan.core import alias
from capstan.estimator.tpu import InputPipelineConfig as InputPipelineConfig
from capstan.estimator.tpu import RunConfig as RunConfig
from capstan.estimator.tpu import TPUConfig as TPUConfig
from capstan.estimator.tpu import TPUEstimator as TPUEstimator
from capstan.estimator.tpu import TPUEstimatorSpec as TPUEstimatorSpec
from capstan.train.async_checkpoint import AsyncCheckpointSaverHook as AsyncCheckpointSaverHook
from capstan.train.cross_shard_optimizer import CrossShardOptimizer as CrossShardOptimizer

__all__ = [
    "AsyncCheckpointSaverHook", "CrossShardOptimizer", "InputPipelineConfig", "RunConfig",
    "TPUConfig", "TPUEstimator", "TPUEstimatorSpec", "bfloat16_scope", "cross_replica_sum",
    "outside_compilation", "repeat", "while_loop",
]  # fmt: skip

_MODULES = (
    *("async_checkpoint", "bfloat16", "tpu", "tpu_config", "tpu_estimator", "tpu_function"),
    *("tpu_optimizer", "training_loop"),
)
alias.grow(
    __name__,
    {
        "python.ops.tpu_ops": ("capstan.api.tpu_replicas",),
        **{f"python.tpu.{name}": (f"capstan.python.tpu.{name}",) for name in _MODULES},
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.tpu", name)


def __dir__() -> list[str]:
    return sorted(__all__)
