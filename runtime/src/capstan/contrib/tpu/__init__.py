"""`tf.contrib.tpu`: TPUEstimator and its settings, for programs that also run without TPUs.

Capstan knows no TPUs. A TPUEstimator with `use_tpu=False` trains on CPUs and GPUs.
"""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.tpu.bfloat16 import bfloat16_scope as bfloat16_scope
from capstan.core import alias
from capstan.estimator.tpu import InputPipelineConfig as InputPipelineConfig
from capstan.estimator.tpu import RunConfig as RunConfig
from capstan.estimator.tpu import TPUConfig as TPUConfig
from capstan.estimator.tpu import TPUEstimator as TPUEstimator
from capstan.estimator.tpu import TPUEstimatorSpec as TPUEstimatorSpec

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
        "python.tpu.tpu_config": ("capstan.estimator.tpu.config",),
        "python.tpu.tpu_estimator": (
            "capstan.estimator.tpu.estimator",
            "capstan.estimator.tpu.spec",
        ),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.tpu", name)


def __dir__() -> list[str]:
    return sorted(__all__)
