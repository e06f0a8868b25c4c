"""`tf.keras.layers` that add noise during training (python/keras/layers/noise.py).

Without `training`, the learning phase decides whether there is noise.
"""

from typing import Any

from capstan.api import random_ops
from capstan.framework.raw import raw
from capstan.keras import built_in, learning


class GaussianNoise(built_in.BuiltIn):
    """Adds normally distributed noise with the standard deviation `stddev`."""

    supports_masking = True

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev

    def call(self, inputs: Any, training: Any = None) -> Any:
        def noised() -> Any:
            noise = random_ops.random_normal(raw.Shape(inputs), 0.0, self.stddev, inputs.dtype)
            return inputs + noise

        return learning.in_train_phase(noised, lambda: raw.Identity(inputs), training)


class GaussianDropout(built_in.BuiltIn):
    """Multiplies by normally distributed noise of mean 1 and variance rate / (1 - rate)."""

    supports_masking = True

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not 0 < self.rate < 1:
            return inputs

        def noised() -> Any:
            deviation = (self.rate / (1 - self.rate)) ** 0.5
            return inputs * random_ops.random_normal(
                raw.Shape(inputs), 1.0, deviation, inputs.dtype
            )

        return learning.in_train_phase(noised, lambda: raw.Identity(inputs), training)
