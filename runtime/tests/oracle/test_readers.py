"""The readers of files give TensorFlow's keys, values, counts and states to TensorFlow's client."""

import gzip
import pathlib
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

from capstan.core import tfrecord

pytestmark = genuine.MARKS

TEXT = b"head\r\none\n\ntwo"

READERS: dict[str, tuple[Callable[[Any], Any], bytes]] = {
    "lines": (lambda tf: tf.TextLineReader(), TEXT),
    "lines after a header": (lambda tf: tf.TextLineReader(skip_header_lines=1), TEXT),
    "whole files": (lambda tf: tf.WholeFileReader(), TEXT),
    "names": (lambda tf: tf.IdentityReader(), TEXT),
    "fixed length": (
        lambda tf: tf.FixedLengthRecordReader(3, header_bytes=2, footer_bytes=1, hop_bytes=2),
        b"##abcdefg$",
    ),
    "records": (lambda tf: tf.TFRecordReader(), tfrecord.encode(b"abc") + tfrecord.encode(b"")),
    "compressed records": (
        lambda tf: tf.TFRecordReader(
            options=tf.io.TFRecordOptions(tf.io.TFRecordCompressionType.GZIP)
        ),
        gzip.compress(tfrecord.encode(b"abc") + tfrecord.encode(b"d" * 70)),
    ),
}


def read(v1: Any, make: Callable[[Any], Any], names: list[str], target: str) -> list[Any]:
    """Return the records of the files, one at a time and then up to three at once, each with the
    counts of the reader after it.
    """
    found = []
    with v1.Graph().as_default(), v1.Session(target) as session:
        for up_to in (None, 3):
            reader = make(v1)
            queue = v1.FIFOQueue(2, v1.string, [()])
            session.run(queue.enqueue_many([names]))
            session.run(queue.close())
            step = reader.read(queue) if up_to is None else reader.read_up_to(queue, up_to)
            counts = [reader.num_records_produced(), reader.num_work_units_completed()]
            try:
                while True:
                    key, value = (np.asarray(part, object).tolist() for part in session.run(step))
                    found.append((key, value, *session.run(counts)))
            except v1.errors.OutOfRangeError:
                found.append(tuple(session.run(counts)))
            session.run(reader.reset())
            found.append(tuple(session.run(counts)))
    return found


@pytest.mark.parametrize("name", READERS)
def test_a_reader_gives_the_records_of_tensorflow(
    name: str, v1: Any, tasks: genuine.Tasks, tmp_path: pathlib.Path
) -> None:
    make, content = READERS[name]
    files = [tmp_path / "a", tmp_path / "b"]
    for file in files:
        file.write_bytes(content)
    names = [str(file) for file in files]
    expected = read(v1, make, names, "")
    assert len(expected) > 4
    assert read(v1, make, names, tasks.target()) == expected


def test_files_are_read_written_and_found_as_in_tensorflow(
    v1: Any, tasks: genuine.Tasks, tmp_path: pathlib.Path
) -> None:
    found = []
    for folder, target in (("tensorflow", ""), ("capstan", tasks.target())):
        name = str(tmp_path / folder / "new" / "a.txt")
        with v1.Graph().as_default(), v1.Session(target) as session:
            session.run(v1.write_file(name, b"text"))
            text, names = session.run([v1.read_file(name), v1.matching_files(f"{name[:-5]}*.txt")])
            found.append((text, [file.replace(folder.encode(), b"") for file in names]))
    assert found[0] == found[1]


def test_a_reader_is_restored_from_a_state_of_tensorflow(v1: Any, tasks: genuine.Tasks) -> None:
    states = []
    for target in ("", tasks.target()):
        with v1.Graph().as_default(), v1.Session(target) as session:
            reader, queue = v1.IdentityReader(), v1.FIFOQueue(3, v1.string, [()])
            session.run(queue.enqueue_many([["x", "y"]]))
            session.run(reader.read(queue))
            states.append(session.run(reader.serialize_state()))
            session.run(reader.restore_state(states[0]))
            assert session.run(reader.num_records_produced()) == 1
    assert states[0] == states[1]
