"""On a terminal there are colours and a live table; NO_COLOR and TERM=dumb turn them off."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli import pictures
from processes import ENVIRONMENT

from capstan_operator.api import status_json
from capstan_operator.api.status import Phase

pytestmark = pytest.mark.e2e

CAPSTANCTL = str(Path(sys.executable).with_name("capstanctl"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a job that failed."""
    path = tmp_path / ".capstan" / "digits"
    path.mkdir(parents=True)
    failed = pictures.status().model_copy(update={"phase": Phase.FAILED})
    (path / "status.json").write_text(json.dumps(status_json.render(failed)))
    (path / "ps-0.1.log").write_text("serving\n")
    return tmp_path


def on_a_terminal(folder: Path, *words: str, **environment: str) -> str:
    """Return what a command shows on a terminal."""
    ours, its = pty.openpty()
    variables = {**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "120", "NO_COLOR": "", **environment}
    process = subprocess.Popen(
        [CAPSTANCTL, *words], cwd=folder, env=variables, stdin=its, stdout=its, stderr=its
    )
    os.close(its)
    shown = b""
    with os.fdopen(ours, "rb", buffering=0) as screen:
        try:
            while chunk := screen.read(4096):
                shown += chunk
        except OSError:  # Linux reports EIO when the other end is closed
            pass
    assert process.wait() == 0, shown
    return shown.decode()


def test_the_live_table_ends_with_the_job(folder: Path) -> None:
    shown = on_a_terminal(folder, "top", "digits")
    assert "digits: Failed" in shown
    assert "─" in shown, "no table"
    assert "worker-1   BackOff" in shown


@pytest.mark.parametrize(
    "width, columns",
    [
        ("80", ["TASK", "STATE", "ATTEMPT", "STEP", "STEPS/S"]),
        ("40", ["TASK", "STATE", "ATTEMPT", "STEP"]),
    ],
)
def test_a_narrow_terminal_leaves_out_columns_and_cuts_no_name(
    folder: Path, width: str, columns: list[str]
) -> None:
    (folder / ".capstan/digits/worker-0.progress.json").write_text(
        json.dumps({"step": 12345, "stepsPerSecond": 1000.0})
    )
    drawn = on_a_terminal(folder, "top", "digits", COLUMNS=width)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn)
    assert columns in [line.split() for line in shown.splitlines()]
    assert "worker-0   Running" in shown


@pytest.mark.parametrize(
    "environment, expected",
    [
        ({}, "\x1b[36mps-0       | \x1b[0mserving"),
        ({"NO_COLOR": "1"}, "ps-0       | serving"),
        ({"TERM": "dumb"}, "ps-0       | serving"),
    ],
)
def test_names_of_tasks_are_coloured(
    folder: Path, environment: dict[str, str], expected: str
) -> None:
    assert on_a_terminal(folder, "logs", "digits", **environment) == f"{expected}\r\n"
