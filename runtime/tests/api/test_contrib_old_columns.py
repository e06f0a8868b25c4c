"""The properties of old feature columns, and old ways to read Examples."""

import copy
import io
import pathlib
import urllib.request
from typing import Any

import numpy as np
import pytest

import capstan as tf

layers = tf.contrib.layers


def test_ids_wrap_around_the_number_of_buckets() -> None:
    column = layers.sparse_column_with_integerized_feature("id", 5)
    ids = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], np.array([7, -1, 4], np.int64), [2, 2])
    counts = layers.input_from_feature_columns({"id": ids}, [layers.one_hot_column(column)])
    with tf.Session() as session:
        assert session.run(counts).tolist() == [[0, 0, 1, 0, 0], [0, 0, 0, 0, 2]]
    with pytest.raises(ValueError, match="bucket_size must be at least 1"):
        layers.sparse_column_with_integerized_feature("id", 0)
    words = tf.SparseTensor([[0, 0]], ["a"], [1, 1])
    with pytest.raises(ValueError, match="not integer"):
        layers.input_from_feature_columns({"id": words}, [layers.one_hot_column(column)])


def test_columns_have_their_old_properties() -> None:
    number = layers.real_valued_column("x", dimension=3)
    assert (number.dimension, number.column_name) == (3, "x")
    assert number.config == layers.create_feature_spec_for_parsing([number])
    words = layers.sparse_column_with_hash_bucket("w", 10)
    assert (words.bucket_size, words.length) == (10, 10)
    vectors = layers.embedding_column(words, 4)
    assert (vectors.dimension, vectors.sparse_id_column) == (4, words)
    assert layers.one_hot_column(words).sparse_id_column == words
    assert copy.deepcopy(number) == number
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        number.colour  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'dimension'"):
        words.dimension  # noqa: B018


def written(folder: pathlib.Path, numbers: Any) -> str:
    path = str(folder / "examples")
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in numbers:
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=[number]))
            example = tf.train.Example(features=tf.train.Features(feature={"n": value}))
            writer.write(example.SerializeToString())
    return path


@pytest.mark.parametrize("is_random", [False, True])
def test_features_of_examples_are_read_in_batches(tmp_path: pathlib.Path, is_random: bool) -> None:
    path = written(tmp_path, range(10))
    with tf.Graph().as_default():
        features = tf.contrib.learn.io.read_batch_features(
            str(tmp_path / "exam*"), 4, {"n": tf.FixedLenFeature([], tf.int64)},
            tf.TFRecordReader, randomize_input=is_random, num_epochs=1,
        )  # fmt: skip
        with tf.train.MonitoredSession() as session:
            batches = [session.run(features["n"]).tolist() for _ in range(3)]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(features["n"])
    assert [len(batch) for batch in batches] == [4, 4, 2]
    found = [number for batch in batches for number in batch]
    assert sorted(found) == list(range(10))
    assert is_random or found == list(range(10))
    assert path.endswith("examples")


def test_examples_are_parsed_one_by_one(tmp_path: pathlib.Path) -> None:
    path = written(tmp_path, [5, 6])
    with tf.Graph().as_default():
        batch = tf.contrib.learn.io.read_batch_examples(
            [path], 2, tf.TFRecordReader, False, 1,
            parse_fn=lambda each: tf.parse_example(each, {"n": tf.FixedLenFeature([], tf.int64)}),
        )  # fmt: skip
        with tf.train.MonitoredSession() as session:
            assert session.run(batch["n"]).tolist() == [5, 6]
    for given, message in (
        ((str(tmp_path / "no*"), 2), "No files match"),
        (([], 2), "No files given"),
        ((path, 0), "Invalid batch_size"),
        ((path, 2, tf.TFRecordReader, True, 1, 10, 0), "Invalid num_threads"),
    ):
        arguments: Any = [*given, *[tf.TFRecordReader][len(given) - 2 :]]
        with tf.Graph().as_default(), pytest.raises(ValueError, match=message):
            tf.contrib.learn.io.read_batch_examples(*arguments)


def test_a_file_that_exists_is_not_downloaded(tmp_path: pathlib.Path) -> None:
    learn = tf.contrib.learn.python.learn
    source = tmp_path / "source"
    source.write_bytes(b"data")
    folder = tmp_path / "new"
    found = learn.datasets.base.maybe_download("copy", str(folder), source.as_uri())
    assert pathlib.Path(found).read_bytes() == b"data"
    source.unlink()
    assert learn.datasets.base.maybe_download("copy", str(folder), source.as_uri()) == found


def test_a_download_that_breaks_off_leaves_no_file(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Source(io.BytesIO):
        def read(self, *_: Any) -> bytes:
            raise ConnectionResetError("the server is gone")

    monkeypatch.setattr(urllib.request, "urlopen", lambda url: Source())
    with pytest.raises(ConnectionResetError):
        tf.contrib.learn.python.learn.datasets.base.maybe_download(
            "copy", str(tmp_path), "http://x/copy"
        )
    assert not list(tmp_path.iterdir())
