"""The guard of one task: a process that ends the task when `capstanctl` is gone.

    python -I -S guard.py GRACE HELD -- EXECUTABLE NAME [ARGUMENT ...]

Run as a program, in a session of its own, with one end of a socket pair as standard input (the
*line*) and the task's log as standard output and error. It starts the task in a process group of
its own and then only waits. The other end of the line belongs to `capstanctl`. The guard and
`capstanctl` exchange these messages:

    guard says   `pid N`          the task runs; N leads its process group
                 `refused TEXT`   the operating system would not start it; the guard ends
                 `exit CODE`      the task has ended (128 + n if signal n ended it), and its group
                                  was killed
    it reads     `stop SECONDS`   SIGTERM to the group, SIGKILL after that time (the earliest wins)
                 end of file      `capstanctl` has ended in any way; the same as `stop GRACE`
    it gets      SIGTERM          somebody stops the guard alone; the same as `stop GRACE`

When the task ends, the guard kills the rest of its process group with SIGKILL, as when process 1
of a container ends. This needs only POSIX, so it works on macOS as on Linux. A process that leaves
its group on purpose (a daemon) is not killed.

HELD is the file descriptor of the job's lock. The guard keeps it open and the task does not inherit
it, so that the lock is held until the last task of a killed `capstanctl` has ended.

The guard imports only built-in modules and starts without `site`, because a guard runs beside every
task.
"""

import contextlib
import os
import select
import signal
import sys
import time

LINE = 0
"""The file descriptor of the line in the guard."""

COMMAND_NOT_STARTED = 127
"""The exit code of a task that the operating system would not start, as in a shell."""

_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_MAYBE_IGNORED_BY_PARENTS = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT)


def main(arguments: list[str]) -> int:
    """Run the task until it ends or is stopped, as the docstring of the module says."""
    grace, held, _, executable, *argv = arguments
    os.set_inheritable(int(held), False)
    signals = _signals_as_bytes()
    try:
        pid = os.posix_spawn(
            executable,
            argv,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
            setpgroup=0,
            setsigdef=[*_IGNORED_BY_PYTHON, *_MAYBE_IGNORED_BY_PARENTS],
        )
    except OSError as fault:
        # If the file exists, its interpreter or its loader is missing.
        lacks = isinstance(fault, FileNotFoundError) and os.path.exists(executable)
        missing = "the interpreter of " if lacks else ""
        _say(f"refused {fault.strerror}: {missing}{executable}")
        return COMMAND_NOT_STARTED
    _say(f"pid {pid}")
    status = _wait(pid, signals, float(grace))
    _signal_group(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(status)
    _say(f"exit {code if code >= 0 else 128 - code}")
    return 0


def _signals_as_bytes() -> int:
    """Turn SIGCHLD and SIGTERM into bytes on a pipe. Return the reading end of the pipe."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    return reader


def _wait(pid: int, signals: int, grace: float) -> int:
    """Wait until `pid` ends, and return its wait status.

    On request, send SIGTERM to the process group, and SIGKILL when the requested time is up.
    """
    heard = b""
    sources = [LINE, signals]
    kill_at: float | None = None
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        left = None if kill_at is None else kill_at - time.monotonic()
        if left is not None and left <= 0:
            _signal_group(pid, signal.SIGKILL)
            return os.waitpid(pid, 0)[1]
        ready, _, _ = select.select(sources, [], [], left)
        stops: list[float] = []
        if signals in ready and signal.SIGTERM in os.read(signals, 4096):
            stops.append(grace)
        if LINE in ready:
            heard += (chunk := _hear())
            *orders, heard = heard.split(b"\n")
            stops += [float(order.removeprefix(b"stop ")) for order in orders]
            if not chunk:
                sources.remove(LINE)
                stops.append(grace)
        if stops:
            if kill_at is None:
                _signal_group(pid, signal.SIGTERM)
            stop_at = time.monotonic() + min(stops)
            kill_at = stop_at if kill_at is None else min(kill_at, stop_at)


def _hear() -> bytes:
    """Read from the line. Return no bytes if the other end is gone."""
    try:
        return os.read(LINE, 4096)
    except ConnectionError:
        return b""


def _say(sentence: str) -> None:
    """Send a sentence to `capstanctl`, if it is still there."""
    with contextlib.suppress(OSError):
        os.write(LINE, sentence.encode(errors="replace") + b"\n")


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
