"""Kernels of the ops that make datasets (core/kernels/data/*_dataset_op.cc)."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan.core import attr_value, dtypes
from capstan.kernels import rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import (
    dataset_batch,
    dataset_cache,
    dataset_functions,
    dataset_order,
    dataset_shuffle,
    dataset_sources,
    dataset_sparse,
    dataset_threads,
    dataset_windows,
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


def plain(make: Make) -> Callable[[NodeContext], Function]:
    """Return the kernel of an op whose inputs `make` takes."""

    def bind(node: NodeContext) -> Function:
        spec = spec_of(node)
        return lambda *inputs: variant.scalar(make(spec, *inputs))

    return bind


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
        rejection.number(value, name)
        for value, name in ((start, "start"), (stop, "stop"), (step, "step"))
    )
    if by == 0:
        raise invalid("step must be a non-zero integer.")
    return dataset_sources.Range(spec, range(first, last, by))


def batch_size(value: Any) -> int:
    """Return the value of the input `batch_size`.

    Raises:
        InvalidArgumentError: the batch size is not positive.
    """
    size = rejection.number(value, "batch_size")
    if size <= 0:
        raise invalid("Batch size must be greater than zero.")
    return size


def parallelism(value: Any) -> int:
    """Return the value of the input `num_parallel_calls`.

    Raises:
        InvalidArgumentError: it is neither positive nor `AUTOTUNE`.
    """
    count = rejection.number(value, "num_parallel_calls")
    if count != dataset_threads.AUTOTUNE and count <= 0:
        raise invalid("num_parallel_calls must be greater than zero.")
    return count


def _batch(spec: Spec, source: Any, size: Any, drop: Any = np.False_) -> Dataset:
    return dataset_batch.Batch(spec, dataset_in(source), batch_size(size), bool(drop))


def _parallel_batch(spec: Spec, source: Any, size: Any, _: Any, drop: Any) -> Dataset:
    return _batch(spec, source, size, drop)


def _padded_length(length: int) -> int | None:
    if length < -1:
        raise invalid(f"All dimensions of a padded shape must be at least -1, but one is {length}")
    return None if length < 0 else length


def _padded_batch(spec: Spec, source: Any, size: Any, *others: Any) -> Dataset:
    count = len(spec.types)
    sizes, paddings = others[:count], others[count : 2 * count]
    drop = bool(others[2 * count]) if len(others) > 2 * count else False
    for padding in paddings:
        if padding.ndim:
            raise invalid("All padding values must be scalars")
    padded = tuple(
        tuple(map(_padded_length, rejection.vector(each, "padded_shapes"))) for each in sizes
    )
    values = tuple(each.item() if each.dtype == object else each[()] for each in paddings)
    return dataset_batch.PaddedBatch(
        spec, dataset_in(source), batch_size(size), drop, padded, values
    )


def _dense_to_sparse(spec: Spec, source: Any, size: Any, row_shape: Any) -> Dataset:
    row = rejection.vector(row_shape, "row_shape")
    sizes = tuple(None if length < 0 else length for length in row)
    return dataset_sparse.DenseToSparseBatch(spec, dataset_in(source), batch_size(size), sizes)


def _window(spec: Spec, source: Any, size: Any, shift: Any, stride: Any, drop: Any) -> Dataset:
    given = {"size": size, "shift": shift, "stride": stride}
    numbers = {name: rejection.number(value, name) for name, value in given.items()}
    for name, value in numbers.items():
        if value <= 0:
            raise invalid(f"Window {name} must be greater than zero.")
    return dataset_windows.Window(spec, dataset_in(source), drops_remainder=bool(drop), **numbers)


def _counted(kind: Callable[..., Dataset]) -> Make:
    return lambda spec, source, count: kind(
        spec, dataset_in(source), rejection.number(count, "count")
    )


def _same(spec: Spec, source: Any, *_: Any) -> Dataset:
    return dataset_order.Same(spec, dataset_in(source))


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


def shuffle_buffer(value: Any) -> int:
    """Return the value of the input `buffer_size` of a dataset that shuffles.

    Raises:
        InvalidArgumentError: it is not positive.
    """
    size = rejection.number(value, "buffer_size")
    if size <= 0:
        raise invalid("buffer_size must be greater than zero.")
    return size


def _shuffle(node: NodeContext) -> Function:
    spec, reshuffles = spec_of(node), bool(node.attrs["reshuffle_each_iteration"])

    def shuffle(source: Any, size: Any, seed: Any, seed2: Any, count: Any = None) -> Any:
        buffer = shuffle_buffer(size)
        seeds = rejection.number(seed, "seed"), rejection.number(seed2, "seed2")
        times = 1 if count is None else rejection.number(count, "count")
        made = dataset_shuffle.Shuffle(spec, dataset_in(source), buffer, seeds, reshuffles, times)
        return variant.scalar(made)

    return shuffle


def cache(spec: Spec, source: Any, filename: Any) -> Dataset:
    """Return the dataset that keeps its elements in a file, or in memory if the name is empty.

    Raises:
        InvalidArgumentError: an element for a file holds a variant.
    """
    name = attr_value.text(rejection.string(filename, "filename"))
    found = dataset_in(source)
    if not name:
        return dataset_cache.Cache(spec, found)
    if dtypes.variant in spec.types:
        raise invalid("A cache in a file holds no variants, such as sparse tensors or datasets")
    return dataset_cache.FileCache(spec, found, name)


def _prefetch(spec: Spec, source: Any, size: Any) -> Dataset:
    buffer = rejection.number(size, "buffer_size")
    if buffer < dataset_threads.AUTOTUNE:
        raise invalid("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning")
    return dataset_threads.Prefetch(spec, dataset_in(source), buffer)


def _ignore_errors(spec: Spec, source: Any) -> Dataset:
    return dataset_functions.IgnoreErrors(spec, dataset_in(source))


_KERNELS: dict[str, Callable[[NodeContext], Function]] = {
    "TensorDataset": plain(_tensors),
    "TensorSliceDataset": plain(_slices),
    "RangeDataset": plain(_range),
    "BatchDataset": plain(_batch),
    "BatchDatasetV2": plain(_batch),
    "ParallelBatchDataset": plain(_parallel_batch),
    "PaddedBatchDataset": plain(_padded_batch),
    "PaddedBatchDatasetV2": plain(_padded_batch),
    "UnbatchDataset": plain(lambda spec, source: dataset_batch.Unbatch(spec, dataset_in(source))),
    "WindowDataset": plain(_window),
    "DenseToSparseBatchDataset": plain(_dense_to_sparse),
    "ExperimentalDenseToSparseBatchDataset": plain(_dense_to_sparse),
    "RepeatDataset": plain(_counted(dataset_order.Repeat)),
    "TakeDataset": plain(_counted(dataset_order.Take)),
    "SkipDataset": plain(_counted(dataset_order.Skip)),
    "ConcatenateDataset": plain(_concatenate),
    "ZipDataset": plain(_zip),
    "ShuffleDataset": _shuffle,
    "ShuffleAndRepeatDataset": _shuffle,
    "CacheDataset": plain(cache),
    "PrefetchDataset": plain(_prefetch),
    "IgnoreErrorsDataset": plain(_ignore_errors),
    "ExperimentalIgnoreErrorsDataset": plain(_ignore_errors),
    "ModelDataset": plain(_same),
    "OptionsDataset": plain(_same),
    "OptimizeDataset": plain(_same),
    "FinalizeDataset": plain(_same),
    "RewriteDataset": plain(_same),
}
_KERNELS["ExperimentalUnbatchDataset"] = _KERNELS["UnbatchDataset"]
for _op, _make in _KERNELS.items():
    register(Kernel(_op, _make))
