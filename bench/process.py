"""A process of one side, which answers requests line by line."""

import contextlib
import json
import os
import select
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

ANSWER_S = 120.0
"""The longest time in seconds that a process may take to set up or to run a round."""

STOP_S = 10.0

_BAD_FOR_SPEED = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_THREAD_TIMEOUT",
    "OMP_NUM_THREADS",
)


def environment() -> Mapping[str, str]:
    """Return the environment of the processes. They log less, and no variable limits a BLAS."""
    kept = {name: value for name, value in os.environ.items() if name not in _BAD_FOR_SPEED}
    return kept | {"TF_CPP_MIN_LOG_LEVEL": "3", "GRPC_VERBOSITY": "NONE"}


def dropped() -> Sequence[str]:
    """Return the names of the set variables that `environment` leaves out."""
    return [name for name in _BAD_FOR_SPEED if name in os.environ]


class Process:
    """A child process that answers each line of its input with a line of JSON."""

    def __init__(self, command: Sequence[str]) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        self._name = " ".join(command[2:5])
        self._child = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment(),
        )

    def ask(self) -> None:
        """Request a round. Does not block."""
        assert self._child.stdin is not None
        self._child.stdin.write(b"round\n")

    def answer(self) -> Any:
        """Return the next answer. Blocks.

        Raises:
            RuntimeError: the process ended or did not answer in time. The message holds the end of
                its standard error.
        """
        assert self._child.stdout is not None
        ready, _, _ = select.select([self._child.stdout], [], [], ANSWER_S)
        line = self._child.stdout.readline() if ready else b""
        if not line:
            problem = "ended" if ready else f"did not answer for {ANSWER_S:.0f} s"
            raise RuntimeError(f"{self._name} {problem}:\n{self._last_output()}")
        return json.loads(line)

    def stop(self) -> None:
        """End the process by closing its input. Kill it if it does not end in `STOP_S` seconds."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        try:
            self._child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._child.stdout.close()
        self._stderr.close()

    def _last_output(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace")[-2000:]
