"""`tf.keras.initializers` (python/keras/initializers.py).

The classes are those of `tf.initializers`. The random ones have other default arguments.
"""

from typing import Any

from capstan.api import init_ops, scaled_initializers
from capstan.api.absent import absent
from capstan.api.init_ops import Constant as Constant
from capstan.api.init_ops import Initializer as Initializer
from capstan.api.init_ops import Ones as Ones
from capstan.api.init_ops import Orthogonal as Orthogonal
from capstan.api.init_ops import VarianceScaling as VarianceScaling
from capstan.api.init_ops import Zeros as Zeros
from capstan.api.scaled_initializers import Identity as Identity
from capstan.api.scaled_initializers import he_normal as he_normal
from capstan.api.scaled_initializers import he_uniform as he_uniform
from capstan.api.scaled_initializers import lecun_normal as lecun_normal
from capstan.api.scaled_initializers import lecun_uniform as lecun_uniform
from capstan.core import dtypes
from capstan.keras import objects


class RandomNormal(init_ops.RandomNormal):
    """Creates normally distributed values, by default with the standard deviation 0.05."""

    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 0.05,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


class TruncatedNormal(init_ops.TruncatedNormal):
    """Creates normally distributed values within two standard deviations, by default of 0.05."""

    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 0.05,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


class RandomUniform(init_ops.RandomUniform):
    """Creates uniformly distributed values, by default in [-0.05, 0.05)."""

    def __init__(
        self,
        minval: Any = -0.05,
        maxval: Any = 0.05,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(minval, maxval, seed, dtype)


zero = zeros = Zeros
one = ones = Ones
constant = Constant
uniform = random_uniform = RandomUniform
normal = random_normal = RandomNormal
truncated_normal = TruncatedNormal
identity = Identity
orthogonal = Orthogonal
glorot_normal = init_ops.GlorotNormal
glorot_uniform = init_ops.GlorotUniform
_OTHER_NAMES = {
    "GlorotNormal": glorot_normal,
    "GlorotUniform": glorot_uniform,
    "VarianceScaling": VarianceScaling,
    **{name: getattr(scaled_initializers, name) for name in scaled_initializers.__all__},
}

serialize = objects.serialize_keras_object
deserialize = objects.deserializer("initializer", lambda: {**globals(), **_OTHER_NAMES})
get = objects.getter("initializer", lambda: {**globals(), **_OTHER_NAMES})


def __getattr__(name: str) -> Any:
    raise absent("tf.keras.initializers", name)
