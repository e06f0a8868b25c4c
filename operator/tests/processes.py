"""Helpers of the tests of local mode: start real processes, and wait for them."""

import os
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

import capstan_operator
from capstan_operator.local import process

DEADLINE_SECONDS = 200.0
"""How long a test waits for processes, which start slowly on a busy machine."""

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(capstan_operator.__file__).parents[1])}
"""The environment of a process that imports this package."""


def wait_until(condition: Callable[[], object], condition_name: str = "the condition") -> None:
    """Wait until a condition is true. Fail after `DEADLINE_SECONDS`."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{condition_name} did not come true"
        select.select([], [], [], 0.01)


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def wait_for(started: process.Process) -> process.Exit:
    """Wait until a process has ended. Return its exit."""
    while started.exit is None:
        assert select.select([started], [], [], DEADLINE_SECONDS)[0], "the guard says nothing"
        started.hear()
    return started.exit


class Bench:
    """Starts Python scripts under guards, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "task.log"
        self._lock = (folder / "lock").open("w")
        self._started: list[process.Process] = []

    def start(self, script: str, **environment: str) -> process.Process:
        """Start `python -c script`."""
        return self.execute(sys.executable, sys.executable, "-c", script, **environment)

    def execute(self, executable: str, *argv: str, **environment: str) -> process.Process:
        """Start any command."""
        command = process.Command(executable, argv, os.environ | environment, self.folder)
        started = process.Process(command, self.log, self._lock.fileno())
        self._started.append(started)
        return started

    def output(self) -> str:
        """Return the output of the processes so far."""
        return self.log.read_text()

    def close(self) -> None:
        for started in self._started:
            started.stop(0)
            wait_for(started)
        self._lock.close()
