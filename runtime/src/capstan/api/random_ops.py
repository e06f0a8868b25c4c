"""TensorFlow 1's random tensors (python/ops/random_ops.py).

Every step draws new numbers. With a graph seed (`tf.set_random_seed`) or an op seed, every run of
the program draws the same numbers on devices of the same type. These are not the numbers that
TensorFlow draws.
"""

from typing import Any

import numpy as np

from capstan.api import creation_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert, random_seed
from capstan.framework.raw import raw

__all__ = [
    "multinomial", "random_gamma", "random_normal", "random_poisson", "random_uniform",
    "set_random_seed", "truncated_normal",
]  # fmt: skip

set_random_seed = random_seed.set_random_seed


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return uniformly distributed numbers in [minval, maxval). `maxval` is 1 for floats.

    Raises:
        ValueError: the dtype is integer and `maxval` is missing, or the dtype is not supported.
    """
    kind = uniform_dtype(dtype)
    if maxval is None:
        if kind.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {kind!r}")
        maxval = 1
    with scoped(name, "random_uniform", (shape, minval, maxval)) as scope:
        dims = sizes(shape)
        low = convert.convert_to_tensor(minval, kind, "min")
        high = convert.convert_to_tensor(maxval, kind, "max")
        numbers = seeds(seed)
        if kind.is_integer:
            return raw.RandomUniformInt(dims, low, high, **numbers, name=scope)
        drawn = raw.RandomUniform(dims, dtype=kind, **numbers)
        return raw.Add(drawn * (high - low), low, name=scope)


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return normally distributed numbers.

    Raises:
        ValueError: the dtype is not supported.
    """
    return _normal("RandomStandardNormal", "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return normally distributed numbers within two standard deviations of the mean.

    Raises:
        ValueError: the dtype is not supported.
    """
    return _normal("TruncatedNormal", "truncated_normal", shape, mean, stddev, dtype, seed, name)


def parameterized_truncated_normal(
    shape: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Return normally distributed numbers between bounds, which may be far from the mean.

    Each parameter is a scalar, or a vector of a number for each row of the result. One bound of a
    row may be infinite.

    Raises:
        ValueError: the dtype is not supported.
    """
    kind = _checked_dtype(dtype, _FLOATS)
    given = {"means": means, "stddevs": stddevs, "minvals": minvals, "maxvals": maxvals}
    with scoped(name, "parameterized_truncated_normal", (shape, *given.values())):
        dims = sizes(shape)
        parameters = [convert.convert_to_tensor(each, kind, key) for key, each in given.items()]
        return raw.ParameterizedTruncatedNormal(dims, *parameters, **seeds(seed))


def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw numbers of gamma distributions, an array of `shape` for each pair of alpha and beta.

    `alpha` is the shape of a distribution, and `beta` is the inverse of its scale, 1 by default.
    They broadcast. The result has the shape `shape + (alpha + beta).shape`, and no number is below
    the smallest normal number of its dtype. It has gradients by alpha and by beta.

    Raises:
        ValueError: the dtype is not supported.
    """
    kind = _checked_dtype(dtype, _CLASSIC)
    with scoped(name, "random_gamma", (shape, alpha, beta)):
        dims = sizes(shape)
        form = convert.convert_to_tensor(alpha, kind, "alpha")
        rate = convert.convert_to_tensor(1 if beta is None else beta, kind, "beta")
        drawn = raw.RandomGamma(dims, form + creation_ops.zeros_like(rate), **seeds(seed))
        least = np.finfo(kind.as_numpy_dtype).tiny
        return raw.Maximum(least, drawn / rate)


def random_poisson(
    lam: Any,
    shape: Any,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw numbers of Poisson distributions, an array of `shape` for each rate in `lam`.

    The result has the shape `shape + lam.shape`. Its dtype may be an integer type.

    Raises:
        ValueError: the dtype is not supported.
    """
    kind = _checked_dtype(dtype, (*_CLASSIC, dtypes.int32, dtypes.int64))
    with scoped(name, "random_poisson", (lam, shape)):
        return raw.RandomPoissonV2(sizes(shape), lam, dtype=kind, **seeds(seed))


def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Any:
    """Draw classes with the probabilities softmax(logits), for each row of logits.

    The result has `num_samples` classes for each row, of dtype int64 or `output_dtype`.
    """
    kind = dtypes.int64 if output_dtype is None else dtypes.as_dtype(output_dtype)
    with scoped(name, "multinomial", (logits,)):
        return raw.Multinomial(logits, num_samples, output_dtype=kind, **seeds(seed))


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Do what `multinomial` does. `dtype` is int64 by default."""
    return multinomial(logits, num_samples, seed, name or "categorical", dtype)


_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_CLASSIC = (dtypes.float16, dtypes.float32, dtypes.float64)


def _normal(
    op: str,
    default: str,
    shape: Any,
    mean: Any,
    stddev: Any,
    dtype: Any,
    seed: int | None,
    name: str | None,
) -> Any:
    kind = _checked_dtype(dtype, _FLOATS)
    with scoped(name, default, (shape, mean, stddev)) as scope:
        dims = sizes(shape)
        centre = convert.convert_to_tensor(mean, kind, "mean")
        width = convert.convert_to_tensor(stddev, kind, "stddev")
        drawn = getattr(raw, op)(dims, dtype=kind, **seeds(seed))
        return raw.Add(drawn * width, centre, name=scope)


def _checked_dtype(dtype: Any, supported: tuple[dtypes.DType, ...]) -> dtypes.DType:
    kind = dtypes.as_dtype(dtype).base_dtype
    if kind not in supported:
        names = ", ".join(known.name for known in supported)
        raise ValueError(f"Invalid dtype {kind!r}: random numbers can be {names}")
    return kind


def uniform_dtype(dtype: Any) -> dtypes.DType:
    """Return the type of uniformly distributed numbers.

    Raises:
        ValueError: the dtype is not supported.
    """
    return _checked_dtype(dtype, (*_FLOATS, dtypes.int32, dtypes.int64))


def sizes(shape: Any) -> Any:
    """Return a shape as a tensor of integers."""
    # The dtype of an empty list would be float32. A large size needs int64.
    is_empty = isinstance(shape, list | tuple) and not shape
    return convert.convert_to_tensor(shape, dtypes.int32 if is_empty else None, name="shape")


def seeds(seed: int | None) -> dict[str, int]:
    """Return the attributes of a random op: its two seeds, or zeros for fresh numbers."""
    first, second = random_seed.get_seed(seed)
    return {"seed": first or 0, "seed2": second or 0}
