"""TFRecord files are written and read outside of a graph."""

import itertools
import pathlib
from typing import Any

import pytest

import capstan as tf

RECORDS = [b"", b"a", b"b" * 300_000]


@pytest.mark.e2e
@pytest.mark.parametrize(
    "options, head",
    [
        (None, b"\0" * 8),
        ("ZLIB", b"\x78"),
        ("GZIP", b"\x1f\x8b"),
        (tf.python_io.TFRecordCompressionType.GZIP, b"\x1f\x8b"),
        (tf.python_io.TFRecordOptions("ZLIB", compression_level=9, mem_level=1), b"\x78\xda"),
    ],
)
def test_written_records_are_read(tmp_path: pathlib.Path, options: Any, head: bytes) -> None:
    path = str(tmp_path / "a")
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for record in RECORDS:
            writer.write(record)
    assert (tmp_path / "a").read_bytes().startswith(head)
    assert list(tf.python_io.tf_record_iterator(path, options)) == RECORDS
    writer.close()
    reader = tf.TFRecordReader(options=options)
    queue = tf.FIFOQueue(1, tf.string, [()])
    with tf.Session() as session:
        session.run(queue.enqueue([path]))
        assert [session.run(reader.read(queue))[1] for _ in RECORDS] == RECORDS


@pytest.mark.parametrize("options", [None, "ZLIB", "GZIP"])
def test_flushed_records_are_read_while_the_file_is_open(
    tmp_path: pathlib.Path, options: Any
) -> None:
    path = str(tmp_path / "a")
    with tf.python_io.TFRecordWriter(path, options) as writer:
        writer.write("text")
        writer.flush()
        found = tf.python_io.tf_record_iterator(path, options)
        assert list(itertools.islice(found, 1)) == [b"text"]
        found.close()


def test_a_file_without_its_last_byte_is_reported(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a"
    with tf.python_io.TFRecordWriter(str(path)) as writer:
        writer.write(b"abc")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(tf.errors.DataLossError, match="truncated record at 0"):
        list(tf.python_io.tf_record_iterator(str(path)))


def test_wrong_arguments_are_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match='Not a valid compression_type: "BZ"'):
        tf.python_io.TFRecordWriter(str(tmp_path / "a"), "BZ")
    with pytest.raises(tf.errors.NotFoundError, match="none/a; No such file or directory"):
        tf.python_io.TFRecordWriter(str(tmp_path / "none" / "a"))
    with pytest.raises(tf.errors.NotFoundError, match="none; No such file or directory"):
        next(tf.python_io.tf_record_iterator(str(tmp_path / "none")))


@pytest.mark.parametrize("options", [None, "GZIP", "ZLIB"])
def test_a_closed_writer_takes_no_records(tmp_path: Any, options: Any) -> None:
    writer = tf.python_io.TFRecordWriter(str(tmp_path / "records"), options)
    writer.write(b"one")
    writer.close()
    for act in (writer.flush, lambda: writer.write(b"two")):
        with pytest.raises(tf.errors.FailedPreconditionError, match="is closed"):
            act()
    writer.close()
    assert list(tf.python_io.tf_record_iterator(str(tmp_path / "records"), options)) == [b"one"]
