"""`tf.keras.mixed_precision.experimental` (python/keras/mixed_precision/experimental)."""

from typing import Any

from capstan.api.absent import absent
from capstan.keras.optimizers.loss_scale_optimizer import LossScaleOptimizer
from capstan.keras.policies import Policy, global_policy, set_policy

__all__ = ["LossScaleOptimizer", "Policy", "global_policy", "set_policy"]


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.mixed_precision.experimental", name)
