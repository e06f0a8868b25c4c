"""The number of elements of a dataset, if it is known without a pass (DatasetBase::Cardinality)."""

from collections.abc import Callable, Mapping
from typing import Any

from capstan.resources import (
    dataset,
    dataset_batch,
    dataset_cache,
    dataset_choice,
    dataset_functions,
    dataset_order,
    dataset_shuffle,
    dataset_slices,
    dataset_sources,
    dataset_sparse,
    dataset_stats,
    dataset_threads,
    dataset_windows,
)

INFINITE, UNKNOWN = -1, -2


def of(plan: dataset.Dataset) -> int:
    """Return the number of elements, `INFINITE` or `UNKNOWN`.

    A function that ends its dataset, or an error, may reduce the number in a pass.
    """
    count = _COUNTS.get(type(plan))
    return UNKNOWN if count is None else count(plan)


def _of_source(plan: Any) -> int:
    return of(plan.source)


def _repeated(plan: Any) -> int:
    count = of(plan.source)
    if count == 0 or plan.count == 0:
        return 0
    if plan.count < 0:
        return INFINITE
    return count if count < 0 else count * int(plan.count)


def _taken(plan: Any) -> int:
    count = of(plan.source)
    if plan.count < 0 or count == UNKNOWN:
        return count
    most: int = plan.count
    return most if count == INFINITE else min(count, most)


def _skipped(plan: Any) -> int:
    return 0 if plan.count < 0 else _scaled(lambda plan, count: max(0, count - plan.count))(plan)


def _scaled(part: Callable[[Any, int], int]) -> Callable[[Any], int]:
    """Return the count of a dataset that has `part(plan, count)` of `count` elements."""

    def scaled(plan: Any) -> int:
        count = of(plan.source)
        return count if count < 0 else part(plan, count)

    return scaled


def _batches(plan: Any, count: int) -> int:
    size: int = plan.size
    return count // size if plan.drops_remainder else -(-count // size)


def _windows(plan: Any, count: int) -> int:
    reach = (plan.size - 1) * plan.stride if plan.drops_remainder else 0
    return len(range(0, count - reach, plan.shift))


def _sum(plan: Any) -> int:
    counts = of(plan.source), of(plan.other)
    if INFINITE in counts:
        return INFINITE
    return UNKNOWN if UNKNOWN in counts else sum(counts)


def _least(plan: Any) -> int:
    counts = [of(each) for each in plan.sources]
    if UNKNOWN in counts:
        return UNKNOWN
    return min((count for count in counts if count != INFINITE), default=INFINITE)


_COUNTS: Mapping[type[dataset.Dataset], Callable[[Any], int]] = {
    dataset_sources.Tensors: lambda plan: 1,
    dataset_sources.Slices: lambda plan: len(plan.components[0]),
    dataset_sources.Range: lambda plan: len(plan.values),
    dataset_windows.Rows: lambda plan: len(plan.rows),
    dataset_choice.Random: lambda plan: INFINITE,
    **dict.fromkeys(
        (
            dataset_order.Same,
            dataset_stats.Measured,
            dataset_stats.Measuring,
            dataset_threads.Prefetch,
            dataset_threads.ParallelMap,
            dataset_cache.Cache,
            dataset_cache.FileCache,
            dataset_functions.Map,
            dataset_functions.Scan,
        ),
        _of_source,
    ),
    dataset_order.Repeat: _repeated,
    dataset_shuffle.Shuffle: _repeated,
    dataset_order.Take: _taken,
    dataset_order.Skip: _skipped,
    dataset_order.Shard: _scaled(lambda plan, count: len(range(plan.index, count, plan.count))),
    dataset_batch.Batch: _scaled(_batches),
    dataset_batch.MapAndBatch: _scaled(_batches),
    dataset_batch.PaddedBatch: _scaled(_batches),
    dataset_windows.Window: _scaled(_windows),
    dataset_slices.Sliding: _scaled(_windows),
    dataset_slices.Split: _scaled(lambda plan, count: count * plan.count),
    dataset_slices.SparseRows: lambda plan: int(plan.shape[0]),
    dataset_slices.Counted: lambda plan: plan.count,
    dataset_sparse.DenseToSparseBatch: _scaled(lambda plan, count: -(-count // plan.size)),
    dataset_order.Concatenate: _sum,
    dataset_order.Zip: _least,
}
