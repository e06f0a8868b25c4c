"""Files that are replaced so that a loss of power leaves the old file or the new one.

A store that has a URL, such as `s3://`, cannot rename a file over another one and cannot sync a
file. There, a file is written to this machine first and then uploaded. Object stores show an
object only after its upload is complete, and keep it then.

Errors are those of `files`: a full disk, for example, raises ResourceExhaustedError.
"""

import contextlib
import errno
import os
import pathlib
import secrets
import tempfile
from collections.abc import Iterator
from typing import IO

from capstan import errors
from capstan.resources import file_names, files


@contextlib.contextmanager
def replacing(name: str) -> Iterator[IO[bytes]]:
    """Open a temporary file, and give it the name `name` when the block ends.

    When the block ends without an error, the file and its name are on the disk. If the block or the
    operating system raises an error, the temporary file is deleted, and an old file keeps its name.
    Blocks until the disk or the store has the data.

    Raises:
        OpError: the file cannot be written, synced or renamed, or the store has refused it.
    """
    path = file_names.local_path(name)
    with files.translated(name), _renaming(path) if path is not None else _uploading(name) as file:
        yield file


@contextlib.contextmanager
def _uploading(name: str) -> Iterator[IO[bytes]]:
    """Upload a temporary file to a store when the block ends."""
    content = tempfile.NamedTemporaryFile(prefix="capstan-")  # noqa: SIM115
    with files.translated(content.name), content:
        yield content.file
        content.flush()
        files.of(name).upload(content.name, name)


@contextlib.contextmanager
def _renaming(path: str) -> Iterator[IO[bytes]]:
    """Rename a temporary file of this machine when the block ends."""
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
    _sync_folder_of(path)


def move(old: str, new: str) -> None:
    """Rename a file within a file system. `sync_folder_of` then makes sure of its name.

    Raises:
        OpError: the file cannot be renamed, or the store has refused to copy or to delete it.
    """
    source, target = file_names.local_path(old), file_names.local_path(new)
    if source is None or target is None:
        files.of(old).move_file(old, new)
        return
    with files.translated(old):
        os.replace(source, target)


def remove(name: str) -> None:
    """Delete a file. A missing file is not an error.

    Raises:
        OpError: the file cannot be deleted.
    """
    path = file_names.local_path(name)
    if path is not None:
        with files.translated(name):
            pathlib.Path(path).unlink(missing_ok=True)
        return
    with contextlib.suppress(errors.NotFoundError):
        files.of(name).remove(name)


def make_folder_of(name: str) -> None:
    """Create the folder of a file, with its parents, and wait until their names are on the disk.

    Raises:
        OpError: a folder cannot be created or synced.
    """
    path = file_names.local_path(name)
    if path is None:
        files.of(name).make_folders(file_names.folder_of(name))
        return
    folder = pathlib.Path(file_names.folder_of(path))  # "folder/" is the name of a file in it.
    missing = [new for new in (folder, *folder.parents) if not new.exists()]
    # If a file has the name of the folder, the error is that of the file in the folder.
    with files.translated(str(folder)), contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True, exist_ok=True)
    for new in missing:
        sync_folder_of(str(new))


def sync_folder_of(name: str) -> None:
    """Wait until the names in the folder of a file are on the disk. A store needs no wait.

    Raises:
        OpError: the folder cannot be opened or synced.
    """
    path = file_names.local_path(name)
    if path is not None:
        with files.translated(os.path.dirname(path)):
            _sync_folder_of(path)


def _sync_folder_of(path: str) -> None:
    folder = file_names.folder_of(path) or os.curdir
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync a folder, and offer no other way.
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
