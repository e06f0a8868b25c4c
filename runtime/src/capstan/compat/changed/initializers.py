"""The initializers of `tf.compat.v2` (python/ops/init_ops_v2.py).

The type of the values is an argument of the call only, and float32 by default.
"""

from typing import Any

from capstan.api import init_ops, scaled_initializers
from capstan.framework import convert
from capstan.keras import initializers
from capstan.keras.initializers import Initializer as Initializer
from capstan.keras.initializers import deserialize as deserialize
from capstan.keras.initializers import get as get
from capstan.keras.initializers import he_normal as he_normal
from capstan.keras.initializers import he_uniform as he_uniform
from capstan.keras.initializers import lecun_normal as lecun_normal
from capstan.keras.initializers import lecun_uniform as lecun_uniform
from capstan.keras.initializers import serialize as serialize


class _Untyped(init_ops.Initializer):
    """An initializer whose configuration has no type."""

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("dtype", None)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> init_ops.Initializer:
        return cls(**{key: value for key, value in config.items() if key != "dtype"})


class Zeros(_Untyped, init_ops.Zeros):
    """Creates zeros."""

    def __init__(self) -> None:
        super().__init__()


class Ones(_Untyped, init_ops.Ones):
    """Creates ones."""

    def __init__(self) -> None:
        super().__init__()


class Constant(_Untyped, init_ops.Constant):
    """Creates a constant from a value or a list, of the type of the value by default."""

    def __init__(self, value: Any = 0) -> None:
        super().__init__(value)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return convert.constant(self.value, dtype, shape=shape)

    def get_config(self) -> dict[str, Any]:
        return {"value": self.value}


class RandomNormal(_Untyped, initializers.RandomNormal):
    """Creates normally distributed values."""

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(mean, stddev, seed)


class TruncatedNormal(_Untyped, initializers.TruncatedNormal):
    """Creates normally distributed values within two standard deviations of the mean."""

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(mean, stddev, seed)


class RandomUniform(_Untyped, initializers.RandomUniform):
    """Creates uniformly distributed values in [minval, maxval)."""

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None) -> None:
        super().__init__(minval, maxval, seed)


class VarianceScaling(_Untyped, init_ops.VarianceScaling):
    """Creates random values whose variance is `scale` divided by the fan."""

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ) -> None:
        super().__init__(scale, mode, distribution, seed)


class Orthogonal(_Untyped, init_ops.Orthogonal):
    """Creates an orthogonal matrix times `gain`."""

    def __init__(self, gain: float = 1.0, seed: int | None = None) -> None:
        super().__init__(gain, seed)


class Identity(_Untyped, scaled_initializers.Identity):
    """Creates an identity matrix times `gain`."""

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain)


class GlorotUniform(VarianceScaling):
    """Creates uniformly distributed values, whose variance is 1 divided by the average fan."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed}


class GlorotNormal(VarianceScaling):
    """Creates normally distributed values, whose variance is 1 divided by the average fan."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed}


constant = Constant
glorot_normal = GlorotNormal
glorot_uniform = GlorotUniform
identity = Identity
ones = Ones
orthogonal = Orthogonal
zeros = Zeros
