"""The command that runs pip for `make`: one line on a terminal, all output after a failure."""

import contextlib
import pathlib
import pty
import subprocess
import sys
from collections.abc import Iterator
from typing import IO

import pytest

from conftest import ROOT

INSTALL = str(ROOT / ".ci/install.py")
PIP = """
import sys
print("Collecting numpy")
print("  Downloading numpy-2.whl (5 MB)")
print("noise")
print("ERROR: no", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


def run(log: pathlib.Path, status: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, INSTALL, str(log), sys.executable, "-c", PIP, str(status)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("status", [0, 3])
def test_the_output_is_kept_and_shown_only_if_the_command_fails(
    tmp_path: pathlib.Path, status: int
) -> None:
    log = tmp_path / "pip.log"
    log.write_text("before\n")
    ran = run(log, status)
    assert (ran.returncode, ran.stdout) == (status, "")
    said = {"Collecting numpy", "  Downloading numpy-2.whl (5 MB)", "noise", "ERROR: no"}
    assert {*log.read_text().splitlines()} == {"before", *said}
    assert {*ran.stderr.splitlines()} == (said if status else set())


def test_the_status_of_a_killed_command_is_that_of_a_shell(tmp_path: pathlib.Path) -> None:
    killed = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    command = [sys.executable, INSTALL, str(tmp_path / "log"), *killed]
    assert subprocess.run(command, check=False).returncode == 137


def _pieces(terminal: IO[bytes]) -> Iterator[bytes]:
    """Yield what a terminal shows until its other side is closed."""
    with contextlib.suppress(OSError):
        while piece := terminal.read(10_000):
            yield piece


def test_a_terminal_shows_the_package_at_hand_in_one_line(tmp_path: pathlib.Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, INSTALL, str(tmp_path / "log"), sys.executable, "-c", PIP, "0"]
    with open(ours, "rb", buffering=0) as terminal:
        with open(theirs, "wb") as output:
            ran = subprocess.run(command, stdout=output, check=False)
        shown = b"".join(_pieces(terminal)).decode()
    assert ran.returncode == 0
    lines = [line for line in shown.split("\r\x1b[K") if line]
    assert lines == ["Collecting numpy", "Downloading numpy-2.whl (5 MB)"]
    assert "\n" not in shown


def test_a_log_that_cannot_be_written_is_named_and_nothing_runs(tmp_path: pathlib.Path) -> None:
    log, made = tmp_path / "missing" / "pip.log", tmp_path / "made"
    ran = subprocess.run(
        [sys.executable, INSTALL, str(log), "touch", str(made)], capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr
    assert f"cannot write {log}: No such file or directory" in ran.stderr
    assert not made.exists()
