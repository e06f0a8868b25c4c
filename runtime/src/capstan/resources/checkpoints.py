"""Checkpoints of both formats by name: bundles (V2), and the files of format V1."""

from typing import Protocol

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.resources import bundle, durable, files, slice_files, slices


class Checkpoint(Protocol):
    """A checkpoint to read."""

    @property
    def names(self) -> list[str]:
        """The names of the tensors, sorted."""

    def dtype(self, name: str) -> dtypes.DType:
        """Return the type of a tensor."""

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor."""

    def slice_count(self, name: str) -> int:
        """Return the number of slices in which a tensor was saved. A full tensor is one slice."""

    def read(self, name: str, extents: slices.Slice | None = None) -> Array:
        """Return a tensor, or one slice of it, as a new array."""


def opened(prefix: str) -> Checkpoint:
    """Open the checkpoint `prefix`. In format V1, the name of a shard may contain `?` and `*`.

    Raises:
        NotFoundError: there is no checkpoint of that name.
        DataLossError: the index of the checkpoint, or a file of format V1, is damaged.
    """
    if not _exists(bundle.index_file(prefix)) and slice_files.matching(prefix):
        return slice_files.SliceFiles(prefix)
    return bundle.Bundle(prefix)


def first_file(prefix: str) -> str | None:
    """Return the index, or the first file of format V1, of a checkpoint. None if it is missing."""
    index = bundle.index_file(prefix)
    return index if _exists(index) else next(iter(slice_files.matching(prefix)), None)


def remove(prefix: str, version: int) -> None:
    """Delete the files of a checkpoint of format `version`. A missing file is not an error."""
    if version == bundle.VERSION:
        bundle.remove(prefix)
        return
    for file in slice_files.matching(prefix):
        durable.remove(file)


def _exists(name: str) -> bool:
    return files.of(name).exists(name)
