"""Start a process under its guard, and follow it to its end.

`guard.py` says what passes over the line between the two. What is promised here: a started
process ends when it wants to, when `stop` is called, or when this process ends, in whatever way;
never later.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from capstan_operator.local import guard

GRACE_SECONDS = 5.0
"""How long a process may take to end when nobody has said how long."""

_GUARD = (sys.executable, "-I", "-S", guard.__file__)


@dataclass(frozen=True, slots=True)
class Command:
    """What to execute, resolved: nothing is left to look up when it starts.

    `grace_seconds` is how long it may take to end when `capstanctl` does, before it is killed.
    """

    executable: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    grace_seconds: float = GRACE_SECONDS


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: its exit code as a shell counts, and words if it could say none."""

    code: int
    message: str = ""


class Process:
    """One started process. Not thread-safe; `fileno` makes it an object to select on.

    `pid` leads the process group; it is 0 when the operating system refused to start the command,
    and `exit` is then already known.
    """

    def __init__(self, command: Command, log: Path, held: int) -> None:
        """Start `command`; it appends what it prints to `log`, and its guard keeps `held` open.

        Blocks until the process runs or was refused (some 20 ms). Raises nothing that a later
        attempt could do without: a full disk and a folder that is gone are an `exit`, too.
        """
        self._heard = b""
        self.pid = 0
        self.grace_seconds = command.grace_seconds
        self.exit: Exit | None = None
        self._line, far_end = socket.socketpair()
        arguments = [str(self.grace_seconds), str(held), "--", command.executable, *command.argv]
        try:
            with far_end, log.open("ab") as output:
                self._guard = subprocess.Popen(
                    [*_GUARD, *arguments],
                    stdin=far_end.fileno(),
                    stdout=output,
                    stderr=output,
                    env=dict(command.environment),
                    cwd=command.directory,
                    pass_fds=(held,),
                    start_new_session=True,
                )
        except OSError as fault:
            self._line.close()
            self.exit = Exit(guard.COMMAND_NOT_STARTED, f"{fault.strerror}: {fault.filename}")
        while not self.pid and self.exit is None:
            self.hear()

    def fileno(self) -> int:
        """Return the file descriptor that becomes readable when there is something to `hear`."""
        return self._line.fileno()

    def hear(self) -> None:
        """Take in what the guard says. Call it when `fileno` is readable, else it blocks."""
        try:
            chunk = self._line.recv(4096)
        except ConnectionError:
            chunk = b""
        *sentences, self._heard = (self._heard + chunk).split(b"\n")
        for sentence in sentences:
            word, _, rest = sentence.decode(errors="replace").partition(" ")
            match word:
                case "pid":
                    self.pid = int(rest)
                case "refused":
                    self._end(Exit(guard.COMMAND_NOT_STARTED, rest))
                case "exit":
                    self._end(Exit(int(rest)))
                case _:
                    raise ValueError(f"a guard says {sentence!r}, which is not in its language")
        if not chunk and self.exit is None:
            self._bury()

    def stop(self, grace_seconds: float) -> None:
        """Ask the process group to end (SIGTERM) and kill it after `grace_seconds`. Does not block.

        Harmless when it has ended; a second call can only shorten the time.
        """
        if self.exit is None:
            # A guard that is gone is noticed by `hear`.
            with contextlib.suppress(OSError):
                self._line.sendall(f"stop {grace_seconds}\n".encode())

    def _bury(self) -> None:
        """End what is left of a process whose guard was killed."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self._end(
            Exit(128 + signal.SIGKILL, "the guard of this task was killed, and the task with it")
        )

    def _end(self, exit_: Exit) -> None:
        self.exit = exit_
        self._line.close()
        self._guard.wait()
