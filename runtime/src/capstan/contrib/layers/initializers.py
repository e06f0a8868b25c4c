"""The initializers of `tf.contrib.layers` (contrib/layers/python/layers/initializers.py)."""

from typing import Any

from capstan.api import init_ops
from capstan.core import dtypes


class _Normal(init_ops.Initializer):
    """Creates truncated normal values with the variance 1.3 * factor / fan, as contrib does."""

    def __init__(self, factor: float, mode: str, seed: int | None, dtype: Any) -> None:
        scale = 1.3 * factor * init_ops.TRUNCATED_DEVIATION**2  # `VarianceScaling` divides by it
        self._inner = init_ops.VarianceScaling(scale, mode, "truncated_normal", seed, dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return self._inner(shape, dtype, partition_info)


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = dtypes.float32,
) -> init_ops.Initializer:
    """Return an initializer of values whose variance is `factor` divided by the fan.

    Raises:
        TypeError: `dtype` is not a floating-point type, or `mode` is unknown.
    """
    if not dtypes.as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")
    if uniform:
        return init_ops.VarianceScaling(factor, mode.lower(), "uniform", seed, dtype)
    return _Normal(factor, mode.lower(), seed, dtype)


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = dtypes.float32
) -> init_ops.Initializer:
    """Return the initializer of Glorot and Bengio, with uniform or normal values."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer
XAVIER = xavier_initializer()
"""The default initializer of weights."""
