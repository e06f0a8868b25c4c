"""Files of stores that have a URL, by `fsspec`: its store in memory stands for s3:// and gs://."""

import importlib
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import capstan as tf

# The package has no types.
fsspec: Any = importlib.import_module("fsspec")
memory: Any = importlib.import_module("fsspec.implementations.memory")


@pytest.fixture
def store(tmp_path: pathlib.Path) -> Iterator[str]:
    """The URL of a folder that no other test uses."""
    folder = f"memory://{tmp_path.name}"
    tf.gfile.MakeDirs(folder)
    yield folder
    tf.gfile.DeleteRecursively(folder)


def test_files_of_a_store_are_used_like_local_files(store: str) -> None:
    gfile = tf.gfile
    with gfile.GFile(f"{store}/a/1.txt", "w") as file:
        file.write("one\ntwo\n")
    assert gfile.GFile(f"{store}/a/1.txt").readlines() == ["one\n", "two\n"]
    assert gfile.Stat(f"{store}/a/1.txt").length == 8
    gfile.Copy(f"{store}/a/1.txt", f"{store}/b/2.txt")
    gfile.Rename(f"{store}/b/2.txt", f"{store}/b/3.txt")
    assert sorted(gfile.Glob(f"{store}/*/*.txt")) == [f"{store}/a/1.txt", f"{store}/b/3.txt"]
    assert [(top, files) for top, _, files in gfile.Walk(f"{store}/b")] == [
        (f"{store}/b", ["3.txt"])
    ]
    gfile.Remove(f"{store}/b/3.txt")
    assert not gfile.Exists(f"{store}/b/3.txt")
    assert gfile.IsDirectory(store)
    with pytest.raises(tf.errors.NotFoundError, match="none; No such file or directory"):
        gfile.GFile(f"{store}/none").read()
    with pytest.raises(tf.errors.NotFoundError, match="Could not find directory"):
        gfile.ListDirectory(f"{store}/none")


def test_records_of_a_store_are_read_by_a_reader(store: str) -> None:
    with tf.python_io.TFRecordWriter(f"{store}/a", "GZIP") as writer:
        writer.write("text")
    queue = tf.FIFOQueue(1, tf.string, [()])
    with tf.Session() as session:
        session.run(queue.enqueue([f"{store}/a"]))
        key, value = session.run(tf.TFRecordReader(options="GZIP").read(queue))
    assert (key, value) == (f"{store}/a:0".encode(), b"text")


def test_a_file_is_not_renamed_to_another_file_system(store: str, tmp_path: pathlib.Path) -> None:
    local, remote = tmp_path / "a", f"{store}/a"
    for old, new in ((local, remote), (remote, local)):
        tf.gfile.GFile(old, "w").write("text")
        with pytest.raises(tf.errors.UnimplementedError, match="different file systems"):
            tf.gfile.Rename(old, new)
        tf.gfile.Remove(old)


class Caching(memory.MemoryFileSystem):  # type: ignore[misc]
    """A store that keeps the listings of its folders, as s3:// and gs:// do."""

    protocol = "caching"

    @classmethod
    def _strip_protocol(cls, path: str) -> Any:
        return super()._strip_protocol(path.replace("caching://", "memory://"))

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        key = path, detail
        if key in self.dircache:
            return self.dircache[key]
        self.dircache[key] = found = super().ls(path, detail, **options)
        return found


def test_files_that_another_process_writes_are_listed(store: str) -> None:
    fsspec.register_implementation("caching", Caching, clobber=True)
    folder = store.replace("memory", "caching")
    for name in ("1", "2"):
        fsspec.filesystem("memory").pipe_file(f"{store}/{name}", b"")
        assert name in tf.gfile.ListDirectory(folder)


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    message = "File system scheme 's3' not implemented .*s3://a/b.*Install capstan.remote-files"
    with pytest.raises(tf.errors.UnimplementedError, match=message):
        tf.gfile.Exists("s3://a/b")
