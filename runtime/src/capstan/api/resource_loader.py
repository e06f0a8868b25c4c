"""`tf.resource_loader`: files that lie beside a module (python/platform/resource_loader.py)."""

import os
import pathlib
import sys
from typing import Any

from capstan.api.absent import absent

__all__ = [
    "get_data_files_path",
    "get_path_to_datafile",
    "get_root_dir_with_all_resources",
    "load_resource",
    "readahead_file_path",
]


def get_data_files_path() -> str:
    """Return the folder of the module that calls this function."""
    return _folder_of_caller()


def get_root_dir_with_all_resources() -> str:
    """Return the folder of the module that calls this function."""
    return _folder_of_caller()


def get_path_to_datafile(path: str) -> str:
    """Return the path of a file relative to the folder of the module that calls this function."""
    return os.path.join(_folder_of_caller(), path)


def load_resource(path: str) -> bytes:
    """Return the content of a file of Capstan. `path` is relative to the package `capstan`.

    Raises:
        OSError: the file cannot be read.
    """
    return (pathlib.Path(__file__).parents[1] / path).read_bytes()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Return `path`."""
    return path


def _folder_of_caller() -> str:
    """Return the folder of the module that called the function that calls this one."""
    return os.path.dirname(os.path.abspath(sys._getframe(2).f_code.co_filename))


def __getattr__(name: str) -> Any:
    raise absent("tf.resource_loader", name)
