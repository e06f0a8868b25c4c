"""Random tensors that depend only on their seeds (python/ops/stateless_random_ops.py).

Every step gives the same numbers, and they are TensorFlow's numbers. `seed` holds two integers.
"""

from typing import Any

from capstan.api import random_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert
from capstan.framework.raw import raw


def stateless_random_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Any:
    """Return uniformly distributed numbers in [minval, maxval). `maxval` is 1 for floats.

    Raises:
        ValueError: the dtype is integer and `maxval` is missing, or the dtype is not supported.
    """
    kind = random_ops.uniform_dtype(dtype)
    if maxval is None:
        if kind.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {kind!r}")
        maxval = 1
    with scoped(name, "stateless_random_uniform", (shape, seed, minval, maxval)) as scope:
        sizes = random_ops.sizes(shape)
        low = convert.convert_to_tensor(minval, kind, "min")
        high = convert.convert_to_tensor(maxval, kind, "max")
        if kind.is_integer:
            return raw.StatelessRandomUniformInt(sizes, seed, low, high, name=scope)
        drawn = raw.StatelessRandomUniform(sizes, seed, dtype=kind)
        return raw.Add(drawn * (high - low), low, name=scope)


def stateless_random_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Any:
    """Return normally distributed numbers."""
    with scoped(name, "stateless_random_normal", (shape, seed, mean, stddev)) as scope:
        return _moved(raw.StatelessRandomNormal, shape, seed, mean, stddev, dtype, scope)


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Any:
    """Return normally distributed numbers within two standard deviations of the mean."""
    with scoped(name, "stateless_truncated_normal", (shape, seed, mean, stddev)) as scope:
        return _moved(raw.StatelessTruncatedNormal, shape, seed, mean, stddev, dtype, scope)


def stateless_multinomial(
    logits: Any,
    num_samples: Any,
    seed: Any,
    output_dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Any:
    """Draw classes with the probabilities softmax(logits), for each row of logits.

    The result has `num_samples` classes for each row.
    """
    with scoped(name, "stateless_multinomial", (logits, seed)):
        return raw.StatelessMultinomial(
            logits, num_samples, seed, output_dtype=dtypes.as_dtype(output_dtype)
        )


def stateless_categorical(
    logits: Any,
    num_samples: Any,
    seed: Any,
    dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Any:
    """Do what `stateless_multinomial` does."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name or "stateless_categorical")


def _moved(add: Any, shape: Any, seed: Any, mean: Any, stddev: Any, dtype: Any, scope: str) -> Any:
    kind = dtypes.as_dtype(dtype)
    sizes = random_ops.sizes(shape)
    centre = convert.convert_to_tensor(mean, kind, "mean")
    width = convert.convert_to_tensor(stddev, kind, "stddev")
    return raw.Add(add(sizes, seed, dtype=kind) * width, centre, name=scope)
