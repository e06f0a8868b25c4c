"""`tf.python_io`: TFRecord files outside of a graph (python/lib/io/tf_record.py)."""

import zlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any, BinaryIO

from capstan import errors
from capstan.api import compat
from capstan.api.absent import absent
from capstan.core import tfrecord
from capstan.resources import files, record_files

__all__ = [
    "TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator",
]  # fmt: skip


class TFRecordCompressionType:
    """The compression of a TFRecord file."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """The compression of a TFRecord file, and the settings of zlib for a writer.

    `compression_type` is `GZIP`, `ZLIB`, an empty string, or a TFRecordCompressionType. The
    settings are as for `zlib.compressobj`. `flush_mode` and the buffer sizes have no effect.

    Raises:
        ValueError: there is no such compression.
    """

    compression_type_map = {  # noqa: RUF012 - TensorFlow's name, which nothing changes
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Return the compression that options, a type or a string name: `ZLIB`, `GZIP` or ``.

        Raises:
            ValueError: there is no such compression.
        """
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return str(options)
        raise ValueError(f'Not a valid compression_type: "{options}"')


class TFRecordWriter:
    """Writes records to a TFRecord file. An existing file is replaced. Not thread-safe.

    A writer is also a context manager that closes the file. `options` is as the argument of
    `TFRecordOptions.get_compression_type_string`.

    Raises:
        ValueError: there is no such compression.
        NotFoundError, PermissionDeniedError, ...: the file cannot be written.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(compression_type=options)
        self._compressor = _compressor(options)
        self._name = compat.as_str(path)
        self._file: BinaryIO = files.open_file(self._name, "wb")

    def __enter__(self) -> "TFRecordWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def write(self, record: Any) -> None:
        """Write a record: bytes, or text, which is encoded as UTF-8.

        Raises:
            FailedPreconditionError: the writer is closed.
        """
        self._check_open()
        framed = tfrecord.encode(compat.as_bytes(record))
        data = framed if self._compressor is None else self._compressor.compress(framed)
        with files.translated(self._name):
            self._file.write(data)

    def flush(self) -> None:
        """Hand all records to the operating system. Readers of the file then find them.

        Raises:
            FailedPreconditionError: the writer is closed.
        """
        self._check_open()
        with files.translated(self._name):
            if self._compressor is not None:
                self._file.write(self._compressor.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def close(self) -> None:
        """Write what is left, and close the file. A second call changes nothing."""
        if self._file.closed:
            return
        with files.translated(self._name), self._file:
            if self._compressor is not None:
                self._file.write(self._compressor.flush())

    def _check_open(self) -> None:
        if self._file.closed:
            raise errors.FailedPreconditionError(
                None, None, f"The writer of {self._name} is closed: make another writer"
            )


def _compressor(options: TFRecordOptions) -> Any:
    """Return the compressor of a writer, or None if the file is not compressed."""
    kind = options.get_compression_type_string(options)
    if not kind:
        return None
    bits = zlib.MAX_WBITS if options.window_bits is None else options.window_bits
    level, method = options.compression_level, options.compression_method
    memory, strategy = options.mem_level, options.compression_strategy
    return zlib.compressobj(
        zlib.Z_DEFAULT_COMPRESSION if level is None else level,
        zlib.DEFLATED if method is None else method,
        bits + 16 if kind == "GZIP" and bits <= zlib.MAX_WBITS else bits,
        zlib.DEF_MEM_LEVEL if memory is None else memory,
        zlib.Z_DEFAULT_STRATEGY if strategy is None else strategy,
    )


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yield the records of a TFRecord file.

    Raises:
        NotFoundError, PermissionDeniedError, ...: the file cannot be read.
        DataLossError: the file is damaged.
    """
    kind = TFRecordOptions.get_compression_type_string(options)
    records = record_files.TFRecords(compat.as_bytes(path), kind)
    try:
        while (record := records.read()) is not None:
            yield record[1]
    finally:
        records.close()


def __getattr__(name: str) -> Any:
    raise absent("tf.python_io", name)
