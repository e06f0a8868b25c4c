"""A run of these tests that is told to end takes away what it made."""

import pathlib
import sys
from collections.abc import Callable

import pytest

from conftest import Shell
from testbed.control import Cluster
from testbed.process import marked

E2E = pathlib.Path(__file__).resolve().parent


def test_a_run_that_is_told_to_end_leaves_nothing(
    shell: Shell, cluster: Cluster, tmp_path: pathlib.Path, eventually: Callable[..., object]
) -> None:
    """`cluster` is here for its programs: the run has a control plane of its own."""
    environment = {"TMPDIR": str(tmp_path)}
    run = shell.start(sys.executable, "-m", "pytest", "test_silence.py", cwd=E2E, env=environment)

    def folders() -> list[pathlib.Path]:
        return list(tmp_path.glob("capstan-testbed-*/control-*"))

    eventually(lambda: run.poll() is not None or any(map(marked, folders())))
    [folder] = folders()
    run.terminate()
    out, _ = run.communicate(timeout=120)
    assert run.returncode == pytest.ExitCode.INTERRUPTED, out
    assert not marked(folder)
    assert not folders()
