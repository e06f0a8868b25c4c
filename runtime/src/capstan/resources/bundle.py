"""Checkpoints on disk: TensorFlow's tensor bundles, format V2 (core/util/tensor_bundle).

A bundle `model.ckpt-7` is an index, `model.ckpt-7.index`, and the bytes of the tensors in shards,
`model.ckpt-7.data-00000-of-00002` and so on. Each file is written under a temporary name, synced to
the disk, and renamed. Then its folder is synced. The index is written last. If the index can be
read, all data that it names are complete, even after the machine lost power.
"""

import contextlib
import glob
import os
import pathlib
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from capstan import errors
from capstan.core import bundle_entry, crc32c, dtypes, sstable, varint
from capstan.core.arrays import Array
from capstan.resources import bundle_variants, durable

_CHECKSUM = struct.Struct("<I")


def index_file(prefix: str) -> str:
    """Return the name of the index of bundle `prefix`."""
    return f"{prefix}.index"


def data_file(prefix: str, shard: int, shards: int) -> str:
    """Return the name of one shard of bundle `prefix`."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


@dataclass(frozen=True, slots=True)
class Piece:
    """A tensor to write, or one slice of it.

    Strings are object arrays of `bytes`. The `extents` of a slice say where the slice lies in the
    full tensor, whose shape is `full_shape`. For a full tensor, both are empty.
    """

    name: str
    value: Array
    full_shape: tuple[int, ...] = ()
    extents: tuple[bundle_entry.Extent, ...] = ()


def write(prefix: str, pieces: Iterable[Piece]) -> None:
    """Write a bundle of one shard. Create its folder if it does not exist.

    Other threads may change an array during the call. Its value at one moment of the call is
    written. Blocks until the bundle is on the disk.

    Raises:
        InvalidArgumentError: a name or a slice occurs twice.
        PermissionDeniedError, NotFoundError, ...: the operating system refused a call.
    """
    entries: dict[bytes, bundle_entry.Entry] = {}
    with _translated(prefix):
        durable.make_folder_of(prefix)
        with durable.replacing(data_file(prefix, 0, 1)) as file:
            for piece in pieces:
                _add(entries, piece, _write_tensor(file, piece.value))
        _write_index(prefix, 1, entries)


def merge(prefixes: Sequence[str], destination: str, *, delete_folders: bool) -> None:
    """Merge bundles into one: rename their shards, write a new index and delete the old ones.

    If `delete_folders`, also delete the folders of `prefixes`, except folders that hold other
    files. Blocks until the merged bundle is on the disk.

    Raises:
        InvalidArgumentError: two bundles hold the same tensor.
        NotFoundError: one of the bundles does not exist.
    """
    entries: dict[bytes, bundle_entry.Entry] = {}
    moves: list[str] = []
    for prefix in prefixes:
        part = Bundle(prefix)
        for key, entry in part.entries.items():
            if key in entries and not entry.slices:
                raise errors.InvalidArgumentError(
                    None, None, f"Tensor {key.decode(errors='replace')!r} is in several bundles"
                )
            entries[key] = _joined(entries.get(key), entry, first_shard=len(moves))
        moves += [data_file(prefix, shard, part.shards) for shard in range(part.shards)]
    with _translated(destination):
        durable.make_folder_of(destination)
        for shard, source in enumerate(moves):
            os.replace(source, data_file(destination, shard, len(moves)))
        durable.sync_folder_of(destination)
        _write_index(destination, len(moves), entries)
        for prefix in prefixes:
            pathlib.Path(index_file(prefix)).unlink()
    if delete_folders:
        for folder in {pathlib.Path(prefix).parent for prefix in prefixes}:
            # Another saver may keep its parts in the same folder, which is then not empty.
            with contextlib.suppress(OSError):
                folder.rmdir()


def remove(prefix: str) -> None:
    """Delete the files of bundle `prefix`, the index first. Missing files are no error."""
    path = pathlib.Path(prefix)
    pathlib.Path(index_file(prefix)).unlink(missing_ok=True)
    for shard in path.parent.glob(f"{glob.escape(path.name)}.data-?????-of-?????"):
        shard.unlink(missing_ok=True)


class Bundle:
    """A bundle to read. The constructor reads the index, `read` reads the tensors. Thread-safe.

    Raises:
        NotFoundError: there is no bundle of that name.
        DataLossError: the index is damaged.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        try:
            table = sstable.decode(pathlib.Path(index_file(prefix)).read_bytes())
            self.shards = bundle_entry.decode_header(table.pop(bundle_entry.HEADER_KEY))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise errors.NotFoundError(
                None,
                None,
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files "
                f"for {prefix}",
            ) from error
        except KeyError as error:
            raise self._damaged("the index has no header") from error
        except OSError as error:
            raise _from_os(error, index_file(prefix)) from error
        except errors.DataLossError as error:
            raise self._damaged(error.message) from error
        self.entries = {key: bundle_entry.Entry.decode(value) for key, value in table.items()}

    @property
    def names(self) -> list[str]:
        """The names of the tensors, sorted. A tensor that was saved in slices is listed once."""
        # The key of a slice starts with a zero byte. A name never does.
        return [key.decode() for key in self.entries if not key.startswith(b"\0")]

    def dtype(self, name: str) -> dtypes.DType:
        return dtypes.as_dtype(self._entry(name).dtype)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._entry(name).shape

    def read(self, name: str) -> Array:
        """Return a tensor as a new array. Strings come as an object array of `bytes`.

        Raises:
            NotFoundError: the bundle has no tensor of that name.
            DataLossError: bytes of the tensor are damaged or missing.
        """
        entry = self._entry(name)
        if not entry.slices:
            return self._read(entry, name)
        array = np.empty(entry.shape, dtypes.as_dtype(entry.dtype).as_numpy_dtype)
        for extents in entry.slices:
            part = self.entries.get(bundle_entry.slice_key(name.encode(), extents))
            if part is None:
                raise self._damaged(f"a slice of {name} is missing")
            array[bundle_entry.index_of(extents)] = self._read(part, name)
        return array

    def _entry(self, name: str) -> bundle_entry.Entry:
        entry = self.entries.get(name.encode())
        if entry is None:
            raise errors.NotFoundError(
                None, None, f"Key {name} not found in checkpoint {self.prefix}"
            )
        return entry

    def _read(self, entry: bundle_entry.Entry, name: str) -> Array:
        path = data_file(self.prefix, entry.shard, self.shards)
        buffer = np.empty(entry.size, np.uint8)
        try:
            with open(path, "rb") as file:
                file.seek(entry.offset)
                count = file.readinto(buffer.data)
        except OSError as error:
            raise _from_os(error, path) from error
        if count != entry.size:
            raise self._damaged(f"{path} ends within tensor {name}")
        dtype = dtypes.as_dtype(entry.dtype)
        if dtype is dtypes.string:
            return self._strings(buffer.tobytes(), entry, name)
        if dtype is dtypes.variant:
            try:
                return bundle_variants.decoded(buffer.tobytes(), entry.shape)
            except ValueError as error:
                raise self._damaged(f"tensor {name}: {error}") from error
        if crc32c.masked(buffer) != entry.crc:
            raise self._damaged(f"checksum does not match for tensor {name}")
        array: Array = buffer.view(dtype.as_numpy_dtype).reshape(entry.shape)
        return array

    def _strings(self, data: bytes, entry: bundle_entry.Entry, name: str) -> Array:
        strings = np.empty(entry.shape, object)
        try:
            lengths, position = [], 0
            for _ in range(strings.size):
                length, position = varint.decode(data, position)
                lengths.append(length)
            crc = _crc_of_lengths(lengths)
            checksum = data[position : position + _CHECKSUM.size]
            if _CHECKSUM.unpack(checksum) != (crc32c.mask(crc),):
                raise self._damaged(f"checksum does not match for the lengths of tensor {name}")
        except (ValueError, struct.error) as error:
            raise self._damaged(f"tensor {name}: {error}") from error
        position += _CHECKSUM.size
        if crc32c.mask(crc32c.extend(crc, data[position - _CHECKSUM.size :])) != entry.crc:
            raise self._damaged(f"checksum does not match for tensor {name}")
        for number, length in enumerate(lengths):
            strings.flat[number] = data[position : position + length]
            position += length
        return strings

    def _damaged(self, why: str) -> errors.DataLossError:
        return errors.DataLossError(None, None, f"checkpoint {self.prefix} is damaged: {why}")


