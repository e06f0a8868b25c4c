"""A run of these tests removes everything that it made when SIGTERM ends it."""

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
    """Return whether the audit log shows that the operator has written to a job."""
    audit_log = folder / "audit.log"
    return audit_log.exists() and "/trainingjobs/" in audit_log.read_text()


@pytest.mark.parametrize("moment", [the_control_plane_starts, a_test_runs])
def test_a_terminated_run_leaves_nothing_behind(
    shell: Shell, cluster: Cluster, tmp_path: pathlib.Path, moment: Callable[[pathlib.Path], bool]
) -> None:
    """The test requests `cluster` only to have the programs. The run starts its own cluster."""
    run = shell.start(
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_silence.py"),
        cwd=E2E,
        env={"TMPDIR": str(tmp_path)},
    )

    def folders() -> list[pathlib.Path]:
        return list(tmp_path.glob("capstan-testbed-*/control-*"))

    # A control plane and an operator must start first, perhaps on a busy machine.
    wait.until(lambda: run.poll() is not None or any(map(moment, folders())), within=200)
    [folder] = folders()
    run.terminate()
    out, err = run.communicate(timeout=120)
    assert run.returncode == pytest.ExitCode.INTERRUPTED, out + err
    assert "Error" not in out + err
    assert not marked(folder)
    assert not folders()
