"""Bundles on disk: round trips, damage, atomic replacement and durability."""

import contextlib
import errno
import itertools
import os
import pathlib
import re
import stat
import threading

import disk
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from capstan import errors
from capstan.core import bundle_entry, dtypes
from capstan.resources import bundle, bundle_writer

NUMERIC = [
    dtype.as_numpy_dtype
    for dtype in dtypes.BASE_DTYPES
    if dtype not in (dtypes.string, dtypes.resource, dtypes.variant, dtypes.bfloat16)
]
values = st.sampled_from(NUMERIC).flatmap(
    lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, min_side=0, max_side=4))
)
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


def write(prefix: pathlib.Path, **tensors: object) -> str:
    bundle_writer.write(
        str(prefix), [bundle_writer.Piece(name, np.array(v)) for name, v in tensors.items()]
    )
    return str(prefix)


@pytest.mark.e2e
@given(st.dictionaries(names, values, max_size=8))
def test_tensors_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, tensors: dict[str, np.ndarray]
):
    prefix = str(tmp_path_factory.mktemp("bundle") / "model.ckpt-7")
    bundle_writer.write(
        prefix, [bundle_writer.Piece(name, value) for name, value in tensors.items()]
    )
    reader = bundle.Bundle(prefix)
    assert reader.names == sorted(tensors, key=str.encode)
    for name, value in tensors.items():
        read = reader.read(name)
        assert (read.dtype, read.shape) == (value.dtype, value.shape)
        assert read.tobytes() == value.tobytes()


@pytest.mark.e2e
@given(st.lists(st.binary(max_size=300), max_size=6))
def test_strings_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, strings: list[bytes]
):
    prefix = str(tmp_path_factory.mktemp("bundle") / "s")
    value = np.empty(len(strings), object)
    value[:] = strings
    bundle_writer.write(prefix, [bundle_writer.Piece("s", value)])
    reader = bundle.Bundle(prefix)
    assert reader.dtype("s") is dtypes.string
    assert list(reader.read("s")) == strings


def test_bfloat16_is_read_as_it_was_written(tmp_path: pathlib.Path):
    value = np.array([1.5, -2], ml_dtypes.bfloat16)
    bundle_writer.write(str(tmp_path / "b"), [bundle_writer.Piece("x", value)])
    assert bundle.Bundle(str(tmp_path / "b")).read("x").tolist() == [1.5, -2]


def test_a_missing_bundle_is_a_not_found_error(tmp_path: pathlib.Path):
    with pytest.raises(errors.NotFoundError, match="Failed to find any matching files for"):
        bundle.Bundle(str(tmp_path / "nothing"))


def test_a_missing_tensor_is_a_not_found_error(tmp_path: pathlib.Path):
    reader = bundle.Bundle(write(tmp_path / "b", x=1))
    with pytest.raises(errors.NotFoundError, match="Key y not found in checkpoint"):
        reader.read("y")


@pytest.mark.e2e
def test_a_flipped_bit_in_the_data_is_detected(tmp_path: pathlib.Path):
    prefix = write(tmp_path / "b", x=np.arange(5.0), s=np.array([b"ab", b"c"], object))
    data = pathlib.Path(bundle.data_file(prefix, 0, 1))
    content = data.read_bytes()
    for position in range(len(content)):
        data.write_bytes(
            content[:position] + bytes([content[position] ^ 8]) + content[position + 1 :]
        )
        reader = bundle.Bundle(prefix)
        with pytest.raises(errors.DataLossError, match="damaged"):
            [reader.read(name) for name in reader.names]


def test_truncated_data_is_detected(tmp_path: pathlib.Path):
    prefix = write(tmp_path / "b", x=np.arange(5.0))
    os.truncate(bundle.data_file(prefix, 0, 1), 39)
    with pytest.raises(errors.DataLossError, match="ends within tensor x"):
        bundle.Bundle(prefix).read("x")


def test_a_damaged_index_is_detected(tmp_path: pathlib.Path):
    prefix = write(tmp_path / "b", x=1)
    index = pathlib.Path(bundle.index_file(prefix))
    index.write_bytes(index.read_bytes()[:-1])
    with pytest.raises(errors.DataLossError, match=r"checkpoint .*b is damaged"):
        bundle.Bundle(prefix)


