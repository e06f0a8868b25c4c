"""Kernels that combine the rows of a tensor that have the same id.

Sources: core/kernels/segment_reduction_ops_impl.h, dynamic_partition_op.cc.
"""

import itertools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import rows, runs
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import beside, is_on_host, on_host, put_rows
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, number


def _starts(ids: Array, count: int) -> Array:
    """Return the place of the first row of each segment.

    Raises:
        InvalidArgumentError: the ids do not match the rows, decrease or are negative.
    """
    if ids.ndim != 1:
        raise invalid(f"segment_ids should be a vector, but got shape {show(ids.shape)}")
    if len(ids) != count:
        raise invalid("segment_ids should be the same size as dimension 0 of input.")
    if not count:
        return np.zeros(0, np.intp)
    if ids[0] < 0 or (ids[1:] < ids[:-1]).any():
        raise _refusal(ids.tolist())
    return runs.first_of_each(ids)


def _refusal(ids: list[int]) -> Exception:
    """Return the error for ids that decrease or are negative. The last id gives the rows."""
    count = ids[-1] + 1
    if count <= 0:
        return invalid("segment ids must be >= 0")
    for current, following in itertools.pairwise(ids):
        if following < current:
            break
        if following > current and not 0 <= current < count:
            return invalid(
                f"Segment id {current} out of range [0, {count}), possibly because 'segment_ids' "
                "input is not sorted."
            )
    return invalid("segment ids are not increasing")


def reduced(
    data: Array, ids: Array, ufunc: np.ufunc, empty: Any, picks: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return one row for each id up to the last, the ids that occur, and their counts of rows.

    `ids` are the ids of the rows of `data`, or of the rows `picks` of `data`, in host memory.
    """
    ids = on_host(ids)
    starts = _starts(ids, len(data) if picks is None else len(picks))
    total = int(ids[-1]) + 1 if len(ids) else 0
    found = ids[starts]
    counts = runs.lengths(starts, len(ids))
    if not len(starts):
        return np.empty_like(data, shape=(0, *data.shape[1:]), order="C"), found, counts
    if is_on_host(data):
        parts = runs.reduced(ufunc, data, starts, counts, picks)
    else:
        parts = ufunc.reduceat(data, beside(starts, data), 0, data.dtype)
    if len(starts) == total:
        return parts, found, counts
    result = np.full_like(data, empty, shape=(total, *data.shape[1:]), order="C")
    result[beside(found, data)] = parts
    return result, found, counts


def _sorted(ufunc: np.ufunc, empty: int) -> Any:
    def reduce(data: Array, ids: Array) -> Array:
        result, found, _ = reduced(data, ids, ufunc, empty)
        if ufunc in _IS_BETTER and _has_nan(data):
            starts = _starts(ids, len(data))
            result[found] = data[starts]
            _compare(result, ids, data, ufunc)
        return result

    return constantly(reduce)


_IS_BETTER: Final[dict[np.ufunc, np.ufunc]] = {np.maximum: np.greater, np.minimum: np.less}


def _has_nan(data: Array) -> bool:
    return data.dtype.kind not in "iub" and bool(np.isnan(data).any())


def _compare(result: Array, ids: Array, values: Array, ufunc: np.ufunc) -> None:
    """Replace the rows `ids` of `result` one by one, unless they are larger or smaller.

    TensorFlow compares in this way. A NaN replaces a number, and the next number replaces the NaN.
    For wide sorted rows, TensorFlow's result also depends on the width of the processor's vectors.
    """
    is_better = _IS_BETTER[ufunc]
    for at, row in zip(ids.tolist(), values, strict=True):
        result[at] = np.where(is_better(result[at], row), result[at], row)


def divided(sums: Array, found: Array, divisors: Array) -> Array:
    """Divide the rows `found` of `sums` by one number each, in place."""
    if sums.dtype.kind == "f" and is_on_host(sums):
        # Most segments of a feature column have one row.
        is_more = divisors != 1
        found, divisors = found[is_more], divisors[is_more]
    shape = (len(found), *(1,) * (sums.ndim - 1))
    quotients = rows.taken(sums, found) / divisors.reshape(shape)
    quotients = np.trunc(quotients) if sums.dtype.kind in "iu" else quotients
    put_rows(sums, found, quotients.astype(sums.dtype, copy=False))
    return sums


def _mean(data: Array, ids: Array) -> Array:
    return divided(*reduced(data, ids, np.add, 0))


def _unsorted(ufunc: np.ufunc, bound: Callable[[Any], Any]) -> Callable[[NodeContext], Function]:
    def make(node: NodeContext) -> Function:
        empty = bound(node.output_dtypes[0])

        def reduce(data: Array, ids: Array, count: Array) -> Array:
            segments = number(count, "num_segments")
            if data.shape[: ids.ndim] != ids.shape:
                raise invalid(
                    f"data.shape = {show(data.shape)} does not start with segment_ids.shape = "
                    f"{show(ids.shape)}"
                )
            flat = on_host(ids).reshape(-1)
            kept = np.flatnonzero(flat >= 0)
            shape = data.shape[ids.ndim :]
            values = data.reshape(ids.size, *shape)[beside(kept, data)]
            result = np.full_like(data, empty, shape=(segments, *shape), order="C")
            if flat.size and flat.max() >= segments:
                places = np.maximum(on_host(ids), 0)
                rows.check(places, segments, "segment_ids", "= {} is out of range")
            if ufunc in _IS_BETTER and is_on_host(values) and _has_nan(values):
                _compare(result, flat[kept], values, ufunc)
            elif ufunc is np.multiply and not is_on_host(values):
                if kept.size and result.size:
                    result = rows.products(beside(flat[kept], data), values, segments)
            elif is_on_host(values):
                rows.combined(ufunc, result, flat[kept], values)
            else:
                rows.at(ufunc, result, beside(flat[kept], data), values)
            return result

        return reduce

    return make


def _partition(node: NodeContext) -> Function:
    count = node.attrs["num_partitions"]

    def partition(data: Array, partitions: Array) -> Any:
        if data.shape[: partitions.ndim] != partitions.shape:
            raise invalid(
                "data.shape must start with partitions.shape, got data.shape = "
                f"{show(data.shape)}, partitions.shape = {show(partitions.shape)}"
            )
        rows.check(partitions, count, "partitions")
        values = data.reshape(partitions.size, *data.shape[partitions.ndim :])
        flat = partitions.reshape(-1)
        places = [beside(np.flatnonzero(flat == index), data) for index in range(count)]
        parts = tuple(values[place] for place in places)
        return parts if count > 1 else parts[0]

    return partition


register(Kernel("SegmentSum", _sorted(np.add, 0)))
register(Kernel("SegmentProd", _sorted(np.multiply, 1)))
register(Kernel("SegmentMax", _sorted(np.maximum, 0)))
register(Kernel("SegmentMin", _sorted(np.minimum, 0)))
register(Kernel("SegmentMean", constantly(_mean)))
register(Kernel("UnsortedSegmentMax", _unsorted(np.maximum, lambda dtype: dtype.min)))
register(Kernel("UnsortedSegmentMin", _unsorted(np.minimum, lambda dtype: dtype.max)))
register(Kernel("UnsortedSegmentProd", _unsorted(np.multiply, lambda dtype: 1)))
register(Kernel("DynamicPartition", _partition))
