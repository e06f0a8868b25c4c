"""examples/digits/chaos.py kills the named tasks, and waits until they are back."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import DEADLINE_SECONDS, ENVIRONMENT

CHAOS = Path(__file__).parents[3] / "examples" / "digits" / "chaos.py"
TRAIN = """
import json, os, select
step, file = 0, os.environ["CAPSTAN_PROGRESS_FILE"]
while not os.path.exists("enough"):
    step += 10
    with open(file + ".new", "w") as draft:
        json.dump({"step": step}, draft)
    os.replace(file + ".new", file)
    select.select([], [], [], 0.1)
"""
JOB = """
apiVersion: capstan.dev/v1alpha1
kind: TrainingJob
metadata: {name: victim}
spec:
  replicaSpecs:
    ps: {template: {spec: {containers: [{name: trainer, command: [sleep, "600"]}]}}}
    worker: {replicas: 2, template: {spec: {containers: [{name: t, command: [python, train.py]}]}}}
  runPolicy: {restartBackoff: {initialSeconds: 0.1}}
"""


def chaos(folder: Path, *arguments: str) -> list[str]:
    command = [sys.executable, str(CHAOS), str(folder / ".capstan/victim/status.json"), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False
    )
    assert done.stderr == ""
    return [f"exit {done.returncode}", *done.stdout.splitlines()]


@pytest.mark.e2e
@pytest.mark.alone
def test_two_tasks_are_killed_one_after_the_other_and_come_back(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "job.yaml").write_text(JOB)
    old = tmp_path / ".capstan" / "victim" / "status.json"
    old.parent.mkdir(parents=True)
    old.write_text(json.dumps({"phase": "Succeeded", "tasks": []}))
    os.utime(old, (0, 0))
    run = [str(Path(sys.executable).with_name("capstanctl")), "run", "job.yaml"]
    with subprocess.Popen(
        run, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    ) as running:
        code, *lines = chaos(tmp_path, "--kill", "worker-1@20", "--kill", "ps-0@60")
        (tmp_path / "enough").touch()
        output, _ = running.communicate(timeout=DEADLINE_SECONDS)
    assert code == "exit 0", lines
    assert ["SIGKILL to worker-1" in lines[0], "SIGKILL to ps-0" in lines[2]] == [True, True]
    assert lines[1].endswith("worker-1 is back as attempt 2")
    assert lines[3].endswith("ps-0 is back as attempt 2")
    assert output.splitlines()[-1].endswith("restarts 2")


@pytest.mark.e2e
@pytest.mark.parametrize("kill", ["worker-1", "@7", "worker-1@soon"])
def test_a_malformed_kill_is_a_usage_error(tmp_path: Path, kill: str) -> None:
    command = [sys.executable, str(CHAOS), str(tmp_path / "status.json"), "--kill", kill]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{kill!r} is not TASK@STEP" in done.stderr
