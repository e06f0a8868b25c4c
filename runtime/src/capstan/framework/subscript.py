"""`tensor[...]`: basic indexing, translated to StridedSlice (python/ops/array_ops.py).

A slice of a variable has a method `assign`, which changes the slice in the variable.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.framework import convert, masking
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_LIMITS = np.iinfo(np.int32)


def item(tensor: Any, key: Any) -> Any:
    """Return the part of `tensor` that a subscript selects. `tensor` may be a variable.

    `key` is an integer, a scalar tensor, a slice of either, an ellipsis, None (a new axis), or a
    tuple of these. Integers remove their axis. A key that is a tensor or an array of bool is a
    mask, as for `tf.boolean_mask`.

    Raises:
        TypeError: the key is of another kind.
        ValueError: an index is outside its axis, there are more indices than axes, or the shape of
            a mask does not match.
    """
    if _is_mask(key):
        return masking.boolean_mask(tensor, key)
    keys = key if isinstance(key, tuple) else (key,)
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks = dict.fromkeys(
        ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
    )
    for index, part in enumerate(keys):
        first, last, step, flags = _bounds(part)
        begin.append(first)
        end.append(last)
        strides.append(step)
        for flag in flags:
            masks[flag] |= 1 << index
    graph = graphs.graph_of((tensor, begin, end, strides))
    with graph.as_default(), graph.name_scope("strided_slice") as scope:
        bounds = _one_type(
            (_vector(begin, "stack"), _vector(end, "stack_1"), _vector(strides, "stack_2"))
        )
        part = raw.StridedSlice(tensor, *bounds, **masks, name=scope)
    if hasattr(tensor, "_strided_slice_assign"):
        make_assignable(part, tensor, bounds, masks, f"{scope}_assign")
    return part


def make_assignable(
    part: graphs.Tensor, variable: Any, bounds: Sequence[Any], masks: Mapping[str, int], name: str
) -> None:
    """Give `part`, a slice of `variable`, the method `assign`.

    `bounds` are the begin, the end and the strides of the slice. `name` is the default name of the
    operation that changes the variable.
    """

    default_name = name

    def assign(val: Any, name: str | None = None) -> Any:
        """Return the variable after `val` was assigned to the slice. `val` may be broadcast.

        The result is a reference, or, for a resource variable, a variable whose reads run after
        the change.
        """
        return variable._strided_slice_assign(bounds, val, masks, name or default_name)

    part.assign = assign


def _is_mask(key: Any) -> bool:
    """Return whether a key selects by bool: a tensor, an array or a bool of Python."""
    if isinstance(key, graphs.Tensor):
        return key.dtype.base_dtype is dtypes.bool_
    return isinstance(key, bool) or (isinstance(key, np.ndarray) and key.dtype == np.bool_)


def _bounds(key: Any) -> tuple[Any, Any, Any, tuple[str, ...]]:
    """Return begin, end and stride of one part of a subscript, and the masks that it sets."""
    if key is Ellipsis:
        return 0, 0, 1, ("ellipsis_mask",)
    if key is None:
        return 0, 0, 1, ("new_axis_mask",)
    if isinstance(key, slice):
        flags = (("begin_mask",) if key.start is None else ()) + (
            ("end_mask",) if key.stop is None else ()
        )
        return (
            0 if key.start is None else _number(key.start),
            0 if key.stop is None else _number(key.stop),
            1 if key.step is None else _number(key.step),
            flags,
        )
    number = _number(key)
    return number, number + 1, 1, ("shrink_axis_mask",)


def _number(key: Any) -> Any:
    """Return an index as an integer or as a scalar tensor of integers."""
    if isinstance(key, graphs.Tensor) or hasattr(key, "_as_tensor"):
        if key.dtype.is_integer and key.shape.ndims in (None, 0):
            return convert.convert_to_tensor(key)
    elif hasattr(key, "__index__") and not isinstance(key, bool | np.bool_):
        return key.__index__()
    elif getattr(key, "value", None) is not None and isinstance(key.value, int):
        return key.value
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/"
        f"tf.int64 tensors are valid indices, got {key!r}"
    )


def _vector(numbers: list[Any], name: str) -> Any:
    if any(isinstance(number, graphs.Tensor) for number in numbers):
        tensors = [number for number in numbers if isinstance(number, graphs.Tensor)]
        dtype = tensors[0].dtype.base_dtype
        return raw.Pack([convert.convert_to_tensor(n, dtype) for n in numbers], name=name)
    array = np.array(numbers, np.int64)
    fits = np.all((array >= _LIMITS.min) & (array <= _LIMITS.max))
    return convert.constant(array.astype(np.int32) if fits else array, name=name)


def _one_type(bounds: tuple[Any, ...]) -> list[Any]:
    kinds = {bound.dtype.base_dtype for bound in bounds}
    if len(kinds) == 1:
        return list(bounds)
    widest = max(kinds, key=lambda dtype: dtype.size)
    return [
        bound if bound.dtype.base_dtype is widest else raw.Cast(bound, DstT=widest)
        for bound in bounds
    ]
