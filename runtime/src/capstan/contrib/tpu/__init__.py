"""`tf.contrib.tpu`: TPUEstimator and its settings, for programs that also run without TPUs.

Capstan knows no TPUs. A TPUEstimator with `use_tpu=False` trains on CPUs and GPUs.
"""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.tpu.bfloat16 import bfloat16_scope as bfloat16_scope
from capstan.contrib.tpu.config import InputPipelineConfig as InputPipelineConfig
from capstan.contrib.tpu.config import RunConfig as RunConfig
from capstan.contrib.tpu.config import TPUConfig as TPUConfig
from capstan.contrib.tpu.estimator import TPUEstimator as TPUEstimator
from capstan.contrib.tpu.spec import TPUEstimatorSpec as TPUEstimatorSpec
from capstan.core import alias

__all__ = [
    "InputPipelineConfig",
    "RunConfig",
    "TPUConfig",
    "TPUEstimator",
    "TPUEstimatorSpec",
    "bfloat16_scope",
]

alias.grow(
    __name__,
    {
        "python.tpu.bfloat16": ("capstan.contrib.tpu.bfloat16",),
        "python.tpu.tpu_config": ("capstan.contrib.tpu.config",),
        "python.tpu.tpu_estimator": ("capstan.contrib.tpu.estimator", "capstan.contrib.tpu.spec"),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.tpu", name)


def __dir__() -> list[str]:
    return sorted(__all__)
