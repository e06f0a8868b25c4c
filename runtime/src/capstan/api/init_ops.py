"""Initializers create a variable's initial value from its shape (python/ops/init_ops.py)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import random_ops
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

# A value with fewer elements is a constant of the graph. The step computes a larger value.
_MAX_CONSTANT = 1000


class Initializer:
    """Creates initial values.

    For a part of a partitioned variable, `shape` is the shape of the part, and `partition_info` is
    the PartitionInfo.
    """

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        raise TypeError(f"{type(self).__name__} must override __call__ to create initial values")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that create an equal initializer."""
        config = dict(vars(self))
        if "dtype" in config:
            config["dtype"] = config["dtype"].name
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Initializer":
        return cls(**config)


class Zeros(Initializer):
    """Creates zeros, or empty strings for the dtype string."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        kind = dtypes.as_dtype(dtype or self.dtype)
        zero = {dtypes.string: b"", dtypes.bool_: False}.get(kind, 0)
        return _filled(shape, zero, kind, "zeros")


class Ones(Initializer):
    """Creates ones."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        kind = dtypes.as_dtype(dtype or self.dtype)
        return _filled(shape, True if kind.is_bool else 1, kind, "ones")


class Constant(Initializer):
    """Creates a constant from a value or a list. The last value of a short list is repeated."""

    def __init__(
        self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False
    ) -> None:
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self.verify_shape = verify_shape

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return convert.constant(
            self.value, dtype or self.dtype, shape=shape, verify_shape=self.verify_shape
        )


class RandomUniform(Initializer):
    """Creates uniformly distributed values in [minval, maxval). `maxval` is 1 for floats."""

    def __init__(
        self,
        minval: Any = 0,
        maxval: Any = None,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        kind = dtypes.as_dtype(dtype or self.dtype)
        return random_ops.random_uniform(shape, self.minval, self.maxval, kind, seed=self.seed)


class _Normal(Initializer):
    def __init__(
        self,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = _float_type(dtype)


class RandomNormal(_Normal):
    """Creates normally distributed values."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        kind = dtypes.as_dtype(dtype or self.dtype)
        return random_ops.random_normal(shape, self.mean, self.stddev, kind, seed=self.seed)


class TruncatedNormal(_Normal):
    """Creates normally distributed values within two standard deviations of the mean."""

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        kind = dtypes.as_dtype(dtype or self.dtype)
        return random_ops.truncated_normal(shape, self.mean, self.stddev, kind, seed=self.seed)


_DISTRIBUTIONS = ("normal", "truncated_normal", "untruncated_normal", "uniform")

TRUNCATED_DEVIATION = 0.87962566103423978
"""The standard deviation of a normal distribution that is cut off at two standard deviations."""


class VarianceScaling(Initializer):
    """Creates random values whose variance is `scale` divided by the fan.

    `mode` selects the fan. It is the number of a unit's inputs ("fan_in"), the number of its
    outputs ("fan_out"), or the average of both ("fan_avg"). `distribution` is "truncated_normal",
    or "normal" for the same, "untruncated_normal" or "uniform".

    Raises:
        ValueError: the mode or distribution is unknown, or the scale is not positive.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"`scale` must be positive float, but is {scale}")
        if mode not in {"fan_in", "fan_out", "fan_avg"}:
            raise ValueError(f"Invalid `mode` argument: {mode}")
        if distribution.lower() not in _DISTRIBUTIONS:
            raise ValueError(f"Invalid `distribution` argument: {distribution}")
        self.scale = scale
        self.mode = mode
        self.distribution = distribution.lower()
        self.seed = seed
        self.dtype = _float_type(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        kind = dtypes.as_dtype(dtype or self.dtype)
        fan_in, fan_out = fans(_full_shape(shape, partition_info))
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        deviation = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return random_ops.random_normal(shape, 0.0, deviation, kind, seed=self.seed)
        if self.distribution != "uniform":
            deviation /= TRUNCATED_DEVIATION
            return random_ops.truncated_normal(shape, 0.0, deviation, kind, seed=self.seed)
        limit = math.sqrt(3.0 * variance)
        return random_ops.random_uniform(shape, -limit, limit, kind, seed=self.seed)


class UniformUnitScaling(Initializer):
    """Creates uniformly distributed values that preserve the scale of a matmul's input."""

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.factor = factor
        self.seed = seed
        self.dtype = _float_type(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        kind = dtypes.as_dtype(dtype or self.dtype)
        sizes = [size or 0 for size in _full_shape(shape, partition_info)]
        limit = math.sqrt(3 / max(1.0, math.prod(sizes[:-1]))) * self.factor
        return random_ops.random_uniform(shape, -limit, limit, kind, seed=self.seed)


class GlorotUniform(VarianceScaling):
    """The uniform initializer of Glorot (Xavier), the default of `tf.get_variable`."""

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(VarianceScaling):
    """The normal initializer of Glorot (Xavier)."""

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


class Orthogonal(Initializer):
    """Creates a matrix whose rows or columns are orthonormal, whichever are fewer, times `gain`.

    All axes but the last one together are the rows.
    """

    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        self.gain = gain
        self.seed = seed
        self.dtype = _float_type(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        kind = dtypes.as_dtype(dtype or self.dtype)
        sizes: list[Any] = tensor_shape.as_shape(shape).as_list()
        if len(sizes) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        tall = [max(rows, columns), min(rows, columns)]
        q, r = raw.Qr(random_ops.random_normal(tall, dtype=kind, seed=self.seed))
        # The signs of the columns would otherwise depend on the algorithm.
        q = raw.Mul(q, raw.Sign(raw.MatrixDiagPart(r)))
        if rows < columns:
            q = raw.Transpose(q, np.array([1, 0], np.int32))
        return raw.Mul(raw.Reshape(q, np.array(sizes, np.int32)), raw.Cast(self.gain, DstT=kind))


def _filled(shape: Any, value: Any, dtype: dtypes.DType, name: str) -> graphs.Tensor:
    full = tensor_shape.as_shape(shape)
    if (full.num_elements() or 0) < _MAX_CONSTANT:
        return convert.constant(value, dtype, shape=full, name=name)
    filled: graphs.Tensor = raw.Fill(full, convert.constant(value, dtype), name=name)
    return filled


def _full_shape(shape: Any, partition_info: Any) -> Sequence[int | None]:
    """Return the shape of the full variable. The scale of random values depends on this shape."""
    full = shape if partition_info is None else partition_info.full_shape
    sizes: Sequence[int | None] = tensor_shape.as_shape(full).as_list()
    return sizes


def _float_type(dtype: Any) -> dtypes.DType:
    kind = dtypes.as_dtype(dtype)
    if not kind.is_floating:
        raise ValueError(f"Expected floating point type, got {kind}.")
    return kind


def fans(shape: Sequence[int | None]) -> tuple[float, float]:
    """Return the number of inputs and outputs of a unit.

    They are the sizes of the last two axes, each multiplied by the sizes of all other axes.
    """
    sizes = [size or 0 for size in shape]
    if len(sizes) < 2:
        return (float(sizes[0]), float(sizes[0])) if sizes else (1.0, 1.0)
    receptive = math.prod(sizes[:-2])
    return float(sizes[-2] * receptive), float(sizes[-1] * receptive)


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
orthogonal_initializer = Orthogonal
