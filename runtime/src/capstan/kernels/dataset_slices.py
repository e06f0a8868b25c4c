"""Kernels of the datasets that cut elements anew."""

from collections.abc import Callable
from typing import Any

from capstan.core import dtypes, shapes
from capstan.kernels import datasets, rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import dataset_slices, dataset_windows, variant
from capstan.resources.dataset import Dataset, Spec


def _rebatch(spec: Spec, source: Any, sizes: Any, drop: Any) -> Dataset:
    numbers = tuple(rejection.vector(sizes, "batch_sizes"))
    if not numbers or min(numbers) < 0:
        raise invalid(
            "batch_sizes must be a scalar or a vector of sizes that are not negative, but is "
            f"{list(numbers)}"
        )
    return dataset_slices.Rebatch(spec, datasets.dataset_in(source), numbers, bool(drop))


def _split(spec: Spec, source: Any, replicas: Any) -> Dataset:
    count = rejection.number(replicas, "num_replicas")
    if count <= 0:
        raise invalid("num_replicas must be greater than zero.")
    return dataset_slices.Split(spec, datasets.dataset_in(source), count)


def _sliding(node: NodeContext) -> Function:
    spec, drops = datasets.spec_of(node), bool(node.attrs.get("drop_remainder", True))

    def sliding(source: Any, size: Any, shift: Any, stride: Any) -> Any:
        given = {"window_size": size, "window_shift": shift, "window_stride": stride}
        numbers = {name: rejection.number(value, name) for name, value in given.items()}
        for name, value in numbers.items():
            if value <= 0:
                raise invalid(f"{name} must be greater than zero.")
        found = datasets.dataset_in(source)
        width, step, gap = numbers.values()
        return variant.scalar(dataset_slices.Sliding(spec, found, width, step, gap, drops))

    return sliding


def _sparse(node: NodeContext) -> Function:
    dtype = node.attrs["Tvalues"]

    def make(indices: Any, values: Any, shape: Any) -> Any:
        for part, name, rank in (
            (indices, "indices", 2),
            (values, "values", 1),
            (shape, "shape", 1),
        ):
            if part.ndim != rank:
                kind = "matrix" if rank == 2 else "vector"
                raise invalid(
                    f"Input {name} should be a {kind} but received shape {shapes.show(part.shape)}"
                )
        if indices.shape != (len(values), len(shape)) or not len(shape):
            raise invalid(
                f"Input indices of shape {shapes.show(indices.shape)} do not fit {len(values)} "
                f"values and {len(shape)} axes"
            )
        places = indices[:, 0]
        if (places[1:] < places[:-1]).any():
            raise invalid(
                "The SparseTensor must be ordered in the batch dimension; handling arbitrarily "
                "ordered input is not currently supported."
            )
        if len(places) and not 0 <= places[0] <= places[-1] < shape[0]:
            raise invalid(f"The first column of indices must be in [0, {shape[0]})")
        rank = len(shape) - 1
        spec = Spec((dtypes.int64, dtype, dtypes.int64), ((None, rank), (None,), (rank,)))
        parts = map(datasets.owned, (indices, values, shape))
        return variant.scalar(dataset_slices.SparseRows(spec, *parts))

    return make


def _list(spec: Spec, *tensors: Any) -> Dataset:
    count = len(spec.types)
    if not count or len(tensors) % count:
        raise invalid(f"{len(tensors)} tensors do not make elements of {count} components")
    kept = tuple(map(datasets.owned, tensors))
    rows = tuple(kept[start : start + count] for start in range(0, len(kept), count))
    return dataset_windows.Rows(spec, rows)


def _counted(spec: Spec, source: Any, count: Any) -> Dataset:
    number = rejection.number(count, "cardinality")
    return dataset_slices.Counted(spec, datasets.dataset_in(source), number)


_KERNELS: dict[str, Callable[[NodeContext], Function]] = {
    "RebatchDatasetV2": datasets.plain(_rebatch),
    "RebatchDataset": datasets.plain(_split),
    "ExperimentalRebatchDataset": datasets.plain(_split),
    "SlidingWindowDataset": _sliding,
    "ExperimentalSlidingWindowDataset": _sliding,
    "SparseTensorSliceDataset": _sparse,
    "ListDataset": datasets.plain(_list),
    "AssertCardinalityDataset": datasets.plain(_counted),
}
for _op, _make in _KERNELS.items():
    register(Kernel(_op, _make))
