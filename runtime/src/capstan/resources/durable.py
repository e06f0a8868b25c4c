"""Files that are replaced so that a loss of power leaves the old file or the new one."""

import contextlib
import errno
import os
import pathlib
import secrets
from collections.abc import Iterator
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """Open a temporary file, and give it the name `path` when the block ends.

    When the block ends without an error, the file and its name are on the disk. If the block or the
    operating system raises an error, the temporary file is deleted, and an old file keeps its name.
    Blocks until the disk has the data.

    Raises:
        OSError: the file cannot be written, synced or renamed.
    """
    temporary = f"{path}.tempstate{secrets.token_hex(8)}"
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        pathlib.Path(temporary).unlink(missing_ok=True)
        raise
    sync_folder_of(path)


def make_folder_of(path: str) -> None:
    """Create the folder of `path`, with its parents, and wait until their names are on the disk.

    Raises:
        OSError: a folder cannot be created or synced.
    """
    folder = pathlib.Path(path).parent
    missing = [new for new in (folder, *folder.parents) if not new.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for new in missing:
        sync_folder_of(str(new))


def sync_folder_of(path: str) -> None:
    """Wait until the names in the folder of `path` are on the disk.

    Raises:
        OSError: the folder cannot be opened or synced.
    """
    descriptor = os.open(pathlib.Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync a folder, and offer no other way.
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
