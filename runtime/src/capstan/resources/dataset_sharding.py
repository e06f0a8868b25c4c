"""Datasets that divide the files that they read among workers.

Source: core/grappler/optimizers/data/auto_shard.cc.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from capstan import errors
from capstan.resources import (
    dataset_batch,
    dataset_cache,
    dataset_files,
    dataset_functions,
    dataset_order,
    dataset_shuffle,
    dataset_slices,
    dataset_threads,
    dataset_windows,
)
from capstan.resources.dataset import Captured, Dataset, Unary

_PASSED = (
    *(dataset_batch.Batch, dataset_batch.PaddedBatch, dataset_batch.Unbatch),
    *(dataset_cache.Cache, dataset_cache.FileCache),
    *(dataset_functions.Filter, dataset_functions.Map),
    *(dataset_order.Repeat, dataset_order.Same, dataset_order.Shard, dataset_order.Skip),
    *(dataset_order.Take, dataset_shuffle.Shuffle, dataset_slices.Rebatch),
    *(dataset_threads.Prefetch, dataset_windows.Window),
)
"""The datasets through which TensorFlow looks for files."""


@dataclass(frozen=True, slots=True)
class Worker:
    """The worker `index` of `count` workers. `reads_files` says whether a function reads files."""

    count: int
    index: int
    reads_files: Callable[[Captured], bool]

    def part_of(self, plan: Dataset) -> Dataset:
        """Return the elements of `plan` whose number modulo `count` is `index`."""
        return dataset_order.Shard(plan.spec, plan, self.count, self.index, has_all_parts=True)

    def part_of_files(self, plan: Dataset) -> Dataset:
        """Return `plan`, reading only the files of this worker.

        A dataset that shuffles the names of the files shuffles those of this worker.

        Raises:
            NotFoundError: `plan` reads no files, or has a dataset through which TensorFlow does
                not look for files.
        """
        if isinstance(plan, _PASSED):
            return replace(plan, source=self.part_of_files(plan.source))
        if isinstance(plan, dataset_order.Concatenate):
            first, second = map(self.part_of_files, plan.inputs)
            return replace(plan, source=first, other=second)
        if isinstance(plan, dataset_order.Zip):
            return replace(plan, sources=tuple(map(self.part_of_files, plan.sources)))
        if isinstance(plan, dataset_files.Files):
            return self._own(plan)
        calling = dataset_functions.FlatMap | dataset_functions.Interleave
        if isinstance(plan, calling) and self.reads_files(plan.function):
            names, shuffle = _unshuffled(plan.source)
            own = self.part_of(names)
            return replace(plan, source=own if shuffle is None else replace(shuffle, source=own))
        raise errors.NotFoundError(
            None, None, f"Found an unshardable source dataset: {type(plan).__name__}"
        )

    def _own(self, plan: dataset_files.Files) -> Dataset:
        found = len(plan.names)
        if self.index < found < self.count:
            raise dataset_order.too_few(found, self.count)
        return replace(plan, names=plan.names[self.index :: self.count])


def _unshuffled(plan: Dataset) -> tuple[Dataset, dataset_shuffle.Shuffle | None]:
    """Return the names of files in their order, and the first dataset that shuffled them."""
    if not isinstance(plan, Unary):
        return plan, None
    source, shuffle = _unshuffled(plan.source)
    if isinstance(plan, dataset_shuffle.Shuffle) and plan.count == 1:
        return source, shuffle or plan
    return replace(plan, source=source), shuffle
