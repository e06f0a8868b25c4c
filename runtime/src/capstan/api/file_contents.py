"""Whole files at once (python/lib/io/file_io.py): programs import these from `file_io`."""

import os
import threading
from typing import Any

from capstan import errors
from capstan.api import file_io

__all__ = [
    "FileIO",
    "atomic_write_string_to_file",
    "filecmp",
    "read_file_to_string",
    "write_string_to_file",
]

FileIO = file_io.GFile

_CHUNK = 1 << 22


def read_file_to_string(filename: Any, binary_mode: bool = False) -> Any:
    """Return the text of a file, or its bytes.

    Raises:
        NotFoundError: the file does not exist.
    """
    with file_io.GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: Any, file_content: Any) -> None:
    """Replace a file by one with this text or these bytes. A reader may see a part of it."""
    with file_io.GFile(filename, "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(filename: Any, contents: Any, overwrite: bool = True) -> None:
    """Write a file beside `filename` and rename it, so that no reader sees a part of it.

    Raises:
        AlreadyExistsError: the file exists, and `overwrite` is false.
    """
    temporary = f"{file_io.text(filename)}.{os.getpid()}.{threading.get_ident()}.tmp"
    write_string_to_file(temporary, contents)
    try:
        file_io.rename(temporary, filename, overwrite)
    except errors.OpError:
        file_io.delete_file(temporary)
        raise


def filecmp(filename_a: Any, filename_b: Any) -> bool:
    """Return whether two files have the same bytes.

    Raises:
        NotFoundError: a file does not exist.
    """
    with file_io.GFile(filename_a, "rb") as one, file_io.GFile(filename_b, "rb") as two:
        if one.size() != two.size():
            return False
        while part := one.read(_CHUNK):
            if part != two.read(_CHUNK):
                return False
    return True
