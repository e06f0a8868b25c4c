"""The checkpoint ops, as TensorFlow clients send them."""

import pathlib

import numpy as np
import pytest

import capstan as tf
from capstan.framework.raw import raw
from capstan.kernels import io
from capstan.resources import bundle, bundle_writer


def run(*fetches: object) -> list[object]:
    with tf.Session() as session:
        return session.run(list(fetches))


def test_a_slice_is_written_and_read(tmp_path: pathlib.Path):
    prefix, table = str(tmp_path / "m"), np.arange(12.0).reshape(4, 3)
    specs = ["4 3 0,1:-", "4 3 1,3:-"]
    with tf.Graph().as_default():
        run(raw.SaveV2(prefix, ["v", "v"], specs, [table[:1], table[1:]]))
    assert np.array_equal(bundle.Bundle(prefix).read("v"), table)
    with tf.Graph().as_default():
        types = [tf.float64, tf.float64]
        parts = raw.RestoreV2(prefix, ["v", "v"], ["4 3 -:1,2", ""], dtypes=types)
        column, full = run(*parts)
    assert np.array_equal(column, table[:, 1:])
    assert np.array_equal(full, table)


@pytest.mark.parametrize("spec", ["4", "4 3 0,1", "4 3 a:-", "4 3 0,1:-:-", "x 3 -:-"])
def test_an_invalid_slice_specification_is_refused(spec: str):
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a slice of a tensor"):
        io.parse_slice(spec)


def test_a_slice_of_another_shape_is_refused(tmp_path: pathlib.Path):
    prefix = str(tmp_path / "m")
    with (
        tf.Graph().as_default(),
        pytest.raises(tf.errors.InvalidArgumentError, match=r"Slice '4 0,2' of v has shape \(2,\)"),
    ):
        run(raw.SaveV2(prefix, ["v"], ["4 0,2"], [np.zeros(3)]))
    bundle_writer.write(prefix, [bundle_writer.Piece("v", np.zeros(4))])
    with (
        tf.Graph().as_default(),
        pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"spec \[5\] does not match the shape stored in checkpoint: \[4\]",
        ),
    ):
        run(raw.RestoreV2(prefix, ["v"], ["5 0,2"], dtypes=[tf.float64])[0])


def test_the_numbers_of_names_and_tensors_must_be_equal(tmp_path: pathlib.Path):
    with (
        tf.Graph().as_default(),
        pytest.raises(
            tf.errors.InvalidArgumentError, match="SaveV2 takes one name and one slice per tensor"
        ),
    ):
        run(raw.SaveV2(str(tmp_path / "m"), ["v"], [""], [np.zeros(3), np.zeros(3)]))


def test_the_file_names_of_shards_are_those_of_tensorflow():
    with tf.Graph().as_default():
        (name,) = run(raw.ShardedFilename("dir/m", 3, 12))
    assert name == b"dir/m-00003-of-00012"


def test_strings_are_joined_elementwise_and_scalars_are_broadcast():
    with tf.Graph().as_default():
        joined = raw.StringJoin([["a", "b"], "-", ["c", "d"]], separator="_")
        assert joined.shape.as_list() == [2]
        (found,) = run(joined)
    assert found.tolist() == [b"a_-_c", b"b_-_d"]


def test_the_ops_of_format_v1_write_and_read_tensors_and_slices(tmp_path: pathlib.Path):
    path, rows = str(tmp_path / "m"), np.arange(12.0).reshape(4, 3)
    specs = ["4 3 0,1:-", "4 3 1,3:-"]
    with tf.Graph().as_default():
        (shards,) = run(raw.ShardedFilespec(path, 2))
        run(raw.SaveSlices(f"{path}-00000-of-00002", ["v", "v"], specs, [rows[:1], rows[1:]]))
        run(raw.Save(f"{path}-00001-of-00002", ["x"], [np.arange(3)]))
    assert shards == f"{path}-?????-of-00002".encode()
    with tf.Graph().as_default():
        v = raw.Restore(shards, "v", dt=tf.float64)
        part = raw.RestoreSlice(shards, "v", "4 3 -:1,2", dt=tf.float64)
        # The op of format V2 reads both formats.
        x = raw.RestoreV2(shards, ["x"], [""], dtypes=[tf.int64])[0]
        found = run(v, part, x)
    for value, expected in zip(found, [rows, rows[:, 1:], np.arange(3)], strict=True):
        assert np.array_equal(value, expected)