def test_a_name_that_occurs_twice_is_refused(tmp_path: pathlib.Path):
    twice = [bundle_writer.Piece("x", np.ones(1))] * 2
    with pytest.raises(errors.InvalidArgumentError, match="Adding duplicate key: x"):
        bundle_writer.write(str(tmp_path / "b"), twice)
    assert not list(tmp_path.glob("*.index"))


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: pathlib.Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.FailedPreconditionError, match="file"):
        write(tmp_path / "file" / "b", x=1)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_is_an_error_that_names_the_file_and_leaves_none(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    name = re.escape(str(tmp_path / "b.data-00000-of-00001"))
    with pytest.raises(errors.ResourceExhaustedError, match=f"^{name}; No space left on device$"):
        write(tmp_path / "b", x=1)
    assert not list(tmp_path.iterdir())


def test_a_merge_makes_one_bundle_and_deletes_the_parts(tmp_path: pathlib.Path):
    parts = [write(tmp_path / "temp" / f"part-{n}", **{f"x{n}": np.full(3, n)}) for n in range(3)]
    bundle_writer.merge(parts, str(tmp_path / "out" / "m"), delete_folders=True)
    reader = bundle.Bundle(str(tmp_path / "out" / "m"))
    assert [reader.read(f"x{n}").tolist() for n in range(3)] == [[0] * 3, [1] * 3, [2] * 3]
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "m.data-00000-of-00003",
        "m.data-00001-of-00003",
        "m.data-00002-of-00003",
        "m.index",
        "out",
    ]


def test_a_merge_refuses_a_tensor_that_two_parts_contain(tmp_path: pathlib.Path):
    parts = [write(tmp_path / f"part-{n}", x=n) for n in range(2)]
    with pytest.raises(errors.InvalidArgumentError, match="'x' is in several bundles"):
        bundle_writer.merge(parts, str(tmp_path / "m"), delete_folders=False)


def test_slices_of_merged_bundles_are_read_as_one_tensor(tmp_path: pathlib.Path):
    table = np.arange(20.0).reshape(5, 4)
    prefixes = []
    for number, (start, length) in enumerate([(0, 2), (2, 3)]):
        piece = bundle_writer.Piece(
            "v", table[start : start + length], (5, 4), ((start, length), (0, bundle_entry.WHOLE))
        )
        prefixes.append(str(tmp_path / f"part-{number}"))
        bundle_writer.write(prefixes[-1], [piece])
    bundle_writer.merge(prefixes, str(tmp_path / "m"), delete_folders=False)
    reader = bundle.Bundle(str(tmp_path / "m"))
    assert reader.names == ["v"]
    assert np.array_equal(reader.read("v"), table)


def test_remove_keeps_bundles_whose_names_start_with_the_same_prefix(tmp_path: pathlib.Path):
    for name in ("m-1", "m-10", "m[1]"):
        write(tmp_path / name, x=1)
    bundle.remove(str(tmp_path / "m[1]"))
    bundle.remove(str(tmp_path / "m-1"))
    assert {path.name for path in tmp_path.iterdir()} == {
        "m-10.index",
        "m-10.data-00000-of-00001",
    }


def test_a_slice_is_read_from_the_slices_that_overlap_it(tmp_path: pathlib.Path):
    rows = np.arange(20.0).reshape(5, 4)
    starts = [(0, 2), (2, 1), (3, 2)]
    pieces = [
        bundle_writer.Piece("v", rows[start : start + length], (5, 4), ((start, length), (0, 4)))
        for start, length in starts
    ]
    prefix = str(tmp_path / "m")
    bundle_writer.write(prefix, pieces)
    # The last slice is damaged. A slice that it does not overlap can still be read.
    os.truncate(bundle.data_file(prefix, 0, 1), 3 * 4 * 8)
    reader = bundle.Bundle(prefix)
    assert np.array_equal(reader.read("v", ((1, 2), (1, 3))), rows[1:3, 1:])
    with pytest.raises(errors.DataLossError, match="ends within tensor v"):
        reader.read("v", ((1, 3), (0, bundle_entry.WHOLE)))


