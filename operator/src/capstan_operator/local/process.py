"""Start a process under its guard, and watch it until it ends.

`guard.py` describes the protocol between this process and the guard. A started process never
outlives this process: it ends by itself, after `stop`, or when this process ends for any reason.
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
"""How long a process may take to end by default."""

_GUARD = (sys.executable, "-I", "-S", guard.__file__)


@dataclass(frozen=True, slots=True)
class Command:
    """A command with all names resolved.

    If `capstanctl` ends, the process gets SIGTERM, and SIGKILL after `grace_seconds`.
    """

    executable: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    grace_seconds: float = GRACE_SECONDS


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: its exit code as in a shell, and a message if it could not start
    or lost its guard."""

    code: int
    message: str = ""


class Process:
    """One started process. Not thread-safe. `select` can wait for it, because it has a `fileno`.

    `pid` leads the process group. If the operating system refused to start the command, `pid` is 0
    and `exit` is already set.
    """

    def __init__(self, command: Command, log: Path, held: int) -> None:
        """Start `command`, which appends its output to `log`.

        The guard of the process keeps the file descriptor `held` open. Blocks until the process
        runs or was refused (about 20 ms). A full disk or a missing folder raises no error, because
        a later attempt may succeed. It sets `exit`.
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
        """Return the file descriptor that is readable when the guard has sent something."""
        return self._line.fileno()

    def hear(self) -> None:
        """Receive messages of the guard, which set `pid` or `exit`.

        Blocks if `fileno` is not readable.
        """
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
                    raise ValueError(
                        f"the guard sent {sentence!r}, which is not part of its protocol"
                    )
        if not chunk and self.exit is None:
            self._bury()

    def stop(self, grace_seconds: float) -> None:
        """Send SIGTERM to the process group, and SIGKILL after `grace_seconds`. Does not block.

        Does nothing if the process has ended. A second call can only shorten the time.
        """
        if self.exit is None:
            # If the guard is gone, `hear` notices it.
            with contextlib.suppress(OSError):
                self._line.sendall(f"stop {grace_seconds}\n".encode())

    def _bury(self) -> None:
        """Kill the process group of a task whose guard was killed, and set `exit`."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self._end(
            Exit(
                128 + signal.SIGKILL,
                "the guard of this task was killed, so the task was killed too",
            )
        )

    def _end(self, exit_: Exit) -> None:
        """Record how the process ended, and wait for the end of its guard."""
        self.exit = exit_
        self._line.close()
        self._guard.wait()
