"""A run of these tests that is told to end removes everything that it made."""

import pathlib
import sys

import psutil
import pytest

from conftest import Shell
from testbed import wait
from testbed.control import Cluster
from testbed.process import marked

E2E = pathlib.Path(__file__).resolve().parent


@pytest.mark.parametrize("program", ["etcd", "capstan_operator"])
def test_a_run_that_is_told_to_end_leaves_nothing(
    shell: Shell, cluster: Cluster, tmp_path: pathlib.Path, program: str
) -> None:
    """SIGTERM arrives while the control plane starts, or while a test runs.

    `cluster` only has its programs built: the run starts a control plane of its own.
    """
    run = shell.start(
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_silence.py"),
        cwd=E2E,
        env={"TMPDIR": str(tmp_path)},
    )

    def folders() -> list[pathlib.Path]:
        return list(tmp_path.glob("capstan-testbed-*/control-*"))

    # A control plane of the run's own, and perhaps an operator, must start on a busy machine.
    wait.until(
        lambda: run.poll() is not None or any(runs(program, folder) for folder in folders()),
        within=200,
    )
    [folder] = folders()
    run.terminate()
    out, _ = run.communicate(timeout=120)
    assert run.returncode == pytest.ExitCode.INTERRUPTED, out
    assert "Error" not in out
    assert not marked(folder)
    assert not folders()


def runs(program: str, folder: pathlib.Path) -> bool:
    """Say whether a program runs, among the processes that belong to a control plane."""
    for process in marked(folder):
        try:
            if any(program in word for word in process.cmdline()):
                return True
        except psutil.Error:
            continue
    return False
