"""The readers of files, by the functions of `tf` and by the ops that take references."""

import gzip
import pathlib
import zlib
from typing import Any

import background
import numpy as np
import pytest

import capstan as tf
from capstan.core import tfrecord
from capstan.framework.raw import raw

TEXT = b"one\r\ntwo\n\nfour"


def records(reader: tf.ReaderBase, *names: str, up_to: int | None = None) -> list[Any]:
    """Return the records of files, as (key, value) or as lists of them."""
    queue = tf.FIFOQueue(10, tf.string, [()])
    step = reader.read(queue) if up_to is None else reader.read_up_to(queue, up_to)
    found = []
    with tf.Session() as session:
        session.run([queue.enqueue_many([list(names)])])
        session.run(queue.close())
        while True:
            try:
                key, value = session.run(step)
            except tf.errors.OutOfRangeError as error:
                assert "is closed and has insufficient elements" in str(error)  # noqa: PT017
                counts = [reader.num_records_produced(), reader.num_work_units_completed()]
                produced, units = session.run(counts)
                assert units == len(names)
                assert produced == sum(np.size(value) for _, value in found)
                return found
            found.append((key, value))


@pytest.mark.e2e
def test_the_key_of_a_line_is_its_file_and_its_number(tmp_path: pathlib.Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_bytes(TEXT)
    second.write_bytes(b"head\nx\n")
    name = str(second).encode()
    found = records(tf.TextLineReader(), str(first), str(second))
    assert [value for _, value in found] == [b"one", b"two", b"", b"four", b"head", b"x"]
    assert found[-1] == (name + b":2", b"x")
    assert records(tf.TextLineReader(skip_header_lines=1), str(second)) == [(name + b":2", b"x")]
    assert records(tf.TextLineReader(skip_header_lines=9), str(second)) == []


def test_read_up_to_returns_records_of_one_file(tmp_path: pathlib.Path) -> None:
    names = []
    for name in "ab":
        (tmp_path / name).write_bytes(TEXT)
        names.append(str(tmp_path / name))
    found = records(tf.TextLineReader(), *names, up_to=3)
    assert [len(keys) for keys, _ in found] == [3, 1, 3, 1]
    assert found[1][1].tolist() == [b"four"]


@pytest.mark.e2e
def test_whole_files_and_identities_are_records(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").write_bytes(TEXT)
    name = str(tmp_path / "a").encode()
    assert records(tf.WholeFileReader(), name.decode()) == [(name, TEXT)]
    assert records(tf.IdentityReader(), "x", "y") == [(b"x", b"x"), (b"y", b"y")]


# The header has 2 bytes, the footer 1.
@pytest.mark.parametrize(
    "hop, expected", [(0, [b"abc", b"def"]), (2, [b"abc", b"cde", b"efg"]), (5, [b"abc", b"fgh"])]
)
@pytest.mark.parametrize("encoding, compress", [("", bytes), ("ZLIB", zlib.compress)])
def test_records_of_fixed_length(
    tmp_path: pathlib.Path, hop: int, expected: list[bytes], encoding: str, compress: Any
) -> None:
    (tmp_path / "a").write_bytes(compress(b"##abcdefgh$" if hop == 5 else b"##abcdefg$"))
    reader = tf.FixedLengthRecordReader(
        3, header_bytes=2, footer_bytes=1, hop_bytes=hop, encoding=encoding
    )
    found = records(reader, str(tmp_path / "a"))
    assert found == [
        (f"{tmp_path}/a:{number}".encode(), value) for number, value in enumerate(expected)
    ]


def two_members(data: bytes) -> bytes:
    """Return data as two GZIP streams in one file, as `cat a.gz b.gz` does."""
    return gzip.compress(data[:7]) + gzip.compress(data[7:])


@pytest.mark.e2e
@pytest.mark.parametrize(
    "kind, compress", [("", bytes), ("ZLIB", zlib.compress), ("GZIP", two_members)]
)
def test_records_of_tfrecord_files(tmp_path: pathlib.Path, kind: str, compress: Any) -> None:
    values = [b"", b"a" * 700_000, b"b"]
    (tmp_path / "a").write_bytes(compress(b"".join(map(tfrecord.encode, values))))
    reader = tf.ReaderBase(raw.TFRecordReaderV2(compression_type=kind))
    found = records(reader, str(tmp_path / "a"))
    assert [value for _, value in found] == values
    offsets = [0, 16, 700_032]
    assert [key for key, _ in found] == [f"{tmp_path}/a:{at}".encode() for at in offsets]


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda data: data[:-1], "truncated record at 19"),
        (lambda data: data[:25], "truncated record at 19"),
        (lambda data: data[:-5] + b"x" + data[-4:], "corrupted record at 31"),
        (lambda data: data[:19] + b"\xff" + data[20:], "corrupted record at 19"),
    ],
)
def test_a_damaged_tfrecord_file_is_reported(
    tmp_path: pathlib.Path, damage: Any, message: str
) -> None:
    data = tfrecord.encode(b"abc") + tfrecord.encode(b"def")
    (tmp_path / "a").write_bytes(damage(data))
    queue = tf.FIFOQueue(10, tf.string, [()])
    step = tf.TFRecordReader().read(queue)
    with tf.Session() as session:
        session.run(queue.enqueue([f"{tmp_path}/a"]))
        assert session.run(step)[1] == b"abc"
        for _ in range(2):
            with pytest.raises(tf.errors.DataLossError, match=message):
                session.run(step)


