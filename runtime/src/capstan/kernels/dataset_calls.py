"""Kernels of the datasets that call functions (core/kernels/data/*_op.cc)."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from capstan.hardware import processors
from capstan.kernels import datasets, rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import (
    dataset_batch,
    dataset_functions,
    dataset_generator,
    dataset_grouping,
    dataset_threads,
    variant,
)
from capstan.resources.dataset import Captured, Dataset, Lasting, Spec


def _calling(
    make: Callable[..., Dataset], attribute: str = "f"
) -> Callable[[NodeContext], Function]:
    """Return the kernel of an op with one function.

    `make` takes the spec, the dataset, the function with its captured values, and the other inputs.
    """

    def bind(node: NodeContext) -> Function:
        spec, count = datasets.spec_of(node), len(node.attrs["Targuments"])
        kept, kind = datasets.captured(node, attribute), _kind_of(node)

        def build(source: Any, *inputs: Any) -> Any:
            call = kind(kept.callee, tuple(map(datasets.owned, inputs[:count])))
            return variant.scalar(make(spec, datasets.dataset_in(source), call, *inputs[count:]))

        return build

    return bind


def _kind_of(node: NodeContext) -> type[Captured]:
    """Return the class of the function of a node, which says whether the function may end it."""
    return Lasting if node.attrs.get("preserve_cardinality") else Captured


def _parallel_map(spec: Spec, source: Dataset, call: Captured, calls: Any) -> Dataset:
    return dataset_threads.ParallelMap(spec, source, call, datasets.parallelism(calls))


def _parallel_filter(spec: Spec, source: Dataset, call: Captured, calls: Any) -> Dataset:
    datasets.parallelism(calls)
    return dataset_functions.Filter(spec, source, call)


def _map_and_batch(
    spec: Spec, source: Dataset, call: Captured, size: Any, calls: Any, drop: Any
) -> Dataset:
    single = Spec(spec.types, tuple(shape and shape[1:] for shape in spec.shapes))
    lasting = Lasting(call.callee, call.values)
    mapped = dataset_threads.ParallelMap(single, source, lasting, datasets.parallelism(calls))
    return dataset_batch.MapAndBatch(spec, mapped, datasets.batch_size(size), bool(drop))


def _interleave(
    spec: Spec,
    source: Dataset,
    call: Captured,
    cycle: Any,
    block: Any,
    *_: Any,
    is_parallel: bool = True,
) -> Dataset:
    open_count, length = (
        rejection.number(cycle, "cycle_length"),
        rejection.number(block, "block_length"),
    )
    if open_count == dataset_threads.AUTOTUNE:
        open_count = processors.schedulable()
    if open_count <= 0:
        raise invalid("cycle_length must be greater than zero.")
    if length <= 0:
        raise invalid("block_length must be greater than zero.")
    return dataset_functions.Interleave(spec, source, call, open_count, length, is_parallel)


def _interleave_in_parallel(
    spec: Spec, source: Dataset, call: Captured, cycle: Any, block: Any, *options: Any
) -> Dataset:
    *_, calls = options
    count, open_count = datasets.parallelism(calls), rejection.number(cycle, "cycle_length")
    if count > open_count != dataset_threads.AUTOTUNE:
        raise invalid("num_parallel_calls must less than or equal to cycle_length.")
    return _interleave(spec, source, call, cycle, block)


def _scan(node: NodeContext) -> Function:
    spec, count = datasets.spec_of(node), len(node.attrs["Tstate"])
    kept, kind = datasets.captured(node, "f"), _kind_of(node)

    def scan(source: Any, *inputs: Any) -> Any:
        state, others = (
            tuple(map(datasets.owned, each)) for each in (inputs[:count], inputs[count:])
        )
        call = kind(kept.callee, others)
        return variant.scalar(
            dataset_functions.Scan(spec, datasets.dataset_in(source), call, state)
        )

    return scan


def _several(
    make: Callable[..., Dataset], attributes: Sequence[str], counts: Sequence[str], sources: int
) -> Callable[[NodeContext], Function]:
    """Return the kernel of an op with several functions, each with captured inputs of its own."""

    def bind(node: NodeContext) -> Function:
        spec = datasets.spec_of(node)
        kept = [datasets.captured(node, attribute) for attribute in attributes]

        def build(*inputs: Any) -> Any:
            remaining, calls = list(inputs[sources:]), []
            for call, count in zip(kept, counts, strict=True):
                captures = len(node.attrs[count])
                calls.append(
                    Captured(call.callee, tuple(map(datasets.owned, remaining[:captures])))
                )
                del remaining[:captures]
            return variant.scalar(make(spec, *map(datasets.dataset_in, inputs[:sources]), *calls))

        return build

    return bind


_PHASES = ("init_func", "next_func", "finalize_func")
_GROUPS = ("key_func", "reduce_func", "window_size_func")
_REDUCER = ("key_func", "init_func", "reduce_func", "finalize_func")
_KERNELS: dict[str, Callable[[NodeContext], Function]] = {
    "MapDataset": _calling(dataset_functions.Map),
    "ParallelMapDataset": _calling(_parallel_map),
    "ParallelMapDatasetV2": _calling(_parallel_map),
    "MapAndBatchDataset": _calling(_map_and_batch),
    "ExperimentalMapAndBatchDataset": _calling(_map_and_batch),
    "FilterDataset": _calling(dataset_functions.Filter, "predicate"),
    "ParallelFilterDataset": _calling(_parallel_filter, "predicate"),
    "TakeWhileDataset": _calling(dataset_functions.TakeWhile, "predicate"),
    "FlatMapDataset": _calling(dataset_functions.FlatMap),
    "InterleaveDataset": _calling(functools.partial(_interleave, is_parallel=False)),
    "ParallelInterleaveDatasetV2": _calling(_interleave_in_parallel),
    "ParallelInterleaveDatasetV3": _calling(_interleave_in_parallel),
    "ParallelInterleaveDatasetV4": _calling(_interleave_in_parallel),
    "ParallelInterleaveDataset": _calling(_interleave),
    "ExperimentalParallelInterleaveDataset": _calling(_interleave),
    "LegacyParallelInterleaveDatasetV2": _calling(_interleave),
    "ScanDataset": _scan,
    "GeneratorDataset": _several(
        dataset_generator.Generator, _PHASES, [f"T{phase}_args" for phase in _PHASES], 0
    ),
    "GroupByWindowDataset": _several(
        dataset_grouping.GroupByWindow,
        _GROUPS,
        [f"T{each}_other_arguments" for each in _GROUPS],
        1,
    ),
    "GroupByReducerDataset": _several(
        dataset_grouping.GroupByReducer,
        _REDUCER,
        [f"T{each}_other_arguments" for each in _REDUCER],
        1,
    ),
}
for _op in ("GroupByReducer", "GroupByWindow", "Map", "Scan", "TakeWhile"):
    _KERNELS[f"Experimental{_op}Dataset"] = _KERNELS[f"{_op}Dataset"]
for _op, _make in _KERNELS.items():
    register(Kernel(_op, _make))
