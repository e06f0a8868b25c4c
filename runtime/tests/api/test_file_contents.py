"""`python.lib.io.file_io`: functions that read, write and compare whole files."""

import pathlib

import pytest

import capstan as tf
from capstan.python.lib.io import file_io


def test_whole_files_are_written_and_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    file_io.write_string_to_file(path, "grün\n")
    assert file_io.read_file_to_string(path) == "grün\n"
    assert file_io.read_file_to_string(path, binary_mode=True) == "grün\n".encode()
    with file_io.FileIO(str(path), "rb") as file:
        assert file.read(2) == b"gr"
    with pytest.raises(tf.errors.NotFoundError):
        file_io.read_file_to_string(tmp_path / "other")


def test_a_file_that_exists_is_replaced_at_once_or_kept(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    file_io.atomic_write_string_to_file(path, b"first")
    file_io.atomic_write_string_to_file(path, "second")
    with pytest.raises(tf.errors.AlreadyExistsError):
        file_io.atomic_write_string_to_file(path, "third", overwrite=False)
    assert path.read_text() == "second"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("other, is_same", [(b"abc", True), (b"abd", False), (b"ab", False)])
def test_files_are_compared(tmp_path: pathlib.Path, other: bytes, is_same: bool) -> None:
    (tmp_path / "one").write_bytes(b"abc")
    (tmp_path / "two").write_bytes(other)
    assert file_io.filecmp(tmp_path / "one", tmp_path / "two") is is_same


def test_the_checksum_of_a_file_does_not_depend_on_the_size_of_the_parts(
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "file").write_bytes(b"123456789")
    for size in (1, 4, 100, -1):
        assert file_io.file_crc32(tmp_path / "file", size) == "0xcbf43926"


def test_a_file_of_mode_r_plus_is_made_if_it_is_written_first(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "file")
    with file_io.FileIO(path, "r+") as file:
        file.write("one\ntwo\n")
    assert file.readline() == "one\n"
    assert file.tell() == 4
    with pytest.raises(tf.errors.NotFoundError):
        file_io.FileIO(str(tmp_path / "other"), "r+").read()


@pytest.mark.parametrize(
    ("mode", "content"), [("w+", "new\nlines"), ("r+", "new\nlines"), ("a+", "old\nnew\nlines")]
)
def test_reads_and_writes_have_positions_of_their_own(
    tmp_path: pathlib.Path, mode: str, content: str
) -> None:
    path = tmp_path / "file"
    path.write_text("old\n")
    with tf.gfile.GFile(str(path), mode) as file:
        file.write("new\n")
        file.flush()
        assert file.readline() == content.splitlines(keepends=True)[0]
        place = file.tell()
        file.write("lines")
        assert file.tell() == place
        file.flush()
        assert file.read(100) == content[place:]
        file.seek(0)
        assert "".join(file.readlines()) == content
        assert file.size() == len(content)
    assert path.read_text() == content


def test_a_file_that_is_read_first_is_made_empty_by_the_first_write(
    tmp_path: pathlib.Path,
) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with tf.gfile.GFile(str(path), "w+") as file:
        assert file.read() == "old"
        file.write("ne")
    assert path.read_text() == "ne"
