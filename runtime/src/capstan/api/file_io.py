"""Files of any file system, with TensorFlow's names and errors (python/lib/io/file_io.py).

A name such as `s3://bucket/file` needs the extra `remote-files`. Names are text or bytes.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, BinaryIO

from capstan import errors
from capstan.api import compat
from capstan.resources import file_names, files

_MODES = ("r", "w", "a", "r+", "w+", "a+")
_CHUNK = 1 << 22


class GFile:
    """An open file. It is opened at the first read or write, and is not thread-safe.

    `mode` is `r`, `w`, `a`, `r+`, `w+` or `a+`, with `b` for bytes. Without `b`, reads return text.
    As in TensorFlow, reads begin at the start of the file, whatever was written. The first write
    makes the file empty, unless the mode is `a` or `a+`.
    A GFile is a context manager and an iterator over lines, which keep their line breaks.

    Raises:
        InvalidArgumentError: there is no such mode.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name = name
        self._mode = mode
        self._is_binary = "b" in mode
        self._access = mode.replace("b", "")
        self._reader: BinaryIO | None = None
        self._writer: BinaryIO | None = None
        if self._access not in _MODES:
            raise errors.InvalidArgumentError(
                None, None, "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'"
            )

    @property
    def name(self) -> Any:
        return self._name

    @property
    def mode(self) -> str:
        return self._mode

    def _to_read(self) -> BinaryIO:
        """Return the file, opened to be read. All that was written can be read.

        Raises:
            PermissionDeniedError: the mode does not allow reads.
        """
        if self._access in ("w", "a"):
            raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
        self.flush()
        if self._reader is None:
            self._reader = files.open_file(text(self._name), "rb")
        return self._reader

    def _to_write(self) -> BinaryIO:
        """Return the file, opened to be written. The first write makes it empty, unless it appends.

        Raises:
            PermissionDeniedError: the mode does not allow writes.
        """
        if self._access == "r":
            raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
        if self._writer is None:
            self._writer = files.open_file(text(self._name), "ab" if "a" in self._access else "wb")
        return self._writer

    def _converted(self, value: bytes) -> Any:
        return value if self._is_binary else value.decode()

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return stat(self._name).length

    def read(self, n: int = -1) -> Any:
        """Return the next `n` bytes, or all that are left."""
        file = self._to_read()
        with files.translated(text(self._name)):
            return self._converted(file.read(n))

    def readline(self) -> Any:
        """Return the next line with its line break, or an empty string at the end of the file."""
        file = self._to_read()
        with files.translated(text(self._name)):
            return self._converted(file.readline())

    def readlines(self) -> list[Any]:
        return list(self)

    def write(self, file_content: Any) -> None:
        """Write text, as UTF-8, or bytes."""
        file = self._to_write()
        with files.translated(text(self._name)):
            file.write(compat.as_bytes(file_content))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Set the position for reads. `position` is an old name of `offset`.

        Raises:
            TypeError: not exactly one of `offset` and `position` is given.
            InvalidArgumentError: `whence` is not 0 (the start), 1 (here) or 2 (the end).
        """
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        if offset is not None and position is not None:
            raise TypeError("seek(): offset and position may not be set simultaneously.")
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2.",
            )
        file = self._to_read()
        with files.translated(text(self._name)):
            file.seek(offset if position is None else position, whence)  # type: ignore[arg-type]

    def tell(self) -> int:
        """Return the position of reads in bytes, or that of writes if the mode allows no reads."""
        return (self._to_write() if self._access in ("a", "w") else self._to_read()).tell()

    def seekable(self) -> bool:
        return True

    def flush(self) -> None:
        """Hand all writes to the operating system."""
        if self._writer is not None:
            with files.translated(text(self._name)):
                self._writer.flush()

    def close(self) -> None:
        """Close the file. A later read or write opens it again."""
        opened, self._reader, self._writer = (self._reader, self._writer), None, None
        for file in opened:
            if file is not None:
                with files.translated(text(self._name)):
                    file.close()

    def __enter__(self) -> "GFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def __del__(self) -> None:
        if hasattr(self, "_writer"):
            self.close()


def file_exists(filename: Any) -> bool:
    """Return whether there is a file or folder of that name."""
    return _system(filename).exists(text(filename))


def delete_file(filename: Any) -> None:
    """Delete a file. Raise NotFoundError if it does not exist."""
    _system(filename).remove(text(filename))


def get_matching_files(filename: Any) -> list[str]:
    """Return the sorted names of the files that match a glob pattern, or any of several."""
    patterns: Iterable[Any] = [filename] if isinstance(filename, str | bytes) else filename
    return [name for each in patterns for name in _system(each).matching(text(each))]


def create_dir(dirname: Any) -> None:
    """Make a folder, if it does not exist. Raise NotFoundError if its parent does not exist."""
    with contextlib.suppress(errors.AlreadyExistsError):
        _system(dirname).make_folder(text(dirname))


def recursive_create_dir(dirname: Any) -> None:
    """Make a folder and the folders above it. A folder that exists is not an error."""
    _system(dirname).make_folders(text(dirname))


def copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copy a file. Raise AlreadyExistsError if the new file exists, unless `overwrite`."""
    _check_new(newpath, overwrite)
    source, target = text(oldpath), text(newpath)
    with (
        files.translated(source),
        files.open_file(source) as old,
        files.translated(target),
        files.open_file(target, "wb") as new,
    ):
        while chunk := old.read(_CHUNK):
            new.write(chunk)


def rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Rename a file or folder. Raise AlreadyExistsError if the new one exists and not `overwrite`.

    Raise UnimplementedError if the two names belong to different file systems.
    """
    _check_new(newname, overwrite)
    old, new = text(oldname), text(newname)
    if file_names.scheme(old) != file_names.scheme(new):
        raise errors.UnimplementedError(
            None,
            None,
            f"Renaming {old} to {new} not implemented: they belong to different file systems. "
            "Copy the file, and delete the old one",
        )
    files.of(old).rename(old, new)


def _check_new(name: Any, overwrite: bool) -> None:
    if not overwrite and file_exists(name):
        raise errors.AlreadyExistsError(None, None, "file already exists")


def delete_recursively(dirname: Any) -> None:
    """Delete a folder with all that is in it. Raise NotFoundError if it does not exist."""
    if not file_exists(dirname):
        raise errors.NotFoundError(None, None, f"{text(dirname)} not found")
    _system(dirname).remove_tree(text(dirname))


def is_directory(dirname: Any) -> bool:
    """Return whether there is a folder of that name."""
    try:
        return _system(dirname).status(text(dirname)).is_directory
    except errors.NotFoundError:
        return False


def list_directory(dirname: Any) -> list[str]:
    """Return the names in a folder, in any order. Raise NotFoundError if there is none."""
    if not is_directory(dirname):
        raise errors.NotFoundError(None, None, f"Could not find directory {text(dirname)}")
    return _system(dirname).names_in(text(dirname))


def walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (folder, its folders, its files) for a folder and all below it.

    With `in_order`, a folder comes before the folders in it.
    """
    yield from walk_v2(top, in_order)


def walk_v2(
    top: Any, topdown: bool = True, onerror: Callable[[errors.OpError], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Do what `walk` does. If there is no folder `top`, call `onerror` with the error."""
    folder = text(top)
    try:
        names = list_directory(folder)
    except errors.NotFoundError as error:
        if onerror is not None:
            onerror(error)
        return
    below = [name for name in names if is_directory(os.path.join(folder, name))]
    here = (folder, below, [name for name in names if name not in set(below)])
    if topdown:
        yield here
    for name in below:
        yield from walk_v2(os.path.join(folder, name), topdown, onerror)
    if not topdown:
        yield here


def stat(filename: Any) -> files.FileStatus:
    """Return `length` (bytes), `mtime_nsec` and `is_directory` of a file."""
    return _system(filename).status(text(filename))


def text(name: Any) -> str:
    """Return the name of a file, given as text, bytes or a path, as text."""
    return compat.as_str_any(os.fspath(name) if isinstance(name, os.PathLike) else name)


def _system(name: Any) -> files.FileSystem:
    return files.of(text(name))
