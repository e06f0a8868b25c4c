"""Kernels of the ops that make datasets (core/kernels/data/*_dataset_op.cc)."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.kernels import rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import (
    dataset_batch,
    dataset_files,
    dataset_functions,
    dataset_order,
    dataset_sources,
    dataset_threads,
    elements,
    variant,
)
from capstan.resources.dataset import Captured, Dataset, Spec

Make = Callable[..., Dataset]
"""Takes the spec and the inputs of a node, and returns its dataset."""


def spec_of(node: NodeContext) -> Spec:
    """Return the types and shapes that a node declares for the elements."""
    types = node.attrs.get("output_types") or node.attrs.get("Toutput_types") or ()
    return Spec(tuple(types), tuple(each.internal for each in node.attrs["output_shapes"]))


def dataset_in(tensor: Any) -> Dataset:
    """Return the dataset that a scalar tensor holds.

    Raises:
        InvalidArgumentError: the tensor holds no dataset.
    """
    if tensor.ndim:
        raise invalid("Dataset tensor must be a scalar of dtype DT_VARIANT.")
    found = tensor.item()
    if not isinstance(found, Dataset):
        raise invalid("Tensor must be a Dataset object.")
    return found


def captured(node: NodeContext, attribute: str, values: Sequence[Any] = ()) -> Captured:
    """Return the function that an attribute of the node refers to, with the captured values."""
    assert node.callee is not None
    return Captured(node.callee(attribute), tuple(map(owned, values)))


def owned(value: Any) -> Any:
    """Return a read-only copy, which a later step does not change."""
    copy = elements.owned(value)
    elements.freeze((copy,))
    return copy


def _plain(make: Make) -> Callable[[NodeContext], Function]:
    """Return the kernel of an op whose inputs `make` takes."""

    def bind(node: NodeContext) -> Function:
        spec = spec_of(node)
        return lambda *inputs: variant.scalar(make(spec, *inputs))

    return bind


def _number(value: Any, name: str) -> int:
    return rejection.number(value, name)


def _tensors(spec: Spec, *components: Any) -> Dataset:
    return dataset_sources.Tensors(spec, tuple(map(owned, components)))


def _slices(spec: Spec, *components: Any) -> Dataset:
    for component in components:
        if not component.ndim:
            raise invalid("All components must be at least 1-dimensional")
    sizes = dataset_sources.sizes(components)
    for size in sizes[1:]:
        if size != sizes[0]:
            raise invalid("All components must have the same size in the 0th dimension")
    return dataset_sources.Slices(spec, tuple(map(owned, components)))


def _range(spec: Spec, start: Any, stop: Any, step: Any) -> Dataset:
    first, last, by = (
        _number(value, name) for value, name in ((start, "start"), (stop, "stop"), (step, "step"))
    )
    if by == 0:
        raise invalid("step must be a non-zero integer.")
    return dataset_sources.Range(spec, range(first, last, by))


def _batch_size(value: Any) -> int:
    size = _number(value, "batch_size")
    if size <= 0:
        raise invalid("Batch size must be greater than zero.")
    return size


def _batch(spec: Spec, source: Any, size: Any, drop: Any = np.False_) -> Dataset:
    return dataset_batch.Batch(spec, dataset_in(source), _batch_size(size), bool(drop))


def _parallel_batch(spec: Spec, source: Any, size: Any, _: Any, drop: Any) -> Dataset:
    return _batch(spec, source, size, drop)


def _padded_batch(spec: Spec, source: Any, size: Any, *others: Any) -> Dataset:
    count = len(spec.types)
    sizes, paddings = others[:count], others[count : 2 * count]
    drop = bool(others[2 * count]) if len(others) > 2 * count else False
    for padding in paddings:
        if padding.ndim:
            raise invalid("All padding values must be scalars")
    padded = tuple(
        tuple(None if length < 0 else length for length in rejection.vector(each, "padded_shapes"))
        for each in sizes
    )
    values = tuple(each.item() if each.dtype == object else each[()] for each in paddings)
    return dataset_batch.PaddedBatch(
        spec, dataset_in(source), _batch_size(size), drop, padded, values
    )


def _window(spec: Spec, source: Any, size: Any, shift: Any, stride: Any, drop: Any) -> Dataset:
    given = {"size": size, "shift": shift, "stride": stride}
    numbers = {name: _number(value, name) for name, value in given.items()}
    for name, value in numbers.items():
        if value <= 0:
            raise invalid(f"Window {name} must be greater than zero.")
    return dataset_batch.Window(spec, dataset_in(source), drops_remainder=bool(drop), **numbers)


def _counted(kind: Callable[..., Dataset]) -> Make:
    return lambda spec, source, count: kind(spec, dataset_in(source), _number(count, "count"))


def _same(spec: Spec, source: Any, *_: Any) -> Dataset:
    return dataset_order.Same(spec, dataset_in(source))


def _shard(spec: Spec, source: Any, count: Any, index: Any) -> Dataset:
    shards, place = _number(count, "num_shards"), _number(index, "index")
    if shards < 1:
        raise invalid(
            f"Number of shards must be greater than zero (currently num_shards = {shards})."
        )
    if not 0 <= place < shards:
        raise invalid(
            "Index must be between 0 and num_shards - 1 (currently index = "
            f"{place}, num_shards = {shards})."
        )
    return dataset_order.Shard(spec, dataset_in(source), shards, place)


def _concatenate(spec: Spec, source: Any, other: Any) -> Dataset:
    first, second = dataset_in(source), dataset_in(other)
    if first.spec.types != second.spec.types:
        raise invalid(
            f"input dataset and another dataset have different output_types "
            f"{first.spec.types} and {second.spec.types}"
        )
    return dataset_order.Concatenate(spec, first, second)


def _zip(spec: Spec, *sources: Any) -> Dataset:
    return dataset_order.Zip(spec, tuple(map(dataset_in, sources)))


def _shuffle(node: NodeContext) -> Function:
    spec, reshuffles = spec_of(node), bool(node.attrs["reshuffle_each_iteration"])

    def shuffle(source: Any, size: Any, seed: Any, seed2: Any, count: Any = None) -> Any:
        buffer = _number(size, "buffer_size")
        if buffer <= 0:
            raise invalid("buffer_size must be greater than zero.")
        seeds = _number(seed, "seed"), _number(seed2, "seed2")
        times = 1 if count is None else _number(count, "count")
        made = dataset_order.Shuffle(spec, dataset_in(source), buffer, seeds, reshuffles, times)
        return variant.scalar(made)

    return shuffle


def _cache(spec: Spec, source: Any, filename: Any) -> Dataset:
    if rejection.string(filename, "filename"):
        raise invalid("a cache in a file is not supported: pass no filename to cache in memory")
    return dataset_order.Cache(spec, dataset_in(source))


def _prefetch(spec: Spec, source: Any, size: Any) -> Dataset:
    buffer = _number(size, "buffer_size")
    if buffer < dataset_threads.AUTOTUNE:
        raise invalid("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning")
    return dataset_threads.Prefetch(spec, dataset_in(source), buffer)


def _files(node: NodeContext) -> Function:
    """Return the kernel of the datasets that read the lines or the records of files."""
    kind, spec = node.op, Spec((dtypes.string,), ((),))

    def read(filenames: Any, *inputs: Any) -> Any:
        numbers = [_number(value, "bytes") for value in inputs if value.dtype != object]
        compression = b"".join(
            rejection.string(value, "compression_type") for value in inputs if value.dtype == object
        ).decode(errors="replace")
        if compression not in ("", "ZLIB", "GZIP"):
            raise invalid("Unsupported compression_type.")
        if filenames.ndim > 1:
            raise invalid("`filenames` must be a scalar or a vector.")
        if kind == "TextLineDataset":
            open_file = functools.partial(dataset_files.lines, compression)
        elif kind == "TFRecordDataset":
            open_file = functools.partial(dataset_files.records, compression)
        else:
            header, record, footer = numbers[:3]
            if record <= 0:
                raise invalid("`record_bytes` must be > 0")
            open_file = functools.partial(dataset_files.fixed, header, record, footer, compression)
        names = tuple(filenames.reshape(-1).tolist())
        return variant.scalar(dataset_files.Files(spec, names, open_file))

    return read


def _ignore_errors(spec: Spec, source: Any) -> Dataset:
    return dataset_functions.IgnoreErrors(spec, dataset_in(source))


def _calling(
    make: Callable[..., Dataset], attribute: str = "f"
) -> Callable[[NodeContext], Function]:
    """Return the kernel of an op with one function.

    `make` takes the spec, the dataset, the function with its captured values, and the other inputs.
    """

    def bind(node: NodeContext) -> Function:
        spec, count = spec_of(node), len(node.attrs["Targuments"])
        kept = captured(node, attribute)

        def build(source: Any, *inputs: Any) -> Any:
            call = Captured(kept.callee, tuple(map(owned, inputs[:count])))
            return variant.scalar(make(spec, dataset_in(source), call, *inputs[count:]))

        return build

    return bind


def _parallel_map(spec: Spec, source: Dataset, call: Captured, calls: Any) -> Dataset:
    return dataset_threads.ParallelMap(spec, source, call, _parallelism(calls))


def _parallelism(value: Any) -> int:
    count = _number(value, "num_parallel_calls")
    if count != dataset_threads.AUTOTUNE and count <= 0:
        raise invalid("num_parallel_calls must be greater than zero.")
    return count


def _map_and_batch(
    spec: Spec, source: Dataset, call: Captured, size: Any, calls: Any, drop: Any
) -> Dataset:
    single = Spec(spec.types, tuple(shape and shape[1:] for shape in spec.shapes))
    mapped = dataset_threads.ParallelMap(single, source, call, _parallelism(calls))
    return dataset_batch.Batch(spec, mapped, _batch_size(size), bool(drop))


def _interleave(
    spec: Spec, source: Dataset, call: Captured, cycle: Any, block: Any, *_: Any
) -> Dataset:
    open_count, length = _number(cycle, "cycle_length"), _number(block, "block_length")
    if open_count == dataset_threads.AUTOTUNE:
        open_count = dataset_threads.AUTOTUNED
    if open_count <= 0:
        raise invalid("cycle_length must be greater than zero.")
    if length <= 0:
        raise invalid("block_length must be greater than zero.")
    return dataset_functions.Interleave(spec, source, call, open_count, length)


def _scan(node: NodeContext) -> Function:
    spec, count = spec_of(node), len(node.attrs["Tstate"])
    kept = captured(node, "f")

    def scan(source: Any, *inputs: Any) -> Any:
        state, others = (tuple(map(owned, each)) for each in (inputs[:count], inputs[count:]))
        call = Captured(kept.callee, others)
        return variant.scalar(dataset_functions.Scan(spec, dataset_in(source), call, state))

    return scan


def _several(
    make: Callable[..., Dataset], attributes: Sequence[str], counts: Sequence[str], sources: int
) -> Callable[[NodeContext], Function]:
    """Return the kernel of an op with several functions, each with captured inputs of its own."""

    def bind(node: NodeContext) -> Function:
        spec = spec_of(node)
        kept = [captured(node, attribute) for attribute in attributes]

        def build(*inputs: Any) -> Any:
            rest, calls = list(inputs[sources:]), []
            for call, count in zip(kept, counts, strict=True):
                taken = len(node.attrs[count])
                calls.append(Captured(call.callee, tuple(map(owned, rest[:taken]))))
                del rest[:taken]
            return variant.scalar(make(spec, *map(dataset_in, inputs[:sources]), *calls))

        return build

    return bind


_PHASES = ("init_func", "next_func", "finalize_func")
_GROUPS = ("key_func", "reduce_func", "window_size_func")
_KERNELS: dict[str, Callable[[NodeContext], Function]] = {
    "TensorDataset": _plain(_tensors),
    "TensorSliceDataset": _plain(_slices),
    "RangeDataset": _plain(_range),
    "BatchDataset": _plain(_batch),
    "BatchDatasetV2": _plain(_batch),
    "ParallelBatchDataset": _plain(_parallel_batch),
    "PaddedBatchDataset": _plain(_padded_batch),
    "PaddedBatchDatasetV2": _plain(_padded_batch),
    "UnbatchDataset": _plain(lambda spec, source: dataset_batch.Unbatch(spec, dataset_in(source))),
    "WindowDataset": _plain(_window),
    "RepeatDataset": _plain(_counted(dataset_order.Repeat)),
    "TakeDataset": _plain(_counted(dataset_order.Take)),
    "SkipDataset": _plain(_counted(dataset_order.Skip)),
    "ShardDataset": _plain(_shard),
    "ConcatenateDataset": _plain(_concatenate),
    "ZipDataset": _plain(_zip),
    "ShuffleDataset": _shuffle,
    "ShuffleAndRepeatDataset": _shuffle,
    "CacheDataset": _plain(_cache),
    "PrefetchDataset": _plain(_prefetch),
    "TextLineDataset": _files,
    "TFRecordDataset": _files,
    "FixedLengthRecordDataset": _files,
    "FixedLengthRecordDatasetV2": _files,
    "IgnoreErrorsDataset": _plain(_ignore_errors),
    "ExperimentalIgnoreErrorsDataset": _plain(_ignore_errors),
    "ModelDataset": _plain(_same),
    "OptionsDataset": _plain(_same),
    "OptimizeDataset": _plain(_same),
    "FinalizeDataset": _plain(_same),
    "RewriteDataset": _plain(_same),
    "MapDataset": _calling(dataset_functions.Map),
    "ParallelMapDataset": _calling(_parallel_map),
    "ParallelMapDatasetV2": _calling(_parallel_map),
    "MapAndBatchDataset": _calling(_map_and_batch),
    "ExperimentalMapAndBatchDataset": _calling(_map_and_batch),
    "FilterDataset": _calling(dataset_functions.Filter, "predicate"),
    "TakeWhileDataset": _calling(dataset_functions.TakeWhile, "predicate"),
    "FlatMapDataset": _calling(dataset_functions.FlatMap),
    "InterleaveDataset": _calling(_interleave),
    "ParallelInterleaveDatasetV2": _calling(_interleave),
    "ParallelInterleaveDatasetV4": _calling(_interleave),
    "ParallelInterleaveDataset": _calling(_interleave),
    "ExperimentalParallelInterleaveDataset": _calling(_interleave),
    "LegacyParallelInterleaveDatasetV2": _calling(_interleave),
    "ScanDataset": _scan,
    "GeneratorDataset": _several(
        dataset_functions.Generator, _PHASES, [f"T{phase}_args" for phase in _PHASES], 0
    ),
    "GroupByWindowDataset": _several(
        dataset_functions.GroupByWindow,
        _GROUPS,
        [f"T{each}_other_arguments" for each in _GROUPS],
        1,
    ),
}
_KERNELS["ExperimentalUnbatchDataset"] = _KERNELS["UnbatchDataset"]
for _op, _make in _KERNELS.items():
    register(Kernel(_op, _make))