def test_a_tensor_without_some_of_its_slices_is_not_damaged(tmp_path: pathlib.Path):
    rows = np.arange(8.0).reshape(4, 2)
    piece = bundle_writer.Piece("v", rows[:2], (4, 2), ((0, 2), (0, bundle_entry.WHOLE)))
    prefix = str(tmp_path / "m")
    bundle_writer.write(prefix, [piece])
    reader = bundle.Bundle(prefix)
    assert np.array_equal(reader.read("v", ((0, 2), (0, bundle_entry.WHOLE))), rows[:2])
    with pytest.raises(errors.InvalidArgumentError, match=r"does not have all slices .* parts"):
        reader.read("v")


@pytest.mark.e2e
def test_a_reader_never_sees_a_partly_written_bundle(tmp_path: pathlib.Path):
    prefix = write(tmp_path / "b", x=np.zeros(1000), y=np.zeros(1000))
    is_over = threading.Event()

    def rewrite() -> None:
        for number in itertools.count():
            if is_over.is_set():
                return
            write(tmp_path / "b", x=np.full(1000, number % 7), y=np.full(1000, number % 7))

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for _ in range(200):
            try:
                reader = bundle.Bundle(prefix)
                values = reader.read("x")
            except errors.DataLossError:
                # The reader detects that the index is old and the data are new.
                continue
            assert len(np.unique(values)) == 1
    finally:
        is_over.set()
        writer.join()
    assert {path.suffix.split("-")[0] for path in tmp_path.iterdir()} == {".index", ".data"}


def check_durability(watched: disk.Disk, prefix: pathlib.Path, shards: int) -> None:
    """Check that the index got its name after all shards that it names were durable."""
    folder = ("sync", str(prefix.parent))
    data = [watched.renamed(bundle.data_file(str(prefix), n, shards)) for n in range(shards)]
    index = pathlib.Path(bundle.index_file(str(prefix)))
    assert folder in watched.calls[max(data) : watched.renamed(index)], "the shards may be lost"
    assert watched.durable(index)


def test_the_data_of_a_bundle_is_durable_before_its_index_appears(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    watched = disk.Disk(monkeypatch)
    prefix = tmp_path / "model.ckpt-1"
    write(prefix, a=[1, 2], b=3)
    check_durability(watched, prefix, shards=1)


def test_the_folders_that_a_bundle_creates_are_durable_before_its_index_appears(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    watched = disk.Disk(monkeypatch)
    prefix = tmp_path / "job" / "checkpoints" / "model.ckpt-1"
    write(prefix, a=1)
    before = watched.calls[: watched.renamed(bundle.index_file(str(prefix)))]
    assert {("sync", str(tmp_path)), ("sync", str(tmp_path / "job"))} <= set(before)


def test_the_data_of_a_merged_bundle_is_durable_before_its_index_appears(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    watched = disk.Disk(monkeypatch)
    parts = [write(tmp_path / "parts" / str(number), **{f"v{number}": 1}) for number in range(2)]
    for part in parts:
        check_durability(watched, pathlib.Path(part), shards=1)
    bundle_writer.merge(parts, str(tmp_path / "merged"), delete_folders=True)
    check_durability(watched, tmp_path / "merged", shards=2)


@pytest.mark.parametrize(
    "code, refused",
    [(errno.EINVAL, None), (errno.ENOSYS, None), (errno.EIO, errors.UnknownError)],
)
def test_a_folder_that_cannot_be_synced_is_accepted_but_an_io_error_is_not(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    refused: type[errors.OpError] | None,
):
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(refused) if refused else contextlib.nullcontext():
        assert bundle.Bundle(write(tmp_path / "a", v=1)).names == ["v"]


@pytest.mark.parametrize("name", ["out/m", "out/"])
def test_the_folder_of_a_merged_bundle_is_synced(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    synced: list[str] = []
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        sync(descriptor)

    part = write(tmp_path / "part", x=1)
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(os, "fsync", fsync)
    bundle_writer.merge([part], f"{tmp_path}/{name}", delete_folders=False)
    assert synced[0] == str(tmp_path / "out")