def _add(entries: dict[bytes, bundle_entry.Entry], piece: Piece, entry: bundle_entry.Entry) -> None:
    key = name = piece.name.encode()
    if piece.extents:
        key = bundle_entry.slice_key(name, piece.extents)
        listed = bundle_entry.Entry(entry.dtype, piece.full_shape, slices=(piece.extents,))
        entries[name] = _joined(entries.get(name), listed, first_shard=0)
    if key in entries:
        raise errors.InvalidArgumentError(None, None, f"Adding duplicate key: {piece.name}")
    entries[key] = entry


def _write_tensor(file: BinaryIO, value: Array) -> bundle_entry.Entry:
    offset = file.tell()
    dtype = dtypes.as_dtype(value.dtype)
    if bundle_variants.holds_variants(value):
        dtype = dtypes.variant
        data, crc = bundle_variants.encoded(value)
        file.write(data)
    elif dtype is dtypes.string:
        strings = [bytes(string) for string in value.flat]
        lengths = [len(string) for string in strings]
        crc = _crc_of_lengths(lengths)
        checksum = _CHECKSUM.pack(crc32c.mask(crc))
        file.write(b"".join(map(varint.encode, lengths)))
        for part in (checksum, *strings):
            file.write(part)
            crc = crc32c.extend(crc, part)
    else:
        data = value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
        crc = crc32c.extend(0, data)
        file.write(data)
    size = file.tell() - offset
    number = dtype.as_datatype_enum
    return bundle_entry.Entry(number, value.shape, 0, offset, size, crc32c.mask(crc))


