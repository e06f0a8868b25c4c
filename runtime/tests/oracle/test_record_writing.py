"""A dataset is written to a TFRecord file as by TensorFlow, also for a TensorFlow client."""

from pathlib import Path
from typing import Any

import genuine
import pytest

import capstan

pytestmark = genuine.MARKS

RECORDS = [b"first", b"", b"x" * 70_000, b"last"]
COMPRESSIONS = [None, "ZLIB", "GZIP"]


def write(tf: Any, path: Path, compression: str | None, target: str = "") -> None:
    with tf.Graph().as_default(), tf.device("/job:worker/task:0" if target else ""):
        dataset = tf.data.Dataset.from_tensor_slices(RECORDS)
        writer = tf.data.experimental.TFRecordWriter(str(path), compression)
        operation = writer.write(dataset.map(lambda record: record))
        assert operation.type == "DatasetToTFRecord"
        with tf.Session(target) as session:
            for _ in range(2):  # The second step replaces the file.
                assert session.run(operation) is None


def read(tf: Any, path: Path, compression: str | None) -> list[bytes]:
    kinds = tf.python_io.TFRecordCompressionType
    kind = getattr(kinds, compression or "NONE")
    options = tf.python_io.TFRecordOptions(kind)
    return list(tf.python_io.tf_record_iterator(str(path), options))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_tensorflow_reads_what_is_written(
    v1: Any, tasks: genuine.Tasks, tmp_path: Path, compression: str | None
) -> None:
    write(v1, tmp_path / "theirs", compression)
    write(capstan, tmp_path / "ours", compression)
    write(v1, tmp_path / "client", compression, tasks.target())
    if compression is None:
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    for name in ("theirs", "ours", "client"):
        assert read(v1, tmp_path / name, compression) == RECORDS
        assert read(capstan, tmp_path / name, compression) == RECORDS


def failures(tf: Any, folder: Path) -> list[str]:
    """Return the classes of errors, and the records of a file whose dataset fails."""
    found, experimental = [], tf.data.experimental
    strings = tf.data.Dataset.from_tensor_slices(["1", "2", "x", "3"])
    for dataset in (tf.data.Dataset.range(3), strings.batch(2), "no dataset"):
        with pytest.raises(TypeError, match="dataset"):
            experimental.TFRecordWriter("any").write(dataset)
    numbers = strings.map(lambda text: tf.as_string(tf.string_to_number(text, tf.int32)))
    steps = [
        experimental.TFRecordWriter(str(folder / "missing" / "file")).write(strings),
        experimental.TFRecordWriter(str(folder / "some")).write(numbers),
    ]
    for step in steps:
        with pytest.raises(tf.errors.OpError) as fault, tf.Session() as session:
            session.run(step)
        found.append(type(fault.value).__name__)
    return [*found, str(read(tf, folder / "some", None))]


def test_what_cannot_be_written_is_refused_as_by_tensorflow(v1: Any, tmp_path: Path) -> None:
    results = []
    for name, tf in (("theirs", v1), ("ours", capstan)):
        (tmp_path / name).mkdir()
        with tf.Graph().as_default():
            results.append(failures(tf, tmp_path / name))
    assert results[0] == results[1]


def test_an_unknown_compression_compresses_nothing(tmp_path: Path) -> None:
    with capstan.Graph().as_default():
        write(capstan, tmp_path / "file", "BROTLI")
    assert read(capstan, tmp_path / "file", None) == RECORDS
