"""Kernels of the datasets that keep the elements of one worker (shard_dataset_op.cc,
experimental/auto_shard_dataset_op.cc)."""

from typing import Any, Final

from capstan.kernels import datasets, rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import dataset_order, variant
from capstan.resources.dataset import Dataset, Spec

_NEVER_SHARDED: Final = -1
"""The policy `AutoShardPolicy.OFF`."""


def _shard(spec: Spec, source: Any, count: Any, index: Any) -> Dataset:
    shards, place = rejection.number(count, "num_shards"), rejection.number(index, "index")
    if shards < 1:
        raise invalid(
            f"Number of shards must be greater than zero (currently num_shards = {shards})."
        )
    if not 0 <= place < shards:
        raise invalid(
            "Index must be between 0 and num_shards - 1 (currently index = "
            f"{place}, num_shards = {shards})."
        )
    return dataset_order.Shard(spec, datasets.dataset_in(source), shards, place)


def _auto_shard(node: NodeContext) -> Function:
    """Return the kernel that keeps the elements of one worker.

    TensorFlow divides the names of files among the workers if the dataset reads files. Capstan
    divides the elements, so the workers read all files.
    """
    spec, is_off = datasets.spec_of(node), node.attrs["auto_shard_policy"] == _NEVER_SHARDED

    def shard(source: Any, workers: Any, index: Any) -> Any:
        count, place = rejection.number(workers, "num_workers"), rejection.number(index, "index")
        if count < 1:
            raise invalid("num_workers must be greater than zero.")
        if not 0 <= place < count:
            raise invalid(f"index must be between 0 and {count - 1}")
        plan = datasets.dataset_in(source)
        return variant.scalar(plan if is_off else dataset_order.Shard(spec, plan, count, place))

    return shard


register(Kernel("ShardDataset", datasets.plain(_shard)))
for _op in ("AutoShardDataset", "ExperimentalAutoShardDataset"):
    register(Kernel(_op, _auto_shard))
