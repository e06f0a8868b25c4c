"""Ops that producers of input use: they count epochs and shuffle."""

from typing import Any

from capstan.core import dtypes
from capstan.framework import random_seed
from capstan.framework.raw import raw

__all__ = ["count_up_to", "random_shuffle"]


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Any:
    """Add 1 to a scalar variable of type int32 or int64, and return its value before that.

    The operation fails with OutOfRangeError, and changes nothing, if the variable has reached
    `limit`.
    """
    handle = getattr(ref, "handle", ref)
    if getattr(handle, "dtype", None) is dtypes.resource:
        kind = ref.dtype.base_dtype
        return raw.ResourceCountUpTo(handle, limit=limit, T=kind, name=name)
    return raw.CountUpTo(ref, limit=limit, name=name)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Any:
    """Return the slices of a tensor along axis 0 in random order.

    With a seed, the order is the order of TensorFlow with the same seeds.
    """
    first, second = random_seed.get_seed(seed)
    return raw.RandomShuffle(value, seed=first or 0, seed2=second or 0, name=name)
