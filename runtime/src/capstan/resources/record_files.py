"""The records of one file, for each kind of reader (core/kernels/*_reader_op.cc), and how a file of
records is written (core/lib/io/record_writer.cc).
"""

import contextlib
import io
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, Protocol

from capstan import errors
from capstan.core import attr_value, tfrecord
from capstan.resources import files

Record = tuple[bytes, bytes]
"""The key and the value of a record."""

_CHUNK = 1 << 18


class Records(Protocol):
    """The records of one work unit, which is a file name. One thread at a time may use them."""

    def read(self) -> Record | None:
        """Return the next record, or None after the last. After an error, read it again."""

    def close(self) -> None: ...


Open = Callable[[bytes], Records]
"""Opens the records of a work unit. Raises an OpError if the file cannot be opened."""


class Lines:
    """The lines of a text file. The key of a line is `file:number`, counted from 1."""

    def __init__(self, work: bytes, skipped: int) -> None:
        self._work = work
        self._file = files.open_file(attr_value.text(work))
        self._number = 0
        while self._number < skipped and self._file.readline():
            self._number += 1

    def read(self) -> Record | None:
        line = self._file.readline()
        if not line:
            return None
        self._number += 1
        return b"%s:%d" % (self._work, self._number), stripped(line)

    def close(self) -> None:
        self._file.close()


def stripped(line: bytes) -> bytes:
    r"""Return a line without the line break at its end.

    >>> stripped(b"a\r\n"), stripped(b"a\r"), stripped(b"a\r\r\n")
    (b'a', b'a', b'a\r')
    """
    return line.removesuffix(b"\n").removesuffix(b"\r")


class TFRecords:
    """The records of a TFRecord file. The key is `file:offset`, without compression."""

    def __init__(self, work: bytes, compression: str) -> None:
        self._work = work
        self._file = opened(attr_value.text(work), compression)
        self._records = tfrecord.records(self._file.read)
        self._offset = 0
        self._error: errors.OpError | None = None

    def read(self) -> Record | None:
        if self._error is not None:
            raise self._error
        try:
            record = next(self._records, None)
        except errors.DataLossError as error:
            self._error = error
            raise
        if record is None:
            return None
        key = b"%s:%d" % (self._work, self._offset)
        self._offset += tfrecord.HEADER_SIZE + len(record) + tfrecord.FOOTER_SIZE
        return key, record

    def close(self) -> None:
        self._file.close()


class FixedLengthRecords:
    """Records of equal length. The key is `file:number`, counted from 0.

    A file has a header, records and a footer. A record begins `hop` bytes after the record before,
    so records may overlap.
    """

    def __init__(
        self, work: bytes, header: int, record: int, footer: int, hop: int, compression: str
    ) -> None:
        self._work = work
        self._length, self._footer, self._hop = record, footer, hop or record
        self._file = opened(attr_value.text(work), compression)
        self._number = 0
        if len(self._file.read(header)) < header:
            self.close()
            raise errors.OutOfRangeError(None, None, "reached end of file")
        self._ahead = b""

    def read(self) -> Record | None:
        if self._number:
            missing = self._hop - len(self._ahead)
            self._ahead = self._ahead[self._hop :]
            if missing > 0 and len(self._file.read(missing)) < missing:
                return None
        wanted = self._length + self._footer
        self._ahead += self._file.read(max(0, wanted - len(self._ahead)))
        if len(self._ahead) < wanted:
            return None
        key = b"%s:%d" % (self._work, self._number)
        self._number += 1
        return key, self._ahead[: self._length]

    def close(self) -> None:
        self._file.close()


class SingleRecord:
    """The only record of a work unit. `value` returns its value."""

    def __init__(self, work: bytes, value: Callable[[bytes], bytes]) -> None:
        self._work = work
        self._value = value

    def read(self) -> Record | None:
        return self._work, self._value(self._work)

    def close(self) -> None:
        pass


def content(work: bytes) -> bytes:
    """Return the content of the file whose name is `work`."""
    return files.read_all(attr_value.text(work))


def opened(name: str, compression: str) -> BinaryIO:
    """Open a file to read. `compression` is ``, `ZLIB` or `GZIP`.

    Damaged compressed data raise DataLossError.
    """
    file = files.open_file(name)
    if not compression:
        return file
    return io.BufferedReader(_Decompressed(file, compression), _CHUNK)


class _Decompressed(io.RawIOBase):
    """The decompressed content of a file."""

    def __init__(self, file: BinaryIO, compression: str) -> None:
        super().__init__()
        self._file = file
        self._bits = zlib.MAX_WBITS | (16 if compression == "GZIP" else 0)
        self._stream = zlib.decompressobj(self._bits)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]  # RawIOBase: any buffer
        data = self._next(len(view))
        view[: len(data)] = data
        return len(data)

    def _next(self, limit: int) -> bytes:
        """Return at most `limit` bytes, or none at the end of the file."""
        while True:
            if self._stream.eof:
                # A file may consist of several compressed streams.
                rest = self._stream.unused_data
                if not rest and not (rest := self._file.read(_CHUNK)):
                    return b""
                self._stream = zlib.decompressobj(self._bits)
            else:
                rest = self._stream.unconsumed_tail or self._file.read(_CHUNK)
            try:
                data = self._stream.decompress(rest, limit)
            except zlib.error as error:
                raise errors.DataLossError(None, None, f"inflate() failed: {error}") from error
            if data or (not rest and not self._stream.eof):
                return data

    def close(self) -> None:
        self._file.close()
        super().close()


_WINDOW_BITS: Final = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS + 16}


@contextlib.contextmanager
def writing(name: str, compression: str) -> Iterator[Callable[[bytes], None]]:
    """Replace a file, and yield the function that appends bytes to it.

    As in TensorFlow, the file is not compressed if there is no such compression.

    Raises:
        OpError: the file cannot be written.
    """
    bits = _WINDOW_BITS.get(compression)
    compressor = None if bits is None else zlib.compressobj(wbits=bits)
    with files.translated(name), files.open_file(name, "wb") as file:

        def append(content: bytes) -> None:
            file.write(content if compressor is None else compressor.compress(content))

        yield append
        if compressor is not None:
            file.write(compressor.flush())
