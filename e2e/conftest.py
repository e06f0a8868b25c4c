"""What every end-to-end test needs: `capstanctl` as a user has it, and a look at what it leaves."""

import os
import pathlib
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import psutil
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = "CAPSTAN_E2E_TEST"
NOT_HANDED_ON = {"TF_CONFIG", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"}
"""What the `make` that runs these tests would tell another, and the task that this is not."""


def users_environment() -> dict[str, str]:
    """The environment as a user's shell has it."""
    return {key: value for key, value in os.environ.items() if key not in NOT_HANDED_ON}


@dataclass
class Shell:
    """Runs commands under a mark that they hand on to all that they start."""

    folder: pathlib.Path
    mark: str
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(
        self, *command: object, env: Mapping[str, str] | None = None, **options: object
    ) -> subprocess.Popen[str]:
        """Start a command; its output is text in pipes. It is killed when the test is over."""
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
        self, *command: object, timeout: float = 120, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        process = self.start(*command, env=env)
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def alive(self) -> list[str]:
        """Return the command lines of all processes under the mark that still run."""
        return [" ".join(_command_line(process)) for process in self._marked()]

    def _marked(self) -> Iterator[psutil.Process]:
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.mark:
                    yield process
            except psutil.Error:
                continue

    def clean(self) -> None:
        """Kill what is left, by process id, and collect what was started here."""
        for process in self._marked():
            process.kill()
        for started in self.started:
            started.kill()
            started.communicate()


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return ["?"]


@pytest.fixture
def shell(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> Iterator[Shell]:
    """A shell in an empty folder; what it started does not outlive the test."""
    one = Shell(tmp_path, f"{request.node.name}-{uuid.uuid1()}")
    yield one
    one.clean()


@pytest.fixture
def capstanctl() -> pathlib.Path:
    """The command as it was installed."""
    return pathlib.Path(sys.executable).parent / "capstanctl"


@pytest.fixture
def eventually() -> Callable[..., None]:
    """Wait until a condition holds: `eventually(lambda: ..., within=5)`."""
    return wait_until


def wait_until(condition: Callable[[], object], within: float = 30, tick: float = 0.02) -> None:
    """Return as soon as `condition()` is true. Raises AssertionError when time is up."""
    deadline = time.monotonic() + within
    never = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"not within {within} s"
        never.wait(tick)
