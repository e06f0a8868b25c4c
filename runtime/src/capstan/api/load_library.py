"""The functions that load operations, kernels and file systems of C++ into TensorFlow.

Capstan has no C++ code and loads none, so each refuses a library that exists. A library that does
not exist is reported as in TensorFlow (python/framework/load_library.py).
"""

import errno
import os
from typing import Any, NoReturn

from capstan import errors
from capstan.api import file_io

__all__ = ["load_file_system_library", "load_library", "load_op_library"]


def load_op_library(library_filename: Any) -> NoReturn:
    """Refuse a library of operations.

    Raises:
        NotFoundError: the file does not exist.
        UnimplementedError: the file exists.
    """
    _refuse_file(os.fsdecode(library_filename))


def load_file_system_library(library_filename: Any) -> NoReturn:
    """Refuse a library of a file system. The errors are those of `load_op_library`."""
    _refuse_file(os.fsdecode(library_filename))


def load_library(library_location: Any) -> None:
    """Refuse a library of kernels, or a folder that has one. Ignore a folder without libraries.

    Raises:
        OSError: there is no such file or folder.
        UnimplementedError: there is a library.
    """
    location = os.fsdecode(library_location)
    if not file_io.file_exists(location):
        message = "The file or folder to load kernel libraries from does not exist."
        raise OSError(errno.ENOENT, message, location)
    if not file_io.is_directory(location):
        _refuse(location)
    for name in sorted(file_io.list_directory(location)):
        if _is_library(name):
            _refuse(os.path.join(location, name))


def _is_library(name: str) -> bool:
    """Return whether a file is named as a shared object of Linux, also with a version."""
    stem, _, version = name.rpartition(".so.")
    return name.endswith(".so") or (bool(stem) and version[:1].isdecimal())


def _refuse_file(name: str) -> NoReturn:
    if not os.path.exists(name):
        message = f"{name}: cannot open shared object file: No such file or directory"
        raise errors.NotFoundError(None, None, message)
    _refuse(name)


def _refuse(name: str) -> NoReturn:
    raise errors.UnimplementedError(
        None,
        None,
        f"{name} cannot be loaded: Capstan has no C++ code and loads none. Compute with other "
        "operations, or call a Python function by tf.py_func, or run this program with TensorFlow",
    )
