"""Random tensors and variables of `tf.keras.backend` (python/keras/backend.py).

The type is `floatx()` by default. Without a seed, NumPy's generator draws one, so `np.random.seed`
decides which numbers a program gets.
"""

from typing import Any

import numpy as np

from capstan.api import creation_ops, gather_ops, matrix_ops, random_ops
from capstan.api.layers import settings
from capstan.core import dtypes
from capstan.keras import backend_variables


def _kind(dtype: Any) -> dtypes.DType:
    return dtypes.as_dtype(dtype or settings.SETTINGS.floatx)


def _seed(seed: int | None) -> int:
    return int(np.random.randint(10**7)) if seed is None else seed


def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Any:
    """Return normally distributed numbers."""
    return random_ops.random_normal(shape, mean, stddev, _kind(dtype), _seed(seed))


def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Any:
    """Return numbers from `minval` to `maxval`."""
    return random_ops.random_uniform(shape, minval, maxval, _kind(dtype), _seed(seed))


def truncated_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Any:
    """Return normally distributed numbers that are at most two deviations from the mean."""
    return random_ops.truncated_normal(shape, mean, stddev, _kind(dtype), _seed(seed))


def random_binomial(shape: Any, p: float = 0.0, dtype: Any = None, seed: int | None = None) -> Any:
    """Return 1 with the probability `p`, and else 0."""
    kind = _kind(dtype)
    drawn = random_ops.random_uniform(shape, dtype=kind, seed=_seed(seed))
    return gather_ops.where(
        drawn <= p, creation_ops.ones(shape, dtype=kind), creation_ops.zeros(shape, dtype=kind)
    )


def random_uniform_variable(
    shape: Any,
    low: float,
    high: float,
    dtype: Any = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """Return a variable with initial numbers from `low` to `high`."""
    value = random_uniform(shape, low, high, dtype, seed)
    return backend_variables.variable(value, dtype, name)


def random_normal_variable(
    shape: Any,
    mean: float,
    scale: float,
    dtype: Any = None,
    name: str | None = None,
    seed: int | None = None,
) -> Any:
    """Return a variable with normally distributed initial numbers of the deviation `scale`."""
    value = random_normal(shape, mean, scale, dtype, seed)
    return backend_variables.variable(value, dtype, name)


def eye(size: int, dtype: Any = None, name: str | None = None) -> Any:
    """Return a variable whose initial value is the identity matrix."""
    return backend_variables.variable(matrix_ops.eye(size, dtype=_kind(dtype)), dtype, name)
