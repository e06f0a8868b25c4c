"""Datasets that are kept in a folder: snapshots and saved datasets.

The folder has one file, in the format of `dataset_cache`. TensorFlow cannot read it. Each pass over
the folder calls a function that orders its parts, of which there is one.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from capstan import errors
from capstan.core import dtypes
from capstan.resources import dataset, dataset_cache, dataset_functions, dataset_windows, elements
from capstan.resources.dataset import Captured, Dataset, Element, Spec
from capstan.resources.dataset_run import Run

_FILE = "elements.capstan"


def file_in(folder: str) -> str:
    """Return the name of the file in a folder. Make the folder if it does not exist.

    Raises:
        InvalidArgumentError: the folder cannot be made.
    """
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as fault:
        raise errors.InvalidArgumentError(
            None, None, f"Cannot make the folder {folder} for a dataset: {fault}"
        ) from fault
    return os.path.join(folder, _FILE)


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot(dataset.Unary):
    """The elements of `source`, which the first complete pass writes to a folder.

    Later passes read the folder, in the order that `order` chooses, if there is such a function.
    """

    folder: str
    order: Captured | None

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        cache = dataset_cache.FileCache(self.spec, self.source, file_in(self.folder))
        if self.order is None or not os.path.exists(cache.name):
            return cache.start(run)
        return ordered(cache, self.order, run)


@dataclass(frozen=True, slots=True, eq=False)
class Saving(dataset.Unary):
    """The elements of `source`. Each complete pass writes them to a folder, in place of others."""

    folder: str

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        name = file_in(self.folder)
        if os.path.exists(name):
            os.remove(name)
        return dataset_cache.FileCache(self.spec, self.source, name).start(run)


@dataclass(frozen=True, slots=True, eq=False)
class Saved(dataset.Dataset):
    """The elements in a folder, in the order that `order` chooses."""

    spec: Spec
    folder: str
    order: Captured

    @property
    def may_block(self) -> bool:
        return True

    def start(self, run: Run) -> Iterator[Element]:
        name = os.path.join(self.folder, _FILE)
        if not os.path.exists(name):
            raise errors.NotFoundError(
                None,
                None,
                f"The folder {self.folder} holds no dataset that Capstan has saved. Save it with "
                "Dataset.save on a task of Capstan that sees this folder",
            )
        nothing = dataset_windows.Rows(self.spec, ())
        return ordered(dataset_cache.FileCache(self.spec, nothing, name), self.order, run)


def ordered(stored: Dataset, order: Captured, run: Run) -> Iterator[Element]:
    """Begin a pass over the dataset that `order` makes of the dataset of all parts."""
    parts: Sequence[Element] = ((elements.scalar(stored),),)
    of_parts = elements.scalar(dataset_windows.Rows(Spec((dtypes.variant,), ((),)), tuple(parts)))
    return dataset_functions.dataset_in(order.bound(run)(of_parts)).start(run)
