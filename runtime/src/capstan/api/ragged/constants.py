"""Ragged constants and placeholders (python/ops/ragged/ragged_factory_ops.py)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.api import creation_ops
from capstan.api.ragged import tensor, value
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """Return nested lists as a RaggedTensor, or as a tensor if there is no ragged axis.

    The first `ragged_rank` axes after axis 0 become ragged, by default all axes but those of
    `inner_shape`. All elements have the same depth.

    Raises:
        TypeError: `pylist` is ragged already, or an element does not fit `dtype`.
        ValueError: the depths of the elements differ, or do not fit `ragged_rank` and
            `inner_shape`.
    """

    def divided(values: Any, splits: list[int]) -> Any:
        ends = convert.constant(splits, dtypes.as_dtype(row_splits_dtype))
        return tensor.RaggedTensor.from_row_splits(values, ends, validate=False)

    def flat(items: Any, shape: Any, name: str = "Const") -> Any:
        return convert.constant(items, dtype, shape, name)

    with scoped(name, "RaggedConstant"):
        return _nested(divided, flat, pylist, ragged_rank, inner_shape)


def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Sequence[int] | None = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """Return nested lists as a RaggedTensorValue, or as an array. See `constant`."""
    if isinstance(dtype, dtypes.DType):
        dtype = dtype.as_numpy_dtype
    splits_type = dtypes.as_dtype(row_splits_dtype).as_numpy_dtype

    def divided(values: Any, splits: list[int]) -> Any:
        return value.RaggedTensorValue(values, np.array(splits, splits_type))

    def flat(items: Any, shape: Any, name: str = "") -> Any:
        array = np.array(items, dtype)
        return array if shape is None else array.reshape(shape)

    return _nested(divided, flat, pylist, ragged_rank, inner_shape)


def placeholder(
    dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None
) -> Any:
    """Return a RaggedTensor that a step must feed, with a RaggedTensorValue.

    `value_shape` is the shape of one value. Without ragged axes, the result is a placeholder for a
    tensor.
    """
    if ragged_rank == 0:
        return creation_ops.placeholder(dtype, value_shape, name)
    with scoped(name, "RaggedPlaceholder"):
        shape = tensor_shape.TensorShape([None]).concatenate(tensor_shape.as_shape(value_shape))
        result: Any = creation_ops.placeholder(dtype, shape, "flat_values")
        for axis in reversed(range(ragged_rank)):
            splits = creation_ops.placeholder(dtypes.int64, [None], f"row_splits_{axis}")
            result = tensor.RaggedTensor(result, splits, internal=True)
        return result


def _nested(
    divided: Callable[[Any, list[int]], Any],
    flat: Callable[..., Any],
    pylist: Any,
    ragged_rank: int | None,
    inner_shape: Sequence[int] | None,
) -> Any:
    """Return `flat` of the elements, divided into rows by `divided` once for each ragged axis."""
    if tensor.is_ragged(pylist):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    if not _is_list(pylist):
        _check_scalar(pylist, ragged_rank, inner_shape)
        return flat(pylist, ())
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank!r}: must be nonnegative")
    depth, deepest = _depths(pylist)
    _check_depth(pylist, depth, deepest, ragged_rank, inner_shape)
    inner_rank = 0 if inner_shape is None else len(inner_shape)
    if ragged_rank == 0 or (ragged_rank is None and deepest - inner_rank < 2):
        return flat(pylist, inner_shape)
    if inner_shape is None:
        inner_shape = () if ragged_rank is None else _inner_shape(pylist, ragged_rank)
    if ragged_rank is None:
        ragged_rank = max(1, deepest - 1 if depth is None else depth - 1 - inner_rank)
    nested, items = [], pylist
    for _ in range(ragged_rank):
        splits, following = [0], []
        for row in items:
            splits.append(splits[-1] + len(row))
            following.extend(row)
        nested.append(splits)
        items = following
    result = flat(items, (len(items), *inner_shape), name="values")
    for splits in reversed(nested):
        result = divided(result, splits)
    return result


def _is_list(item: Any) -> bool:
    if isinstance(item, graphs.Tensor):
        return False
    return isinstance(item, list | tuple) or np.ndim(item) != 0


def _check_scalar(item: Any, ragged_rank: int | None, inner_shape: Sequence[int] | None) -> None:
    if ragged_rank:
        raise ValueError(f"Invalid pylist={item!r}: incompatible with ragged_rank={ragged_rank}")
    if inner_shape:
        raise ValueError(
            f"Invalid pylist={item!r}: incompatible with dim(inner_shape)={len(inner_shape)}"
        )


def _check_depth(
    pylist: Any,
    depth: int | None,
    deepest: int,
    ragged_rank: int | None,
    inner_shape: Sequence[int] | None,
) -> None:
    if depth is not None and deepest > depth:
        raise ValueError(
            f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting"
        )
    if inner_shape is None or ragged_rank is None:
        return
    expected = ragged_rank + len(inner_shape) + 1
    if expected < deepest if depth is None else expected != depth:
        raise ValueError(
            f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and "
            f"dim(inner_shape)={len(inner_shape)}"
        )


def _depths(item: Any) -> tuple[int | None, int]:
    """Return the depth of the elements, or None without elements, and that of the deepest list.

    Raises:
        ValueError: the elements have different depths.
    """
    if not _is_list(item):
        return 0, 0
    depth, deepest = None, 1
    for child in item:
        of_child, deepest_of_child = _depths(child)
        if of_child is not None:
            if depth is not None and depth != of_child + 1:
                raise ValueError("all scalar values must have the same nesting depth")
            depth = of_child + 1
        deepest = max(deepest, deepest_of_child + 1)
    return depth, deepest


def _inner_shape(pylist: Any, ragged_rank: int) -> tuple[int, ...]:
    """Return the shape of the values after the ragged axes.

    Raises:
        ValueError: the values have different shapes, or the lists are not deep enough.
    """
    items = pylist
    for axis in range(ragged_rank):
        if not all(map(_is_list, items)):
            raise ValueError(
                f"pylist has scalar values depth {axis + 1}, but ragged_rank={ragged_rank} "
                f"requires scalar value depth greater than {ragged_rank}"
            )
        items = [child for item in items for child in item]
    shape: list[int] = []
    first: Any = items
    while _is_list(first):
        shape.append(len(first))
        if not len(first):
            break
        first = first[0]
    _check_shape(items, tuple(shape))
    return tuple(shape[1:])


def _check_shape(item: Any, shape: tuple[int, ...]) -> None:
    if _is_list(item) != bool(shape) or (shape and len(item) != shape[0]):
        raise ValueError("inner values have inconsistent shape")
    for child in item if shape else ():
        _check_shape(child, shape[1:])
