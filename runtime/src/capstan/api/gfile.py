"""`tf.gfile`: files of any file system, under the names of TensorFlow 1."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.file_io import GFile
from capstan.api.file_io import copy as Copy
from capstan.api.file_io import create_dir as MkDir
from capstan.api.file_io import delete_file as Remove
from capstan.api.file_io import delete_recursively as DeleteRecursively
from capstan.api.file_io import file_exists as Exists
from capstan.api.file_io import get_matching_files as Glob
from capstan.api.file_io import is_directory as IsDirectory
from capstan.api.file_io import list_directory as ListDirectory
from capstan.api.file_io import recursive_create_dir as MakeDirs
from capstan.api.file_io import rename as Rename
from capstan.api.file_io import stat as Stat
from capstan.api.file_io import walk as Walk

__all__ = [
    "Copy", "DeleteRecursively", "Exists", "FastGFile", "GFile", "Glob", "IsDirectory",
    "ListDirectory", "MakeDirs", "MkDir", "Open", "Remove", "Rename", "Stat", "Walk",
]  # fmt: skip

FastGFile = Open = GFile


def __getattr__(name: str) -> Any:
    raise absent("tf.gfile", name)
