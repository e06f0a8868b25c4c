"""Checkpoints on disk in format V1: one file, or one file for each shard (core/util/tensor_slice).

Format V2 (`bundle`) has replaced this format. TensorFlow still reads it, and writes it for a
`tf.train.Saver(write_version=tf.train.SaverDef.V1)`.
"""

import functools
import math
from collections.abc import Iterable

from capstan import errors
from capstan.core import bundle_entry, dtypes, saved_slices, sstable
from capstan.core.arrays import Array
from capstan.resources import bundle, bundle_writer, durable, files, slices

VERSION = 1
"""The number of this format in a SaverDef."""


def matching(pattern: str) -> list[str]:
    """Return the files of a checkpoint, sorted. `?` and `*` stand for parts of a file's name."""
    if _is_file(pattern):
        return [pattern]
    return sorted(filter(_is_file, files.of(pattern).matching(pattern)))


def _is_file(name: str) -> bool:
    system = files.of(name)
    return system.exists(name) and not system.status(name).is_directory


def write(path: str, pieces: Iterable[bundle_writer.Piece]) -> None:
    """Write a file of tensors and slices. Create its folder if it does not exist.

    Blocks until the file is on the disk.

    Raises:
        InvalidArgumentError: a slice is too large for the format, or occurs twice.
        PermissionDeniedError, NotFoundError, ...: the operating system refused a call.
    """
    listed: dict[str, saved_slices.Listed] = {}
    table: dict[bytes, bytes] = {}
    for piece in pieces:
        shape = piece.full_shape if piece.extents else piece.value.shape
        extents = piece.extents or ((0, bundle_entry.WHOLE),) * len(shape)
        key = bundle_entry.slice_key(piece.name.encode(), extents)
        if key in table:
            raise errors.InvalidArgumentError(None, None, f"Adding duplicate key: {piece.name}")
        table[key] = saved_slices.encode_values(piece.name, extents, piece.value)
        earlier = listed[piece.name].slices if piece.name in listed else ()
        number = dtypes.as_dtype(piece.value.dtype).as_datatype_enum
        listed[piece.name] = saved_slices.Listed(piece.name, number, shape, (*earlier, extents))
    table[saved_slices.LIST_KEY] = saved_slices.encode_list(listed.values())
    durable.make_folder_of(path)
    with durable.replacing(path) as file:
        file.write(sstable.encode(table))


class SliceFiles:
    """The files of a checkpoint to read. The constructor reads the files. Thread-safe.

    Raises:
        NotFoundError: no file matches `pattern`.
        DataLossError: a file is damaged, or is not a checkpoint.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        names = matching(pattern)
        if not names:
            raise bundle.not_found(pattern)
        self._records: dict[bytes, bytes] = {}
        self._listed: dict[str, saved_slices.Listed] = {}
        for file in names:
            table = _table(file)
            for tensor in saved_slices.decode_list(table.pop(saved_slices.LIST_KEY)):
                known = self._listed.get(tensor.name)
                self._listed[tensor.name] = tensor if known is None else _joined(known, tensor)
            self._records.update(table)

    @property
    def names(self) -> list[str]:
        """The names of the tensors, sorted. A tensor that was saved in slices is listed once."""
        return sorted(self._listed)

    def dtype(self, name: str) -> dtypes.DType:
        return dtypes.as_dtype(self._tensor(name).dtype)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._tensor(name).shape

    def slice_count(self, name: str) -> int:
        """Return the number of slices in which a tensor was saved. A full tensor is one slice."""
        return len(self._tensor(name).slices)

    def read(self, name: str, extents: slices.Slice | None = None) -> Array:
        """Return a tensor, or one slice of it, as a new array. Strings come as objects of `bytes`.

        Raises:
            NotFoundError: the checkpoint has no tensor of that name.
            DataLossError: the values of the tensor are damaged or missing.
        """
        tensor = self._tensor(name)
        wanted = extents or ((0, bundle_entry.WHOLE),) * len(tensor.shape)
        dtype, load = dtypes.as_dtype(tensor.dtype), functools.partial(self._load, tensor)
        try:
            return slices.gathered(wanted, tensor.shape, dtype, tensor.slices, load)
        except ValueError as error:
            raise errors.DataLossError(
                None, None, f"checkpoint {self._pattern} is damaged: tensor {name}: {error}"
            ) from error

    def _tensor(self, name: str) -> saved_slices.Listed:
        if name not in self._listed:
            raise errors.NotFoundError(
                None, None, f"{name} not found in checkpoint files {self._pattern}"
            )
        return self._listed[name]

    def _load(self, tensor: saved_slices.Listed, extents: slices.Slice) -> Array:
        record = self._records.get(bundle_entry.slice_key(tensor.name.encode(), extents))
        if record is None:
            raise ValueError("a slice is missing")
        shape = tuple(
            size if length == bundle_entry.WHOLE else length
            for size, (_, length) in zip(tensor.shape, extents, strict=True)
        )
        dtype = dtypes.as_dtype(tensor.dtype)
        return saved_slices.decode_values(record, dtype, math.prod(shape)).reshape(shape)


def _table(file: str) -> dict[bytes, bytes]:
    """Return the records of a file."""
    data = files.read_all(file)
    try:
        table = sstable.decode(data)
    except errors.DataLossError as error:
        raise errors.DataLossError(
            None,
            None,
            f"Unable to open table file {file}: {error.message}: perhaps your file is in a "
            "different file format and you need to use a different restore operator?",
        ) from error
    if saved_slices.LIST_KEY not in table:
        raise errors.DataLossError(None, None, f"the checkpoint {file} has no list of tensors")
    return table


def _joined(known: saved_slices.Listed, more: saved_slices.Listed) -> saved_slices.Listed:
    """Return a tensor whose slices are in several files."""
    if (known.dtype, known.shape) != (more.dtype, more.shape):
        raise errors.DataLossError(
            None, None, f"the shards of tensor {known.name} have different dtypes or shapes"
        )
    return saved_slices.Listed(known.name, known.dtype, known.shape, known.slices + more.slices)
