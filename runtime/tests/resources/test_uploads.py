"""Tests of files that this machine collects before a store gets them."""

import contextlib
import importlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from capstan import errors
from capstan.resources import durable, uploads

importlib.import_module("fsspec")


@contextlib.contextmanager
def growing(name: str) -> Iterator[uploads.GrowingFile]:
    file = uploads.create(name)
    yield file
    file.close()


@pytest.mark.parametrize("opened", [growing, durable.replacing])
@pytest.mark.parametrize("content", [b"x", b"x" * 100_000], ids=["buffered", "long"])
def test_a_full_disk_of_this_machine_is_an_error_that_names_the_file_there(
    opened: Callable[[str], Any], content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: Any) -> Any:
        return tempfile._TemporaryFileWrapper(open("/dev/full", "wb"), "/tmp/copy", delete=False)

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    message = r"^/tmp/copy; No space left"
    with (
        pytest.raises(errors.ResourceExhaustedError, match=message),
        opened("memory://uploads/file") as file,
    ):
        file.write(content)


@pytest.mark.parametrize("opened", [growing, durable.replacing])
def test_a_machine_without_a_folder_for_temporary_files_is_an_error(
    opened: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> Any:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", fail)
    message = r"^memory://uploads/file; "
    with pytest.raises(errors.NotFoundError, match=message), opened("memory://uploads/file"):
        pass
