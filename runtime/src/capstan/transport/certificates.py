"""The certificates of a task: with them, connections are encrypted and checked on both sides.

The launcher of a job writes three files in PEM, with the names that Secrets of Kubernetes use. It
replaces them before the certificate ends. Both sides of a connection must have a certificate of
the job's authority. A connection that is open stays open when its certificate ends.
"""

import os
import pathlib
import ssl
import threading
from dataclasses import dataclass, field
from typing import Final

AUTHORITY: Final = "ca.crt"
CHAIN: Final = "tls.crt"
KEY: Final = "tls.key"

# A kubelet swaps this link when it replaces the files of a Secret, so that nobody reads a new
# certificate with an old key.
_VERSION: Final = "..data"


@dataclass(frozen=True, slots=True)
class Certificates:
    """The authority of a job, and the certificate and the key of a task. All are PEM."""

    authority: bytes
    chain: bytes
    key: bytes = field(repr=False)


class Folder:
    """The folder with the certificates of this task. Thread-safe."""

    def __init__(self, path: str) -> None:
        """Read the certificates.

        Raises:
            ValueError: a file is missing, or the files are not certificates that fit together.
        """
        self._path = pathlib.Path(path)
        self._lock = threading.Lock()
        try:
            self._stamp = self._read_stamp()
            self._current = self._read()
            _check(self._path)
        except (OSError, ssl.SSLError) as error:
            raise ValueError(
                f"The folder {path} must have {AUTHORITY}, {CHAIN} and {KEY}, which fit together: "
                f"{error}"
            ) from None

    def current(self) -> Certificates:
        """Return the certificates. If the files have not changed, this is the same object.

        While the files cannot be read, the last certificates stay current.
        """
        with self._lock:
            try:
                stamp = self._read_stamp()
                if stamp != self._stamp:
                    self._current, self._stamp = self._read(), stamp
            except OSError:
                pass
            return self._current

    def _read_stamp(self) -> tuple[tuple[int, int], ...]:
        files = [os.stat(self._path / name) for name in (AUTHORITY, CHAIN, KEY)]
        return tuple((found.st_ino, found.st_mtime_ns) for found in files)

    def _read(self) -> Certificates:
        version = self._path / _VERSION
        folder = version.resolve() if version.exists() else self._path
        return Certificates(*((folder / name).read_bytes() for name in (AUTHORITY, CHAIN, KEY)))


def _check(folder: pathlib.Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / CHAIN, folder / KEY)
    context.load_verify_locations(folder / AUTHORITY)
