"""`ragged[...]` (python/ops/ragged/ragged_getitem.py)."""

from collections.abc import Iterator
from typing import Any

from capstan.api import cond_ops, gather_ops, math_ops
from capstan.api.ragged import gather, ranges, tensor
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_ALL = slice(None, None, None)


def item(ragged: Any, key: Any) -> Any:
    """Return the part of a RaggedTensor that a subscript selects.

    `key` is an integer, a scalar tensor, a slice, an ellipsis, None (a new axis), or a tuple of
    these. Axes before the last ragged one may be sliced, but only axis 0 takes an integer: the rows
    of a ragged axis need not have such an element.

    Raises:
        TypeError: the bounds of a slice are not integers.
        ValueError: an integer selects from a ragged axis.
        IndexError: there are more indices than axes.
    """
    keys = list(key) if isinstance(key, list | tuple) else [key]
    with scoped(None, "RaggedGetItem", (ragged, *_tensors_in(keys))):
        return _item(ragged, keys)


def _tensors_in(key: Any) -> Iterator[graphs.Tensor]:
    if isinstance(key, graphs.Tensor):
        yield key
    if isinstance(key, slice):
        key = [key.start, key.stop, key.step]
    if isinstance(key, list | tuple):
        for each in key:
            yield from _tensors_in(each)


def _item(ragged: Any, keys: list[Any]) -> Any:
    if not keys:
        return ragged
    first, rest = keys[0], keys[1:]
    if first is Ellipsis:
        return _item(ragged, _expanded(keys, ragged.shape.ndims))
    if first is None:
        inner = _item(ragged, rest)
        if not tensor.is_ragged(inner):
            return raw.ExpandDims(inner, 0)
        return tensor.rows_of(inner, raw.Pack([0, inner.nrows()]))
    if isinstance(first, slice):
        return _inner(_sliced_rows(ragged, first), rest)
    start, limit = ragged.row_splits[:-1][first], ragged.row_splits[1:][first]
    row = ragged.values[start:limit]
    return row[tuple(rest)] if rest else row


def _sliced_rows(ragged: Any, key: slice) -> Any:
    if key == _ALL:
        return ragged
    starts, limits = ragged.row_splits[:-1][key], ragged.row_splits[1:][key]
    is_contiguous = key.step is None or (isinstance(key.step, int) and key.step == 1)
    if not is_contiguous:
        return _ranges(starts, limits, 1, ragged.values)
    # Without rows, there is only the split 0.
    zero = raw.Fill([1], raw.Cast(0, DstT=ragged.row_splits.dtype))
    splits = raw.ConcatV2([zero[raw.Size(starts) :], starts[:1], limits], 0)
    return tensor.rows_of(ragged.values[splits[0] : splits[-1]], splits - splits[0])


def _inner(ragged: Any, keys: list[Any]) -> Any:
    """Select from the axes after axis 0."""
    if not keys:
        return ragged
    if not tensor.is_ragged(ragged):
        return ragged[(_ALL, *keys)]
    first, rest = keys[0], keys[1:]
    if first is Ellipsis:
        return _inner(ragged, _expanded(keys, ragged.values.shape.ndims))
    if first is None:
        inner = _inner(ragged, rest)
        return tensor.rows_of(inner, raw.Range(0, inner.nrows() + 1, 1))
    if not isinstance(first, slice):
        raise ValueError(  # noqa: TRY004 - as in TensorFlow
            "Cannot index into an inner ragged dimension."
        )
    if first != _ALL:
        starts, limits = _bounds(ragged, first)
        ragged = _ranges(starts, limits, first.step, ragged.values)
    return ragged.with_values(_inner(ragged.values, rest))


def _bounds(ragged: Any, key: slice) -> tuple[Any, Any]:
    """Return where the slice of each row begins and ends in the values."""
    starts, limits = ragged.row_splits[:-1], ragged.row_splits[1:]
    is_reversed = isinstance(key.step, int) and key.step < 0
    if not is_reversed:
        first = starts if key.start is None else _moved(key.start, starts, limits)
        last = limits if key.stop is None else _moved(key.stop, starts, limits)
        return first, last
    # From the last element of the slice down to the first. Both are places after an element.
    first = limits if key.start is None else _moved(key.start, starts, limits, 1)
    last = starts if key.stop is None else _moved(key.stop, starts, limits, 1)
    return first - 1, last - 1


def _moved(offset: Any, starts: Any, limits: Any, extra: int = 0) -> Any:
    """Return the place at `offset`, or `extra` after it, in the bounds of each row.

    A negative offset counts from the end of the row.
    """

    def from_start(offset: Any) -> Any:
        return raw.Minimum(starts + (offset + extra), limits)

    def from_end(offset: Any) -> Any:
        return raw.Maximum(limits + (offset + extra), starts)

    if isinstance(offset, graphs.Tensor):
        offset = math_ops.cast(offset, starts.dtype)
        return cond_ops.cond(offset >= 0, lambda: from_start(offset), lambda: from_end(offset))
    if isinstance(offset, int):
        return from_start(offset) if offset >= 0 else from_end(offset)
    raise TypeError("slice offsets must be integers or None")


def _ranges(starts: Any, limits: Any, step: Any, values: Any) -> Any:
    """Return the rows of the values from each start to below its limit."""
    step = convert.convert_to_tensor(1 if step is None else step, name="step")
    if not step.dtype.is_integer:
        raise TypeError("slice strides must be integers or None")
    dtype = starts.dtype.base_dtype
    places = ranges.range(starts, limits, math_ops.cast(step, dtype), row_splits_dtype=dtype)
    take = gather.gather if tensor.is_ragged(values) else gather_ops.gather
    return places.with_values(take(values, places.values))


def _expanded(keys: list[Any], ndims: int | None) -> list[Any]:
    """Return the keys with an ellipsis at their front replaced by one slice, or by nothing."""
    if ndims is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    count = sum(key is not None for key in keys)
    if count > ndims + 1:
        raise IndexError("Too many indices for RaggedTensor")
    return keys[1:] if count == ndims + 1 else [_ALL, *keys]
