"""Kernels of the datasets that are kept in files (snapshot_dataset_op.cc, save_dataset_op.cc).

The elements are not sharded: the function that chooses the shard of an element is not called.
"""

from collections.abc import Sequence
from typing import Any

from capstan.core import attr_value, dtypes
from capstan.kernels import datasets, iterators
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string
from capstan.resources import dataset_run, dataset_storage, variant
from capstan.resources.dataset import Captured, Dataset, Spec


def _folder(path: Any) -> str:
    return attr_value.text(string(path, "path"))


def _check(spec: Spec) -> None:
    if dtypes.variant in spec.types:
        raise invalid("A file holds no variants, such as sparse tensors or datasets")


def _order(node: NodeContext, values: Sequence[Any]) -> Captured:
    return datasets.captured(node, "reader_func", values)


def _snapshot(node: NodeContext) -> Function:
    spec = datasets.spec_of(node)
    count = len(node.attrs.get("Treader_func_args", ()))
    has_order = "reader_func" in node.attrs

    def snapshot(source: Any, path: Any, *others: Any) -> Any:
        _check(spec)
        order = _order(node, others[:count]) if has_order else None
        found = datasets.dataset_in(source)
        return variant.scalar(dataset_storage.Snapshot(spec, found, _folder(path), order))

    return snapshot


def _load(node: NodeContext) -> Function:
    spec = datasets.spec_of(node)

    def load(path: Any, *others: Any) -> Any:
        return variant.scalar(dataset_storage.Saved(spec, _folder(path), _order(node, others)))

    return load


def _written(source: Any, path: Any) -> Dataset:
    """Return the dataset whose complete pass writes the elements to a folder."""
    found = datasets.dataset_in(source)
    _check(found.spec)
    return dataset_storage.Saving(found.spec, found, _folder(path))


def _save(_: NodeContext) -> Function:
    def save(source: Any, path: Any, *others: Any, done: Any, cancellation: Any) -> None:
        plan, run = _written(source, path), dataset_run.Run()

        def compute() -> Sequence[Any]:
            for _ in plan.start(run):
                run.check()
            return ()

        iterators.in_thread(run, compute, done, cancellation)

    return save


def _saving(_: NodeContext) -> Function:
    def saving(source: Any, path: Any, *others: Any) -> Any:
        return variant.scalar(_written(source, path))

    return saving


register(Kernel("SnapshotDataset", _snapshot))
register(Kernel("SnapshotDatasetV2", _snapshot))
register(Kernel("LoadDataset", _load))
register(Kernel("SaveDataset", start=_save))
register(Kernel("SaveDatasetV2", _saving))
