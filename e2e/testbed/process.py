"""Processes of the test bed. Each has a log and ends with the process that started it."""

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
import threading
from collections.abc import Iterator, Mapping, Sequence

import psutil

from testbed.programs import Unavailable

MARK = "CAPSTAN_TESTBED"
"""A variable in the environment of every process. It names the folder of the process's run."""

_QUIET = range(4_000, 10_000)
"""The tests of the runtime and the jobs of `capstanctl run`, which run at the same time, take
higher ports."""
_EPHEMERAL = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


class HasEnded(Exception):
    """A process that a test waits for has ended. The message contains its log."""


class NoPorts(Exception):
    """This process has chosen all ports that were free."""


class Daemon:
    """One process. The system kills it when the thread that started it ends in any way."""

    def __init__(
        self,
        words: Sequence[object],
        log: pathlib.Path,
        *,
        mark: pathlib.Path,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start the process, which appends to the log. Its environment names `mark`, the folder of
        the run. Raises Unavailable if setpriv is missing.
        """
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
                # An interrupt of the terminal must reach only the tests, which then end the
                # process.
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
        """Send SIGKILL. Returns when the process has ended."""
        self.process.kill()
        self.process.wait()

    def stop(self, within: float = 90) -> int:
        """Send SIGTERM and return the exit status. Raises AssertionError if the process does not
        end `within` seconds.
        """
        self.process.terminate()
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"did not end within {within} s of SIGTERM\n{self.tail()}"
            ) from None

    def tail(self, lines: int = 40, since: int = 0) -> str:
        """Return the path of the log and its last lines, without its first `since` bytes."""
        content = self.log.read_bytes()[since:] if self.log.exists() else b""
        text = content.decode(errors="replace")
        return "\n".join([f"--- {self.log}", *text.splitlines()[-lines:]])


@contextlib.contextmanager
def state_folder(kind: str) -> Iterator[pathlib.Path]:
    """Make a folder for the state of one run. At the end, kill the run's processes and remove the
    folder.

    The folders and processes of killed runs of this kind are removed first. A run that is alive
    holds the lock of its folder.
    """
    base = pathlib.Path(tempfile.gettempdir()) / f"capstan-testbed-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    if base.stat().st_uid != os.getuid():
        raise Unavailable(f"{base} belongs to another user: set TMPDIR to a folder of your own")
    with contextlib.ExitStack() as held:
        # Runs take turns here, because a folder that another run has just made is not locked yet.
        with (base / "door").open("w") as door:
            fcntl.flock(door, fcntl.LOCK_EX)
            for old_folder in base.glob(f"{kind}-*"):
                with _lock(old_folder) as was_free:
                    if was_free:
                        remove(old_folder)
            folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=base))
            held.enter_context(_lock(folder))
        try:
            yield folder
        finally:
            remove(folder)


@contextlib.contextmanager
def _lock(folder: pathlib.Path) -> Iterator[bool]:
    """Try to lock a run's folder. Yield whether the lock was free."""
    with contextlib.ExitStack() as held:
        try:
            # The run may have ended by now and removed its folder.
            file = held.enter_context((folder / "lock").open("w"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, FileNotFoundError):
            yield False
        else:
            yield True


def remove(folder: pathlib.Path) -> None:
    """Kill the processes of a run, and remove its folder."""
    processes = marked(folder)
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(processes, timeout=60)
    shutil.rmtree(folder, ignore_errors=True)


def marked(folder: pathlib.Path) -> list[psutil.Process]:
    """Return the running processes of the run with this folder."""
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == str(folder):
                processes.append(process)
    return processes


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Return ports on which a server can listen now, and which no earlier call has returned.

    An operator binds its port seconds after the call, and until then the port looks free. The ports
    are outside the range that the kernel uses for outgoing connections. A server that is down for a
    while therefore finds its port free again. Threads may call this in parallel.

    Raises NoPorts when this process has chosen all ports.
    """
    with _CHOOSING:
        free = (port for port in _UNUSED if _is_free(host, port))
        chosen = list(itertools.islice(free, count))
    if len(chosen) < count:
        raise NoPorts(f"{count} ports of {host} are needed, and only {len(chosen)} are left")
    return chosen


def _quiet_ports() -> Iterator[int]:
    """Yield each quiet port once, in random order."""
    low, high = map(int, _EPHEMERAL.read_text().split())
    quiet = [port for port in _QUIET if not low <= port <= high] or list(_QUIET)
    # The choice is random and independent of the seed, so that parallel runs choose other ports.
    random.Random().shuffle(quiet)
    yield from quiet


_UNUSED = _quiet_ports()
"""The ports that this process has not chosen yet. The lock `_CHOOSING` guards them."""
_CHOOSING = threading.Lock()


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError:
            return False
    return True
