"""A record of syncs, renames and removals, which proves that a loss of power cannot lose a file."""

import os
import pathlib

import pytest


class Disk:
    """Records every sync, rename and removal in `calls`, in order, and then performs it.

    A call is `(kind, path)`. A rename of a file that was not synced at its full size fails, because
    the file could then be empty after a loss of power.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, str]] = []
        self._synced_sizes: dict[str, int] = {}
        self._fsync, self._replace, self._unlink = os.fsync, os.replace, os.unlink
        monkeypatch.setattr(os, "fsync", self._record_sync)
        monkeypatch.setattr(os, "replace", self._record_rename)
        monkeypatch.setattr(os, "unlink", self._record_removal)

    def renamed(self, path: object) -> int:
        """Return the index in `calls` of the rename to `path`."""
        return self.calls.index(("rename", str(path)))

    def durable(self, path: pathlib.Path) -> int:
        """Return the index in `calls` of the sync that put the name `path` on the disk."""
        return self.calls.index(("sync", str(path.parent)), self.renamed(path))

    def removed(self, path: object) -> int:
        """Return the index in `calls` of the removal of `path`."""
        return self.calls.index(("remove", str(path)))

    def _record_sync(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        self._fsync(descriptor)
        self.calls.append(("sync", path))
        self._synced_sizes[path] = os.stat(path).st_size

    def _record_rename(self, source: str, destination: str) -> None:
        size = self._synced_sizes.pop(source, None)
        assert size == os.stat(source).st_size, f"{destination} may be empty after a loss of power"
        self._synced_sizes[destination] = size
        self._replace(source, destination)
        self.calls.append(("rename", destination))

    def _record_removal(self, path: str | pathlib.Path) -> None:
        self._unlink(path)
        self.calls.append(("remove", str(path)))
