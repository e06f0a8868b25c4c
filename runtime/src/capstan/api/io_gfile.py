"""`tf.io.gfile`: files of any file system, under the names of TensorFlow 2."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.file_io import GFile, copy, rename, stat
from capstan.api.file_io import create_dir as mkdir
from capstan.api.file_io import delete_file as remove
from capstan.api.file_io import delete_recursively as rmtree
from capstan.api.file_io import file_exists as exists
from capstan.api.file_io import get_matching_files as glob
from capstan.api.file_io import is_directory as isdir
from capstan.api.file_io import list_directory as listdir
from capstan.api.file_io import recursive_create_dir as makedirs
from capstan.api.file_io import walk_v2 as walk

__all__ = [
    "GFile", "copy", "exists", "glob", "isdir", "listdir", "makedirs", "mkdir", "remove", "rename",
    "rmtree", "stat", "walk",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise absent("tf.io.gfile", name)
