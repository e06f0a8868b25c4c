"""Whole files at once (python/lib/io/file_io.py): programs import these from `file_io`."""

import os
import threading
import zlib
from typing import Any

from capstan import errors
from capstan.api import file_io

__all__ = [
    "FileIO",
    "atomic_write_string_to_file",
    "file_crc32",
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


def file_crc32(filename: Any, block_size: int = _CHUNK) -> str:
    """Return the CRC-32 of a file as a hexadecimal number. `block_size` bytes are read at once.

    Raises:
        NotFoundError: the file does not exist.
    """
    crc = 0
    with file_io.GFile(filename, "rb") as file:
        while part := file.read(block_size):
            crc = zlib.crc32(part, crc)
    return hex(crc)


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