@pytest.mark.e2e
def test_the_state_of_a_reader_is_saved_and_restored() -> None:
    reader, queue = tf.IdentityReader(), tf.FIFOQueue(10, tf.string, [()])
    assert reader.supports_serialize
    _, value = reader.read(queue)
    state, given = reader.serialize_state(), tf.placeholder(tf.string, [])
    restore, produced = reader.restore_state(given), reader.num_records_produced()
    with tf.Session() as session:
        session.run(queue.enqueue_many([["x", "y"]]))
        session.run(value)
        saved = session.run(state)
        session.run(value)
        session.run(restore, {given: saved})
        assert session.run(produced) == 1
        for wrong, message in (
            (b"\xff", "Could not parse state for IdentityReader 'IdentityReaderV2'"),
            (b"\x08\x05\x10\x01", "Inconsistent work started vs. finished"),
            (b"\x08" + b"\xff" * 9 + b"\x01", "Unexpected negative value"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(restore, {given: wrong})
            assert session.run(produced) == 0
        session.run(restore, {given: saved})
        session.run(reader.reset())
        assert session.run(produced) == 0
        with pytest.raises(tf.errors.UnimplementedError, match="Reader SerializeState"):
            session.run(tf.TextLineReader().serialize_state())


def test_a_read_waits_for_a_file_name_of_another_step(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").write_bytes(TEXT)
    queue = tf.FIFOQueue(10, tf.string, [()])
    _, value = tf.TextLineReader().read(queue)
    enqueue = queue.enqueue([str(tmp_path / "a")])
    # A read that waits must leave the only thread to the enqueue.
    config = tf.ConfigProto(inter_op_parallelism_threads=1)
    with tf.Session(config=config) as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(value, options=tf.RunOptions(timeout_in_ms=1))
        read = background.Background(lambda: session.run(value))
        session.run(enqueue)
        assert read.join() == b"one"


def test_nodes_with_one_shared_name_share_a_reader() -> None:
    first, second = (raw.IdentityReaderV2(shared_name="shared") for _ in range(2))
    other_kind = raw.TextLineReaderV2(shared_name="shared")
    queue = tf.FIFOQueue(10, tf.string, [()])
    with tf.Session() as session:
        session.run(queue.enqueue(["x"]))
        assert session.run(tf.ReaderBase(first).read(queue)) == (b"x", b"x")
        assert session.run(tf.ReaderBase(second).num_records_produced()) == 1
        assert session.run(tf.IdentityReader().num_records_produced()) == 0
        message = "The shared reader 'shared' has the type IdentityReader, not TextLineReader"
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(tf.ReaderBase(other_kind).num_records_produced())


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: tf.TextLineReader(skip_header_lines=-1), "skip_header_lines must be >= 0 not -1"),
        (lambda: tf.FixedLengthRecordReader(0), "record_bytes must be > 0 not 0"),
        (lambda: tf.FixedLengthRecordReader(1, hop_bytes=-1), "hop_bytes must be >= 0 not -1"),
        (lambda: tf.FixedLengthRecordReader(1, encoding="LZ"), "encoding must be one of"),
    ],
)
def test_wrong_attributes_are_refused(make: Any, message: str) -> None:
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(make().num_records_produced())


@pytest.mark.parametrize(
    "types, message",
    [
        ([tf.int32], "Expected queue with single string component"),
        ([tf.string, tf.string], "Expected single component queue"),
    ],
)
def test_a_queue_of_other_elements_is_refused(types: Any, message: str) -> None:
    read = tf.TextLineReader().read(tf.FIFOQueue(3, types))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(read)


@pytest.mark.e2e
def test_readers_with_references_work_like_readers_with_handles(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a").write_bytes(TEXT)
    queue = raw.FIFOQueue(component_types=[tf.string], shapes=[tf.TensorShape([])])
    readers = [
        (raw.TextLineReader(), b"one"),
        (raw.WholeFileReader(), TEXT),
        (raw.FixedLengthRecordReader(record_bytes=2), b"on"),
    ]
    with tf.Session() as session:
        for reader, expected in readers:
            session.run(raw.QueueEnqueue(queue, [str(tmp_path / "a")]))
            assert session.run(raw.ReaderRead(reader, queue)).value == expected
            assert session.run(raw.ReaderNumRecordsProduced(reader)) == 1
        identity = raw.IdentityReader()
        session.run(raw.QueueEnqueue(queue, ["x"]))
        up_to = raw.ReaderReadUpTo(identity, queue, np.int64(4))
        assert session.run(up_to).values.tolist() == [b"x"]
        assert session.run(raw.ReaderNumWorkUnitsCompleted(identity)) == 1
        state = session.run(raw.ReaderSerializeState(identity))
        session.run(raw.ReaderReset(identity))
        session.run(raw.ReaderRestoreState(identity, tf.constant(state)))
        assert session.run(raw.ReaderNumRecordsProduced(identity)) == 1
        with pytest.raises(tf.errors.UnimplementedError):
            session.run(raw.ReaderSerializeState(raw.TFRecordReader()))


def test_files_are_written_read_and_found(tmp_path: pathlib.Path) -> None:
    with tf.Session() as session:
        for name in "ba":
            session.run(tf.write_file(str(tmp_path / name), tf.constant(name * 2)))
        assert session.run(tf.read_file(str(tmp_path / "a"))) == b"aa"
        found = session.run(tf.matching_files([f"{tmp_path}/b*", f"{tmp_path}/[a-a]", "/no*such"]))
        assert found.tolist() == [f"{tmp_path}/{name}".encode() for name in "ab"]
        with pytest.raises(tf.errors.NotFoundError, match="none; No such file or directory"):
            session.run(tf.read_file(str(tmp_path / "none")))
