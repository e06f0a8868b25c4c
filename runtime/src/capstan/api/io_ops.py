"""Readers, and the ops that read and write whole files (python/ops/io_ops.py)."""

from typing import Any

from capstan.api import plain
from capstan.api.data_flow_ops import QueueBase
from capstan.framework.raw import raw

__all__ = [
    "FixedLengthRecordReader", "IdentityReader", "ReaderBase", "TFRecordReader", "TextLineReader",
    "WholeFileReader", "matching_files", "read_file", "write_file",
]  # fmt: skip

matching_files = plain.function(
    "matching_files", "MatchingFiles", "Return the sorted names of the files that match patterns."
)
read_file = plain.function("read_file", "ReadFile", "Return the content of a file as a string.")
write_file = plain.function(
    "write_file", "WriteFile", "Write a string to a file, and replace the file if it exists."
)


class ReaderBase:
    """A reader returns the records of the files whose names it takes from a queue.

    A reader lives on one task. Without a shared name, each session has its own.
    """

    def __init__(self, reader_ref: Any, supports_serialize: bool = False) -> None:
        """`reader_ref` is the output of the operation that makes the reader."""
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Any:
        """The handle of the reader."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether `serialize_state` and `restore_state` work for readers of this kind."""
        return self._supports_serialize

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Return the key and the value of the next record: two scalar strings.

        `queue` is a queue of strings, or its handle. After the last record of a file, the operation
        takes the next name from the queue. It waits while the queue is empty, and fails with
        OutOfRangeError if the queue is closed and empty.
        """
        return raw.ReaderReadV2(self._reader_ref, _handle(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Return the keys and the values of the next records: two vectors of strings.

        There are at most `num_records` records, all of one file. If one after the first is damaged,
        the records before it are returned, and the next read fails.
        """
        return raw.ReaderReadUpToV2(self._reader_ref, _handle(queue), num_records, name=name)

    def num_records_produced(self, name: str | None = None) -> Any:
        """Return the number of records that the reader has returned, as int64."""
        return raw.ReaderNumRecordsProducedV2(self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Any:
        """Return the number of files that the reader has read to the end, as int64."""
        return raw.ReaderNumWorkUnitsCompletedV2(self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Any:
        """Return the state of the reader as a string.

        The operation fails with UnimplementedError if `supports_serialize` is False.
        """
        return raw.ReaderSerializeStateV2(self._reader_ref, name=name)

    def restore_state(self, state: Any, name: str | None = None) -> Any:
        """Return an operation that sets the state that `serialize_state` returned."""
        return raw.ReaderRestoreStateV2(self._reader_ref, state, name=name)

    def reset(self, name: str | None = None) -> Any:
        """Return an operation that makes the reader forget its file and its counts."""
        return raw.ReaderResetV2(self._reader_ref, name=name)


def _handle(queue: Any) -> Any:
    return queue.queue_ref if isinstance(queue, QueueBase) else queue


class WholeFileReader(ReaderBase):
    """A reader whose records are whole files. The key is the name of the file."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(raw.WholeFileReaderV2(name=name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """A reader whose records are the lines of text files. The key is `file:line`, from 1.

    The reader skips the first `skip_header_lines` lines of every file.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(raw.TextLineReaderV2(skip_header_lines=skip_header_lines or 0, name=name))


class FixedLengthRecordReader(ReaderBase):
    """A reader whose records have `record_bytes` bytes each. The key is `file:record`, from 0.

    The reader ignores the first `header_bytes` and the last `footer_bytes` of a file. A record
    begins `hop_bytes` bytes after the start of the previous record. A `hop_bytes` of 0 stands for
    `record_bytes`. `encoding` is None, `ZLIB` or `GZIP`.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(
            raw.FixedLengthRecordReaderV2(
                record_bytes=record_bytes,
                header_bytes=header_bytes or 0,
                footer_bytes=footer_bytes or 0,
                hop_bytes=hop_bytes or 0,
                encoding=encoding or "",
                name=name,
            )
        )


class TFRecordReader(ReaderBase):
    """A reader whose records are the records of TFRecord files. The key is `file:offset`.

    `options` names the compression as for `tf.python_io.TFRecordWriter`.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        from capstan.api import python_io

        kind = python_io.TFRecordOptions.get_compression_type_string(options)
        super().__init__(raw.TFRecordReaderV2(compression_type=kind, name=name))


class IdentityReader(ReaderBase):
    """A reader that returns each string of its queue as both key and value."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(raw.IdentityReaderV2(name=name), supports_serialize=True)
