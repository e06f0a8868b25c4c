"""`tf.keras.layers` that add noise during training (python/keras/layers/noise.py).

Without `training`, the learning phase decides whether there is noise.
"""

from typing import Any

from capstan.api import math_ops, random_ops
from capstan.framework.raw import raw
from capstan.keras import built_in, learning

_LEAST = -1.7580993408473766
"""The least value of SELU: -alpha * scale (https://arxiv.org/abs/1706.02515)."""


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


class AlphaDropout(built_in.BuiltIn):
    """Sets a share `rate` of the inputs to the smallest value of SELU, and keeps mean and variance.

    That is, values of mean 0 and variance 1 keep them. `noise_shape` is the shape of the choice,
    which is broadcast.
    """

    supports_masking = True

    def __init__(
        self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not 0 < self.rate < 1:
            return inputs

        def dropped() -> Any:
            shape = self.noise_shape or raw.Shape(inputs)
            drawn = random_ops.random_uniform(shape, dtype=inputs.dtype, seed=self.seed)
            kept = math_ops.cast(drawn >= self.rate, inputs.dtype)
            factor = ((1 - self.rate) * (1 + self.rate * _LEAST**2)) ** -0.5
            return factor * (inputs * kept + _LEAST * (1 - kept)) - factor * _LEAST * self.rate

        return learning.in_train_phase(dropped, lambda: raw.Identity(inputs), training)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal layer, without the shape and the seed."""
        config = super().get_config()
        return {name: config[name] for name in config if name not in ("noise_shape", "seed")}
