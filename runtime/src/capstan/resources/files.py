"""Files of any file system: of this machine, or of a store that has a URL such as `s3://`.

A name without a scheme, or with `file://`, is a file of this machine. For any other scheme, the
package `fsspec` finds the file system. `fsspec` is not a dependency of Capstan: the extra
`remote-files` installs it. Errors are TensorFlow's (core/platform/posix/error.cc), and their
messages begin with the name of the file. All functions block.
"""

import contextlib
import errno
import glob
import importlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol

from capstan import errors
from capstan.resources import file_names

_CLASSES: dict[int, type[errors.OpError]] = {
    **dict.fromkeys((errno.EINVAL, errno.ENAMETOOLONG, errno.E2BIG, errno.EDOM, errno.ELOOP),
                    errors.InvalidArgumentError),
    **dict.fromkeys((errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.ESRCH), errors.NotFoundError),
    errno.EEXIST: errors.AlreadyExistsError,
    **dict.fromkeys((errno.EPERM, errno.EACCES, errno.EROFS), errors.PermissionDeniedError),
    **dict.fromkeys((errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR, errno.EBUSY, errno.EPIPE,
                     errno.EBADF, errno.ETXTBSY), errors.FailedPreconditionError),
    # TensorFlow's error for EFBIG is OutOfRangeError, which ends a training as its data do. A file
    # that is too large would end it without a word, and without its last checkpoint.
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE,
                     errno.ENOMEM), errors.ResourceExhaustedError),
    **dict.fromkeys((errno.EOVERFLOW, errno.ERANGE), errors.OutOfRangeError),
    **dict.fromkeys((errno.ENOSYS, errno.EXDEV, errno.ENOTSUP), errors.UnimplementedError),
    errno.EAGAIN: errors.UnavailableError,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileStatus:
    """The size of a file in bytes, the time of its last change, and whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


class FileSystem(Protocol):
    """The files of one file system. Each name is a full name, with its scheme."""

    def open(self, name: str, mode: str) -> BinaryIO:
        """Open a file. `mode` is `rb`, `wb`, `ab`, `r+b`, `w+b` or `a+b`."""

    def read_into(self, name: str, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` with the bytes from `offset` on. Return their number, less at the end."""

    def upload(self, path: str, name: str) -> None:
        """Copy the file `path` of this machine to `name`. An object store never shows a part."""

    def exists(self, name: str) -> bool: ...

    def status(self, name: str) -> FileStatus: ...

    def names_in(self, folder: str) -> list[str]:
        """Return the last parts of the names in a folder, in any order."""

    def matching(self, pattern: str) -> list[str]:
        """Return the sorted names of all files that match a glob pattern."""

    def make_folder(self, name: str) -> None: ...

    def make_folders(self, name: str) -> None:
        """Make a folder and the folders above it. A folder that exists is not an error."""

    def remove(self, name: str) -> None: ...

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder."""

    def remove_tree(self, name: str) -> None: ...

    def rename(self, old: str, new: str) -> None:
        """Rename a file or folder. A file at the new name is replaced."""

    def move_file(self, old: str, new: str) -> None:
        """Rename a file. A store that cannot rename copies the file, and deletes the old one."""


def of(name: str) -> FileSystem:
    """Return the file system of a file.

    Raises:
        UnimplementedError: the scheme of the name is unknown, or its package is not installed.
    """
    kind = file_names.scheme(name)
    return _Local() if kind == "file" else _remote(kind, name)


def open_file(name: str, mode: str = "rb") -> BinaryIO:
    """Open a file of any file system, as `FileSystem.open` does."""
    return of(name).open(name, mode)


def read_all(name: str) -> bytes:
    """Return the content of a file."""
    with translated(name), open_file(name) as file:
        return file.read()


def write_all(name: str, content: bytes) -> None:
    """Write a file. Replace its content if the file exists. Make its folder if there is none."""
    folder = file_names.folder_of(name)
    if folder:
        of(name).make_folders(folder)
    with translated(name), open_file(name, "wb") as file:
        file.write(content)


@contextlib.contextmanager
def translated(name: str) -> Iterator[None]:
    """Raise errors of the operating system as TensorFlow's, with `name` in front."""
    try:
        yield
    except OSError as error:
        number = error.errno or (errno.ENOENT if isinstance(error, FileNotFoundError) else 0)
        reason = os.strerror(number) if number else str(error)
        raise _CLASSES.get(number, errors.UnknownError)(None, None, f"{name}; {reason}") from error


