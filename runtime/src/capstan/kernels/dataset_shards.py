"""Kernels of the datasets that keep the elements of one worker (shard_dataset_op.cc,
experimental/auto_shard_dataset_op.cc)."""

import logging
from typing import Any, Final

from capstan import errors
from capstan.kernels import datasets, rejection
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import dataset_order, dataset_sharding, variant
from capstan.resources.dataset import Captured, Dataset

_BY_FILES_OR_ELEMENTS: Final = 0
_BY_FILES: Final = 1
_NEVER: Final = -1
"""Values of `AutoShardPolicy`: AUTO, FILE and OFF. All others divide the elements."""

_READERS = frozenset(
    {
        *("FixedLengthRecordDataset", "FixedLengthRecordDatasetV2", "TextLineDataset"),
        *("TFRecordDataset", "TFRecordDatasetV2"),
    }
)
"""The operations that read files, if the function of a dataset has them."""


def _shard(node: NodeContext) -> Function:
    spec, has_all_parts = datasets.spec_of(node), bool(node.attrs["require_non_empty"])

    def shard(source: Any, count: Any, index: Any) -> Any:
        shards = rejection.number(count, "num_shards")
        place = rejection.number(index, "index")
        if shards < 1:
            raise invalid(
                f"Number of shards must be greater than zero (currently num_shards = {shards})."
            )
        if not 0 <= place < shards:
            raise invalid(
                "Index must be between 0 and num_shards - 1 (currently index = "
                f"{place}, num_shards = {shards})."
            )
        plan = datasets.dataset_in(source)
        return variant.scalar(dataset_order.Shard(spec, plan, shards, place, has_all_parts))

    return shard


def _auto_shard(node: NodeContext) -> Function:
    policy = node.attrs["auto_shard_policy"]

    def shard(source: Any, workers: Any, index: Any) -> Any:
        count, place = rejection.number(workers, "num_workers"), rejection.number(index, "index")
        if count < 1:
            raise invalid("num_workers must be greater than zero.")
        if not 0 <= place < count:
            raise invalid(f"index must be between 0 and {count - 1}")
        plan = datasets.dataset_in(source)
        if policy != _NEVER and count > 1:
            plan = _part(plan, dataset_sharding.Worker(count, place, _reads_files), policy)
        return variant.scalar(plan)

    return shard


def _part(plan: Dataset, worker: dataset_sharding.Worker, policy: int) -> Dataset:
    """Return the part of a worker: its files, or its elements if it cannot divide files.

    Raises:
        NotFoundError: the policy is to divide files, and the dataset does not read files.
    """
    if policy not in (_BY_FILES_OR_ELEMENTS, _BY_FILES):
        return worker.part_of(plan)
    try:
        return worker.part_of_files(plan)
    except errors.NotFoundError as reason:
        if policy == _BY_FILES:
            raise
        logging.getLogger("capstan").info(
            "The workers divide the elements of a dataset, and each reads all files: %s",
            reason.message,
        )
        return worker.part_of(plan)


def _reads_files(function: Captured) -> bool:
    return not _READERS.isdisjoint(function.callee.ops)


register(Kernel("ShardDataset", _shard))
for _op in ("AutoShardDataset", "ExperimentalAutoShardDataset"):
    register(Kernel(_op, _auto_shard))
