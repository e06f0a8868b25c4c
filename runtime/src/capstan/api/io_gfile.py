"""`tf.io.gfile`: files of any file system, under the names of TensorFlow 2.

The functions are those of `file_io`, with other names of their arguments
(python/lib/io/file_io.py).
"""

from typing import Any

from capstan.api import file_io
from capstan.api.absent import absent
from capstan.api.file_io import GFile
from capstan.api.file_io import walk_v2 as walk
from capstan.resources import files

__all__ = [
    "GFile", "copy", "exists", "glob", "isdir", "listdir", "makedirs", "mkdir", "remove", "rename",
    "rmtree", "stat", "walk",
]  # fmt: skip


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file. Raise AlreadyExistsError if the new file exists, unless `overwrite`."""
    file_io.copy(src, dst, overwrite)


def exists(path: Any) -> bool:
    """Return whether there is a file or folder of that name."""
    return file_io.file_exists(path)


def glob(pattern: Any) -> list[str]:
    """Return the sorted names of the files that match a pattern, or any of several."""
    return file_io.get_matching_files(pattern)


def isdir(path: Any) -> bool:
    """Return whether there is a folder of that name."""
    return file_io.is_directory(path)


def listdir(path: Any) -> list[str]:
    """Return the names in a folder. Raise NotFoundError if it does not exist."""
    return file_io.list_directory(path)


def makedirs(path: Any) -> None:
    """Make a folder and the folders above it. A folder that exists is not an error."""
    file_io.recursive_create_dir(path)


def mkdir(path: Any) -> None:
    """Make a folder, if it does not exist. Raise NotFoundError if its parent does not exist."""
    file_io.create_dir(path)


def remove(path: Any) -> None:
    """Delete a file. Raise NotFoundError if it does not exist."""
    file_io.delete_file(path)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Rename a file. Raise AlreadyExistsError if the new name exists, unless `overwrite`."""
    file_io.rename(src, dst, overwrite)


def rmtree(path: Any) -> None:
    """Delete a folder and everything in it. Raise NotFoundError if it does not exist."""
    file_io.delete_recursively(path)


def stat(path: Any) -> files.FileStatus:
    """Return the size and the time of the last change of a file."""
    return file_io.stat(path)


def __getattr__(name: str) -> Any:
    raise absent("tf.io.gfile", name)