class _Local:
    """The files of this machine."""

    def open(self, name: str, mode: str) -> BinaryIO:
        with translated(name):
            file: Any = open(_path(name), mode)  # noqa: SIM115 - the caller closes it
            return file  # type: ignore[no-any-return]

    def read_into(self, name: str, offset: int, buffer: memoryview) -> int:
        with translated(name), open(_path(name), "rb") as file:
            file.seek(offset)
            return file.readinto(buffer)

    def upload(self, path: str, name: str) -> None:
        with translated(name):
            shutil.copyfile(path, _path(name))

    def exists(self, name: str) -> bool:
        return os.path.exists(_path(name))

    def status(self, name: str) -> FileStatus:
        with translated(name):
            found = os.stat(_path(name))
        return FileStatus(found.st_size, found.st_mtime_ns, stat.S_ISDIR(found.st_mode))

    def names_in(self, folder: str) -> list[str]:
        with translated(folder):
            return os.listdir(_path(folder))

    def matching(self, pattern: str) -> list[str]:
        return sorted(glob.glob(_path(pattern)))

    def make_folder(self, name: str) -> None:
        with translated(name):
            os.mkdir(_path(name))

    def make_folders(self, name: str) -> None:
        with translated(name):
            os.makedirs(_path(name), exist_ok=True)

    def remove(self, name: str) -> None:
        with translated(name):
            os.unlink(_path(name))

    def remove_folder(self, name: str) -> None:
        with translated(name):
            os.rmdir(_path(name))

    def remove_tree(self, name: str) -> None:
        with translated(name):
            shutil.rmtree(_path(name))

    def rename(self, old: str, new: str) -> None:
        with translated(old):
            os.replace(_path(old), _path(new))

    move_file = rename


def _path(name: str) -> str:
    path = file_names.local_path(name)
    assert path is not None, name
    return path


class _Remote:
    """The files of a store that `fsspec` can reach."""

    def __init__(self, scheme: str, filesystem: Any) -> None:
        self._scheme = scheme
        self._filesystem = filesystem

    def _full(self, path: str) -> str:
        """Return a name that `fsspec` returned without its scheme as a full name."""
        return path if file_names.is_url(path) else f"{self._scheme}://{path.lstrip('/')}"

    def open(self, name: str, mode: str) -> BinaryIO:
        with translated(name):
            file: BinaryIO = self._filesystem.open(name, mode)
            return file

    def read_into(self, name: str, offset: int, buffer: memoryview) -> int:
        if not buffer:
            # S3 refuses to read a range without bytes.
            return 0
        with translated(name):
            # An open file would read ahead some megabytes.
            found = self._filesystem.cat_file(name, offset, offset + len(buffer))
        buffer[: len(found)] = found
        return len(found)

    def upload(self, path: str, name: str) -> None:
        with translated(name):
            self._filesystem.put_file(path, name)

    def exists(self, name: str) -> bool:
        # The file system's own `exists` also returns false if it cannot reach the store.
        with translated(name), contextlib.suppress(FileNotFoundError):
            self._filesystem.info(name)
            return True
        return False

    def status(self, name: str) -> FileStatus:
        with translated(name):
            info = self._filesystem.info(name)
        is_directory = info["type"] == "directory"
        return FileStatus(info["size"] or 0, _modified(info), is_directory)

    def names_in(self, folder: str) -> list[str]:
        if not self._filesystem.isdir(folder):
            raise errors.NotFoundError(None, None, f"Could not find directory {folder}")
        with translated(folder):
            paths = self._filesystem.ls(folder, detail=False)
        return [path.rstrip("/").rpartition("/")[2] for path in paths]

    def matching(self, pattern: str) -> list[str]:
        with translated(pattern):
            return sorted(map(self._full, self._filesystem.glob(pattern)))

    def make_folder(self, name: str) -> None:
        with translated(name):
            self._filesystem.mkdir(name)

    def make_folders(self, name: str) -> None:
        with translated(name):
            self._filesystem.makedirs(name, exist_ok=True)

    def remove(self, name: str) -> None:
        with translated(name):
            self._filesystem.rm_file(name)

    def remove_folder(self, name: str) -> None:
        with translated(name):
            self._filesystem.rmdir(name)

    def remove_tree(self, name: str) -> None:
        with translated(name):
            self._filesystem.rm(name, recursive=True)

    def rename(self, old: str, new: str) -> None:
        with translated(old):
            self._filesystem.mv(old, new, recursive=True)

    def move_file(self, old: str, new: str) -> None:
        with translated(old):
            self._filesystem.cp_file(old, new)
            self._filesystem.rm_file(old)


def _modified(info: Any) -> int:
    """Return the time of the last change in nanoseconds. Stores give it different names."""
    for key in ("LastModified", "mtime", "updated", "created"):
        value = info.get(key)
        if isinstance(value, int | float):
            return int(value * 1e9)
        if hasattr(value, "timestamp"):
            return int(value.timestamp() * 1e9)
    return 0


def _remote(kind: str, name: str) -> FileSystem:
    try:
        # Other processes write files too: a listing from a cache would not have them.
        fsspec: Any = importlib.import_module("fsspec")
        return _Remote(kind, fsspec.filesystem(kind, use_listings_cache=False))
    except (ImportError, ValueError) as error:
        raise errors.UnimplementedError(
            None,
            None,
            f"File system scheme '{kind}' not implemented (file: '{name}'). Install "
            f"capstan[remote-files] for s3:// and gs:// ({error})",
        ) from error
