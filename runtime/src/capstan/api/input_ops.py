"""Ops that producers of input use: they count epochs and shuffle."""

from typing import Any

from capstan.api import array_ops, control_flow_ops, math_ops, random_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert, random_seed
from capstan.framework.raw import raw

__all__ = ["count_up_to", "random_crop", "random_shuffle"]


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


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Any:
    """Return a block of shape `size` from a random place in a tensor.

    The step fails with InvalidArgumentError if the tensor is smaller.
    """
    with scoped(name, "random_crop", [value, size]) as scope:
        tensor = convert.convert_to_tensor(value, name="value")
        block = convert.convert_to_tensor(size, dtypes.int32, "size")
        shape = array_ops.shape(tensor)
        fits = reduce_ops.reduce_all(raw.GreaterEqual(shape, block))
        message = ["Need value.shape >= size, got ", shape, block]
        check = control_flow_ops.Assert(fits, message, summarize=1000)
        shape = control_flow_ops.with_dependencies([check], shape)
        limit = shape - block + 1
        draws = random_ops.random_uniform(
            array_ops.shape(shape), maxval=dtypes.int32.max, dtype=dtypes.int32, seed=seed
        )
        return array_ops.slice(tensor, math_ops.floormod(draws, limit), block, name=scope)
