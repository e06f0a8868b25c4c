"""Checkpoints of format V1 on disk: round trips, shards, damage, sizes."""

import pathlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from capstan import errors
from capstan.core import dtypes
from capstan.resources import bundle_writer, checkpoints, slice_files

Piece = bundle_writer.Piece

NUMERIC = [
    dtype.as_numpy_dtype
    for dtype in dtypes.BASE_DTYPES
    if dtype not in (dtypes.string, dtypes.resource, dtypes.variant, dtypes.bfloat16)
]
values = st.sampled_from(NUMERIC).flatmap(
    lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, min_side=0, max_side=4))
)
ROWS = np.arange(20.0).reshape(5, 4)


def strings(*texts: bytes) -> np.ndarray:
    return np.array([*texts, None], object)[:-1]


@pytest.mark.e2e
@given(st.dictionaries(st.text("ab/", min_size=1, max_size=3), values, max_size=4))
def test_tensors_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, tensors: dict[str, np.ndarray]
):
    path = str(tmp_path_factory.mktemp("v1") / "model.ckpt-7")
    slice_files.write(path, [Piece(name, value) for name, value in tensors.items()])
    reader = checkpoints.opened(path)
    assert reader.names == sorted(tensors)
    for name, value in tensors.items():
        read = reader.read(name)
        assert (reader.dtype(name).as_numpy_dtype, reader.shape(name)) == (value.dtype, value.shape)
        np.testing.assert_array_equal(read, value, strict=True)


def test_strings_are_read_as_they_were_written(tmp_path: pathlib.Path):
    path = str(tmp_path / "s")
    slice_files.write(path, [Piece("s", strings(b"", b"\0\xff", b"long" * 99))])
    assert checkpoints.opened(path).read("s").tolist() == [b"", b"\0\xff", b"long" * 99]


def test_the_slices_of_several_files_are_one_tensor(tmp_path: pathlib.Path):
    for shard, (start, length) in enumerate([(0, 2), (2, 3)]):
        part = Piece("v", ROWS[start : start + length], (5, 4), ((start, length), (0, 4)))
        name = f"m-{shard:05d}-of-00002"
        slice_files.write(str(tmp_path / name), [part, Piece(f"own{shard}", np.array(shard))])
    reader = checkpoints.opened(str(tmp_path / "m-?????-of-00002"))
    assert reader.names == ["own0", "own1", "v"]
    assert reader.slice_count("v") == 2
    assert np.array_equal(reader.read("v"), ROWS)
    assert np.array_equal(reader.read("v", ((1, 3), (1, 2))), ROWS[1:4, 1:3])
    # Without the second shard, rows are missing.
    reader = checkpoints.opened(str(tmp_path / "m-00000-of-00002"))
    assert np.array_equal(reader.read("v", ((0, 1), (0, -1))), ROWS[:1])
    with pytest.raises(errors.DataLossError, match="does not have all slices"):
        reader.read("v")


def test_a_missing_tensor_or_file_is_a_not_found_error(tmp_path: pathlib.Path):
    with pytest.raises(errors.NotFoundError, match="Failed to find any matching files for"):
        slice_files.SliceFiles(str(tmp_path / "nothing"))
    slice_files.write(str(tmp_path / "m"), [Piece("x", np.ones(1))])
    with pytest.raises(errors.NotFoundError, match="y not found in checkpoint files"):
        checkpoints.opened(str(tmp_path / "m")).read("y")


def test_a_file_that_is_no_checkpoint_is_a_data_loss_error(tmp_path: pathlib.Path):
    (tmp_path / "m").write_bytes(b"hello" * 99)
    with pytest.raises(errors.DataLossError, match=r"Unable to open table file .*different"):
        checkpoints.opened(str(tmp_path / "m"))


def test_a_slice_that_no_message_can_hold_is_refused(tmp_path: pathlib.Path):
    large = np.broadcast_to(np.zeros(1, bool), [2**31])
    with pytest.raises(
        errors.InvalidArgumentError,
        match=r"Tensor slice is too large to serialize \(cons.* \d{10} ",
    ):
        slice_files.write(str(tmp_path / "m"), [Piece("large", large)])
    assert not list(tmp_path.iterdir())


def test_only_the_files_of_the_named_format_are_removed(tmp_path: pathlib.Path):
    prefix = str(tmp_path / "m")
    slice_files.write(prefix, [Piece("x", np.ones(1))])
    bundle_writer.write(prefix, [Piece("x", np.zeros(1))])
    assert checkpoints.opened(prefix).read("x") == 0
    checkpoints.remove(prefix, 2)
    assert checkpoints.opened(prefix).read("x") == 1
    checkpoints.remove(prefix, 1)
    assert not list(tmp_path.iterdir())
