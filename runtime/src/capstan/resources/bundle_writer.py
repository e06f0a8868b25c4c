"""Writing of checkpoints in TensorFlow's format V2: tensor bundles (core/util/tensor_bundle).

Each file is written under a temporary name, synced to the disk, and renamed. Then its folder is
synced. In a store such as `s3://`, each file is uploaded whole. The index is written last. If the
index can be read, all data that it names are complete, even after the machine lost power.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from capstan import errors
from capstan.core import bundle_entry, crc32c, dtypes, sstable, varint
from capstan.core.arrays import Array
from capstan.resources import bundle, bundle_variants, durable, file_names, files


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
    durable.make_folder_of(prefix)
    with durable.replacing(bundle.data_file(prefix, 0, 1)) as file:
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
        part = bundle.Bundle(prefix)
        for key, entry in part.entries.items():
            if key in entries and not entry.slices:
                raise errors.InvalidArgumentError(
                    None, None, f"Tensor {key.decode(errors='replace')!r} is in several bundles"
                )
            entries[key] = _joined(entries.get(key), entry, first_shard=len(moves))
        moves += [bundle.data_file(prefix, shard, part.shards) for shard in range(part.shards)]
    durable.make_folder_of(destination)
    for shard, source in enumerate(moves):
        durable.move(source, bundle.data_file(destination, shard, len(moves)))
    durable.sync_folder_of(destination)
    _write_index(destination, len(moves), entries)
    for prefix in prefixes:
        durable.remove(bundle.index_file(prefix))
    if delete_folders:
        for folder in {file_names.folder_of(prefix) for prefix in prefixes}:
            # Another saver may keep its parts in the same folder, which is then not empty. Object
            # stores have no folders.
            with contextlib.suppress(errors.OpError):
                files.of(folder).remove_folder(folder)


def _add(entries: dict[bytes, bundle_entry.Entry], piece: Piece, entry: bundle_entry.Entry) -> None:
    key = name = piece.name.encode()
    if piece.extents:
        key = bundle_entry.slice_key(name, piece.extents)
        listed = bundle_entry.Entry(entry.dtype, piece.full_shape, slices=(piece.extents,))
        entries[name] = _joined(entries.get(name), listed, first_shard=0)
    if key in entries:
        raise errors.InvalidArgumentError(None, None, f"Adding duplicate key: {piece.name}")
    entries[key] = entry


def _write_tensor(file: IO[bytes], value: Array) -> bundle_entry.Entry:
    offset = file.tell()
    dtype = dtypes.as_dtype(value.dtype)
    if bundle_variants.holds_variants(value):
        dtype = dtypes.variant
        data, crc = bundle_variants.encoded(value)
        file.write(data)
    elif dtype is dtypes.string:
        strings = [bytes(string) for string in value.flat]
        lengths = [len(string) for string in strings]
        crc = bundle.crc_of_lengths(lengths)
        checksum = bundle.CHECKSUM.pack(crc32c.mask(crc))
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


def _write_index(prefix: str, shards: int, entries: Mapping[bytes, bundle_entry.Entry]) -> None:
    table = {key: entry.encode() for key, entry in entries.items()}
    table[bundle_entry.HEADER_KEY] = bundle_entry.encode_header(shards)
    with durable.replacing(bundle.index_file(prefix)) as file:
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
