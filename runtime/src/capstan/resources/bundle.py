"""Checkpoints on disk: TensorFlow's tensor bundles, format V2 (core/util/tensor_bundle).

A bundle `model.ckpt-7` is an index, `model.ckpt-7.index`, and the bytes of the tensors in shards,
`model.ckpt-7.data-00000-of-00002` and so on. `bundle_writer` writes bundles.
"""

import functools
import glob
import struct
from collections.abc import Sequence

import numpy as np

from capstan import errors
from capstan.core import bundle_entry, crc32c, dtypes, sstable, varint
from capstan.core.arrays import Array
from capstan.resources import bundle_variants, durable, files, slices

VERSION = 2
"""The number of this format in a SaverDef."""

CHECKSUM = struct.Struct("<I")
"""The form of the checksum of the lengths of strings."""


def index_file(prefix: str) -> str:
    """Return the name of the index of bundle `prefix`."""
    return f"{prefix}.index"


def data_file(prefix: str, shard: int, shards: int) -> str:
    """Return the name of one shard of bundle `prefix`."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def remove(prefix: str) -> None:
    """Delete the files of bundle `prefix`, the index first. A missing file is not an error."""
    durable.remove(index_file(prefix))
    for shard in files.of(prefix).matching(f"{glob.escape(prefix)}.data-?????-of-?????"):
        durable.remove(shard)


def not_found(prefix: str) -> errors.NotFoundError:
    """Return the error for a checkpoint that does not exist."""
    return errors.NotFoundError(
        None,
        None,
        "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
        f"{prefix}",
    )


class Bundle:
    """A bundle to read. The constructor reads the index, `read` reads the tensors. Thread-safe.

    Raises:
        NotFoundError: there is no bundle of that name.
        DataLossError: the index is damaged.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        try:
            table = sstable.decode(files.read_all(index_file(prefix)))
            self.shards = bundle_entry.decode_header(table.pop(bundle_entry.HEADER_KEY))
        except (errors.NotFoundError, errors.FailedPreconditionError) as error:
            # The name of a folder is a name of no checkpoint, and neither is a file in a file.
            raise not_found(prefix) from error
        except KeyError as error:
            raise self._damaged("the index has no header") from error
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

    def slice_count(self, name: str) -> int:
        """Return the number of slices in which a tensor was saved. A full tensor is one slice."""
        return max(1, len(self._entry(name).slices))

    def read(self, name: str, extents: slices.Slice | None = None) -> Array:
        """Return a tensor, or one slice of it, as a new array.

        Strings come as an object array of `bytes`. Of a tensor that was saved in slices, only the
        slices that overlap `extents` are read.

        Raises:
            NotFoundError: the bundle has no tensor of that name.
            InvalidArgumentError: the tensor was saved in slices that do not cover `extents`.
            DataLossError: bytes of the tensor are damaged or missing.
        """
        entry = self._entry(name)
        if not entry.slices:
            full = self._read(entry, name)
            return full if extents is None else full[bundle_entry.index_of(extents)].copy()
        wanted = extents or ((0, bundle_entry.WHOLE),) * len(entry.shape)
        load = functools.partial(self._slice, name)
        try:
            dtype = dtypes.as_dtype(entry.dtype)
            return slices.gathered(wanted, entry.shape, dtype, entry.slices, load)
        except slices.NotCoveredError as error:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"tensor {name}: {error} in {self.prefix}. The graph that saved it cut the tensor "
                "otherwise than this graph. Use the same number of parts, or save the tensor with "
                "all its parts",
            ) from error
        except ValueError as error:
            raise self._damaged(f"tensor {name}: {error}") from error

    def _slice(self, name: str, extents: slices.Slice) -> Array:
        part = self.entries.get(bundle_entry.slice_key(name.encode(), extents))
        if part is None:
            raise self._damaged(f"a slice of {name} is missing")
        return self._read(part, name)

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
        count = files.of(path).read_into(path, entry.offset, buffer.data)
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
            crc = crc_of_lengths(lengths)
            checksum = data[position : position + CHECKSUM.size]
            if CHECKSUM.unpack(checksum) != (crc32c.mask(crc),):
                raise self._damaged(f"checksum does not match for the lengths of tensor {name}")
        except (ValueError, struct.error) as error:
            raise self._damaged(f"tensor {name}: {error}") from error
        position += CHECKSUM.size
        if crc32c.mask(crc32c.extend(crc, data[position - CHECKSUM.size :])) != entry.crc:
            raise self._damaged(f"checksum does not match for tensor {name}")
        for number, length in enumerate(lengths):
            strings.flat[number] = data[position : position + length]
            position += length
        return strings

    def _damaged(self, why: str) -> errors.DataLossError:
        return errors.DataLossError(None, None, f"checkpoint {self.prefix} is damaged: {why}")


def crc_of_lengths(lengths: Sequence[int]) -> int:
    """Return the checksum of the lengths of a tensor's strings, without the mask."""
    # TensorFlow includes a length as an integer of four bytes, or of eight if it needs more.
    packed = (struct.pack("<I" if length < 1 << 32 else "<Q", length) for length in lengths)
    return crc32c.extend(0, b"".join(packed))