def _crc_of_lengths(lengths: Sequence[int]) -> int:
    # TensorFlow includes a length as an integer of four bytes, or of eight if it needs more.
    packed = (struct.pack("<I" if length < 1 << 32 else "<Q", length) for length in lengths)
    return crc32c.extend(0, b"".join(packed))


def _write_index(prefix: str, shards: int, entries: Mapping[bytes, bundle_entry.Entry]) -> None:
    table = {key: entry.encode() for key, entry in entries.items()}
    table[bundle_entry.HEADER_KEY] = bundle_entry.encode_header(shards)
    with durable.replacing(index_file(prefix)) as file:
        file.write(sstable.encode(table))


def _joined(
    present: bundle_entry.Entry | None, entry: bundle_entry.Entry, first_shard: int
) -> bundle_entry.Entry:
    """Return `entry` for a bundle that also has entry `present` under the same key.

    The shards of `entry` follow `first_shard` other shards. The lists of slices are joined.
    """
    slices = (present.slices if present else ()) + entry.slices
    return bundle_entry.Entry(
        entry.dtype,
        entry.shape,
        entry.shard if entry.slices else entry.shard + first_shard,
        entry.offset,
        entry.size,
        entry.crc,
        slices,
    )


@contextlib.contextmanager
def _translated(prefix: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _from_os(error, prefix) from error


def _from_os(error: OSError, path: str) -> errors.OpError:
    kinds: Mapping[type[OSError], type[errors.OpError]] = {
        FileNotFoundError: errors.NotFoundError,
        PermissionError: errors.PermissionDeniedError,
        FileExistsError: errors.FailedPreconditionError,
        NotADirectoryError: errors.FailedPreconditionError,
        IsADirectoryError: errors.FailedPreconditionError,
    }
    kind = kinds.get(type(error), errors.UnknownError)
    return kind(None, None, f"{error.filename or path}; {error.strerror or error}")
