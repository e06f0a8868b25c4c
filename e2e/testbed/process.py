"""Processes of the test bed: each has a log, and none outlives the process that started it."""

import contextlib
import fcntl
import itertools
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence

import psutil

from testbed.programs import Unavailable

MARK = "CAPSTAN_TESTBED"
"""A variable in the environment of every process: the folder of the run it belongs to."""

_QUIET = range(10_000, 65_536)
_EPHEMERAL = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


class HasEnded(Exception):
    """A process that a test waits for has ended; the message holds its log."""


class Daemon:
    """One process; the system kills it when the thread that started it ends, however that ends."""

    def __init__(
        self,
        words: Sequence[object],
        log: pathlib.Path,
        *,
        mark: pathlib.Path,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start it; the log is appended to. Raises Unavailable where setpriv is missing."""
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise Unavailable("setpriv is missing: install the package util-linux")
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [setpriv, "--pdeathsig=KILL", "--", *map(str, words)],
                env={**(os.environ if env is None else env), MARK: str(mark)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # An interrupt of the terminal is for the tests, which then end this.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def running(self) -> bool:
        return self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, as when the machine runs out of memory. Returns when it is gone."""
        self.process.kill()
        self.process.wait()

    def stop(self, within: float = 90) -> int:
        """SIGTERM, and its exit status. Raises AssertionError when it does not end in time."""
        self.process.terminate()
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"did not end within {within} s of SIGTERM\n{self.tail()}"
            ) from None

    def tail(self, lines: int = 40, since: int = 0) -> str:
        """The last lines of its log, without its first `since` bytes, under its path."""
        said = self.log.read_bytes()[since:] if self.log.exists() else b""
        text = said.decode(errors="replace")
        return "\n".join([f"--- {self.log}", *text.splitlines()[-lines:]])


@contextlib.contextmanager
def state_folder(kind: str) -> Iterator[pathlib.Path]:
    """Make a folder for one run's state, and remove it, and its processes, at the end.

    What killed runs of this kind left is removed first: a run holds a lock for as long as it lives.
    """
    base = pathlib.Path(tempfile.gettempdir()) / f"capstan-testbed-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    if base.stat().st_uid != os.getuid():
        raise Unavailable(f"{base} belongs to another user: set TMPDIR to a folder of your own")
    with contextlib.ExitStack() as mine:
        # One after the other: a folder that somebody has just made is not locked yet.
        with (base / "door").open("w") as door:
            fcntl.flock(door, fcntl.LOCK_EX)
            for left in base.glob(f"{kind}-*"):
                with _lock(left) as free:
                    if free:
                        remove(left)
            folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=base))
            mine.enter_context(_lock(folder))
        try:
            yield folder
        finally:
            remove(folder)


@contextlib.contextmanager
def _lock(folder: pathlib.Path) -> Iterator[bool]:
    """Try to lock a run's folder; say whether that was possible."""
    with contextlib.ExitStack() as held:
        try:
            # Its run may be over by now, and the folder gone.
            file = held.enter_context((folder / "lock").open("w"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, FileNotFoundError):
            yield False
        else:
            yield True


def remove(folder: pathlib.Path) -> None:
    """Kill the processes that belong to a run, and remove its folder."""
    left = marked(folder)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=60)
    shutil.rmtree(folder, ignore_errors=True)


def marked(folder: pathlib.Path) -> list[psutil.Process]:
    """The living processes that belong to a run."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == str(folder):
                found.append(process)
    return found


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Choose ports on which a server can listen now.

    None is of the range from which the kernel serves outgoing connections: a server that is down
    for a while finds its port again.
    """
    low, high = map(int, _EPHEMERAL.read_text().split())
    quiet = [port for port in _QUIET if not low <= port <= high] or list(_QUIET)
    # By chance, and not from the seed: runs side by side must not choose the same.
    random.Random().shuffle(quiet)
    return list(itertools.islice((port for port in quiet if _is_free(host, port)), count))


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError:
            return False
    return True
