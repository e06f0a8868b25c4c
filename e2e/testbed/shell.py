"""Run commands as a user does, and find and end all processes that they start."""

import contextlib
import os
import pathlib
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import psutil

MARK = "CAPSTAN_E2E_TEST"
"""A variable in the environment of every process that a test starts. It names the test."""

_REMOVED = {"TF_CONFIG", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"}
"""Variables of a task and of the `make` that runs the tests. A user's shell has none of these
variables."""


def users_environment() -> dict[str, str]:
    """Return the environment as a user's shell has it."""
    return {key: value for key, value in os.environ.items() if key not in _REMOVED}


@dataclass
class Shell:
    """Runs commands in a folder. Every process that the commands start inherits `mark` in its
    environment, so `clean` finds the process.
    """

    folder: pathlib.Path
    mark: str
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(
        self, *command: object, env: Mapping[str, str] | None = None, **options: object
    ) -> subprocess.Popen[str]:
        """Start a command. Its output is text in pipes. `clean` kills the process."""
        process: subprocess.Popen[str] = subprocess.Popen(
            [str(word) for word in command],
            env={**users_environment(), **(env or {}), MARK: self.mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **{"cwd": self.folder, **options},
        )
        self.started.append(process)
        return process

    def run(
        self, *command: object, timeout: float = 270, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end. Raises TimeoutExpired after `timeout` seconds."""
        process = self.start(*command, env=env)
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def alive(self) -> list[str]:
        """Return the command lines of all processes with the mark that still run."""
        return [" ".join(_command_line(process)) for process in self._marked()]

    def _marked(self) -> Iterator[psutil.Process]:
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.mark:
                    yield process
            except psutil.Error:
                continue

    def clean(self) -> None:
        """Kill every process with the mark, by its id, and reap the processes started here."""
        for process in self._marked():
            # A process may end between the search and the signal.
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        for started in self.started:
            started.kill()
            started.communicate()


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return ["?"]
