"""A process of one side: started, asked line by line, and ended by its id."""

import contextlib
import json
import os
import select
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

ANSWER_S = 120.0
"""How long a process may take to set up, or over a round, before it is given up."""

STOP_S = 10.0

_BAD_FOR_SPEED = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


def environment() -> Mapping[str, str]:
    """What processes inherit: without what would tie the hands of one side's BLAS, and quiet."""
    kept = {name: value for name, value in os.environ.items() if name not in _BAD_FOR_SPEED}
    return kept | {"TF_CPP_MIN_LOG_LEVEL": "3", "GRPC_VERBOSITY": "NONE"}


def dropped() -> Sequence[str]:
    """The variables that `environment` leaves out."""
    return [name for name in _BAD_FOR_SPEED if name in os.environ]


class Process:
    """A child that answers a line of JSON to each line; the end of its input ends it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        self._name = " ".join(command[2:5])
        self._child = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            env=environment(),
        )

    def ask(self) -> None:
        """Ask for a round; does not wait."""
        assert self._child.stdin is not None
        self._child.stdin.write(b"round\n")

    def answer(self) -> Any:
        """Wait for the next answer.

        Raises:
            RuntimeError: the process ended, or said nothing in time; with its last words.
        """
        assert self._child.stdout is not None
        ready, _, _ = select.select([self._child.stdout], [], [], ANSWER_S)
        line = self._child.stdout.readline() if ready else b""
        if not line:
            what = "ended" if ready else f"said nothing for {ANSWER_S:.0f} s"
            raise RuntimeError(f"{self._name} {what}:\n{self._last_words()}")
        return json.loads(line)

    def stop(self) -> None:
        """End the process, by force if it does not go."""
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
        self._words.close()

    def _last_words(self) -> str:
        self._words.seek(0)
        return self._words.read().decode(errors="replace")[-2000:]
