"""A run of these tests that is told to end removes everything that it made."""

import pathlib
import sys
from collections.abc import Callable

import pytest

from conftest import Shell
from testbed import wait
from testbed.control import Cluster
from testbed.process import marked

E2E = pathlib.Path(__file__).resolve().parent


def the_control_plane_starts(folder: pathlib.Path) -> bool:
    return bool(marked(folder))


def a_test_runs(folder: pathlib.Path) -> bool:
    """Say whether the API server has noted that the operator of the test wrote about a job."""
    noted = folder / "audit.log"
    return noted.exists() and "/trainingjobs/" in noted.read_text()


@pytest.mark.parametrize("moment", [the_control_plane_starts, a_test_runs])
def test_a_run_that_is_told_to_end_leaves_nothing(
    shell: Shell, cluster: Cluster, tmp_path: pathlib.Path, moment: Callable[[pathlib.Path], bool]
) -> None:
    """`cluster` only has its programs built: the run starts a control plane of its own."""
    run = shell.start(
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_silence.py"),
        cwd=E2E,
        env={"TMPDIR": str(tmp_path)},
    )

    def folders() -> list[pathlib.Path]:
        return list(tmp_path.glob("capstan-testbed-*/control-*"))

    # Until then a control plane and an operator must start, on a busy machine.
    wait.until(lambda: run.poll() is not None or any(map(moment, folders())), within=200)
    [folder] = folders()
    run.terminate()
    out, err = run.communicate(timeout=120)
    assert run.returncode == pytest.ExitCode.INTERRUPTED, out + err
    assert "Error" not in out + err
    assert not marked(folder)
    assert not folders()
