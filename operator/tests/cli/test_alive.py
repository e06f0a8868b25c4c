"""The commands about jobs that run on this machine, with real processes."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import DEADLINE_SECONDS, ENVIRONMENT, wait_until

from capstan_operator.cli import main

pytestmark = pytest.mark.alone

CAPSTANCTL = str(Path(sys.executable).with_name("capstanctl"))
TASK = """
import os, select, sys
print("attempt", os.environ["CAPSTAN_ATTEMPT"], flush=True)
def wait_for(name):
    while not os.path.exists(name):
        select.select([], [], [], 0.01)
"""


FAIL_LATER = """
is_last = '"index": 1' in os.environ["TF_CONFIG"].split('"task"')[1]
wait_for("go" if is_last else "fail")
sys.exit("no digit")
"""


class Here:
    """The current directory with one job, and commands about it in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.running: subprocess.Popen[str] | None = None

    def start(self, script: str, policy: str = "{}", success: str = "Default") -> None:
        """Start a job of two workers that execute a script."""
        Path("task.py").write_text(TASK + script)
        trainer = {"name": "trainer", "command": ["python", "task.py"]}
        worker = {"replicas": 2, "template": {"spec": {"containers": [trainer]}}}
        spec = (
            f"{{replicaSpecs: {{worker: {json.dumps(worker)}}}, runPolicy: {policy}, "
            f"successPolicy: {success}}}"
        )
        Path("job.yaml").write_text(
            "apiVersion: capstan.dev/v1alpha1\nkind: TrainingJob\n"
            f"metadata: {{name: digits}}\nspec: {spec}\n"
        )
        self.running = start("run", "job.yaml")

    def call(self, line: str) -> tuple[int, str]:
        """Run a command. Return its exit status and all its output."""
        status = main.main(line.split())
        return status, "".join(self._capsys.readouterr())

    def until(self, phase: str) -> None:
        """Wait until the job is in a phase."""
        path = Path(".capstan/digits/status.json")
        wait_until(lambda: path.exists() and json.loads(path.read_text())["phase"] == phase, phase)

    def close(self) -> None:
        if self.running is not None:
            self.running.terminate()
            self.running.communicate(timeout=DEADLINE_SECONDS)


def start(*words: str) -> subprocess.Popen[str]:
    """Start a command as a process."""
    return subprocess.Popen(
        [CAPSTANCTL, *words],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Here]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    here = Here(capsys)
    yield here
    here.close()


def test_a_job_that_runs_is_shown_followed_and_awaited(here: Here) -> None:
    # By default, the job would stop worker 1 as soon as worker 0 is done.
    here.start('wait_for("go")\nprint("done")\n', success="AllWorkers")
    here.until("Running")
    assert here.call("wait digits --for running") == (0, "digits: Running\n")
    assert "every task runs" in here.call("explain digits")[1]
    _, out = here.call("top digits -o json")
    assert [task["state"] for task in json.loads(out)["tasks"]] == ["Running", "Running"]
    status, out = here.call("delete digits")
    assert (status, "is run by another capstanctl" in out) == (2, True), out
    following = start("logs", "-f", "digits")
    assert following.stdout is not None
    first = following.stdout.readline()
    Path("go").touch()
    assert here.call("wait digits") == (0, "digits: Succeeded\n")
    with following.stdout:
        rest = following.stdout.read()
    assert following.wait(DEADLINE_SECONDS) == 0
    assert sorted((first + rest).splitlines()) == [
        *("worker-0   | attempt 1", "worker-0   | done"),
        *("worker-1   | attempt 1", "worker-1   | done"),
    ]


def test_a_degraded_job_is_explained_and_a_failed_one_ends_the_wait(here: Here) -> None:
    hour = "{initialSeconds: 3600, maxSeconds: 3600}"
    here.start(FAIL_LATER, f"{{backoffLimit: 1, restartBackoff: {hour}}}")
    here.until("Running")
    Path("go").touch()
    here.until("Degraded")
    _, out = here.call("explain digits")
    assert "worker-1  BackOff, attempt 2: again in " in out
    assert "worker-1 attempt 1: exit code 1: no digit (" in out
    assert "capstanctl logs digits worker-1" in out
    assert here.call("wait digits --timeout 0")[0] == 3
    Path("fail").touch()
    status, out = here.call("wait digits")
    assert status == 1
    assert out.startswith("digits: Failed  worker-0 attempt 1: exit code 1: no digit")
    _, out = here.call("logs digits worker-1")
    assert out == "worker-1   | attempt 1\nworker-1   | no digit\n"
    assert (
        "raise the limit that the message names. Then run the job again"
        in here.call("explain digits")[1]
    )


def test_a_job_whose_capstanctl_was_killed_is_not_waited_for(here: Here) -> None:
    here.start('wait_for("go")\n')
    here.until("Running")
    assert here.running is not None
    here.running.kill()
    status, out = here.call("wait digits")
    assert (status, "no capstanctl runs it" in out) == (1, True), out
    assert "Run the job again, and it continues" in here.call("explain digits")[1]
    shutil.rmtree(".capstan")
    status, out = here.call("explain digits")
    assert (status, out.count("\n")) == (2, 1)
