"""`tf.estimator.tpu`: TPUEstimator and its settings, for programs that also run without TPUs.

Capstan knows no TPUs. A TPUEstimator with `use_tpu=False` trains on CPUs and GPUs.
"""

from typing import Any

from capstan.api.absent import absent
from capstan.estimator.tpu.config import InputPipelineConfig, RunConfig, TPUConfig
from capstan.estimator.tpu.estimator import TPUEstimator
from capstan.estimator.tpu.spec import TPUEstimatorSpec

__all__ = ["InputPipelineConfig", "RunConfig", "TPUConfig", "TPUEstimator", "TPUEstimatorSpec"]


def __getattr__(name: str) -> Any:
    raise absent("tf.estimator.tpu", name)


def __dir__() -> list[str]:
    return sorted(__all__)
