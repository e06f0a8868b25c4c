"""The demo, as the README has it: what the user sees, and what is left when it is over."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from conftest import ROOT, Shell, users_environment

JOB = ROOT / "examples/digits/job.yaml"
LAST_LINE = re.compile(r"^digits: Succeeded  accuracy (0\.\d{3})  steps (\d+)  restarts (\d+)$")

pytestmark = pytest.mark.e2e


def last_line(ran: subprocess.CompletedProcess[str]) -> re.Match[str]:
    line = ran.stdout.splitlines()[-1]
    matched = LAST_LINE.match(line)
    assert matched is not None, line
    return matched


def status(shell: Shell) -> dict[str, Any]:
    """Return the job's status, or nothing before there is one."""
    path = shell.folder / ".capstan/digits/status.json"
    return json.loads(path.read_text()) if path.exists() else {}


def step(shell: Shell) -> int:
    return int(status(shell).get("progress", {}).get("step", 0))


def test_digits_are_learnt(shell: Shell, capstanctl: pathlib.Path) -> None:
    ran = shell.run(capstanctl, "run", JOB)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    accuracy, steps, restarts = last_line(ran).groups()
    assert float(accuracy) >= 0.95
    assert int(steps) >= 20000
    assert restarts == "0"
    assert status(shell)["phase"] == "Succeeded"
    assert shell.alive() == []


def test_a_killed_worker_and_a_killed_ps_come_back_and_training_goes_on(shell: Shell) -> None:
    # What `make` runs, in a folder of its own.
    recipe = subprocess.run(
        ["make", "-n", "demo", "CHAOS=1"],
        cwd=ROOT,
        env=users_environment(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "pip" not in recipe, "run `make test`: the environment is out of date"
    (shell.folder / "examples").symlink_to(ROOT / "examples")
    ran = shell.run("bash", "-c", recipe)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    accuracy, steps, restarts = last_line(ran).groups()
    assert float(accuracy) >= 0.95
    assert int(steps) >= 20000
    assert int(restarts) >= 2
    rows = {row["name"]: row for row in status(shell)["tasks"]}
    assert rows["ps-0"]["attempt"] == 2
    assert max(rows["worker-0"]["attempt"], rows["worker-1"]["attempt"]) >= 2
    assert status(shell)["epoch"] == 2
    assert shell.alive() == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_capstanctl_however_it_ends(
    shell: Shell, capstanctl: pathlib.Path, eventually: Callable[..., None], how: signal.Signals
) -> None:
    running = shell.start(capstanctl, "run", JOB)
    eventually(lambda: step(shell) > 0)
    os.kill(running.pid, how)
    eventually(lambda: running.poll() is not None)
    if how is signal.SIGINT:
        assert running.returncode == 130
    eventually(lambda: shell.alive() == [])


def test_a_job_that_fails_says_why_in_its_last_line(shell: Shell, capstanctl: pathlib.Path) -> None:
    for name in ("train.py", "digits.py"):
        shutil.copy(JOB.parent / name, shell.folder)
    text = JOB.read_text()
    broken = text.replace("train.py]", "train.py, --batch_size=0]")
    impatient = broken.replace("backoffLimit: 6", "backoffLimit: 0")
    assert text != broken != impatient
    (shell.folder / "job.yaml").write_text(impatient)
    ran = shell.run(capstanctl, "run", "job.yaml")
    assert ran.returncode == 1
    assert re.match(
        r"^digits: Failed  worker-\d .*exit code 1: \w*Error", ran.stdout.splitlines()[-1]
    )
    assert shell.alive() == []


def test_every_fault_of_a_file_is_told_at_once_and_nothing_starts(
    shell: Shell, capstanctl: pathlib.Path
) -> None:
    (shell.folder / "job.yaml").write_text(
        "apiVersion: capstan.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: Digits}\n"
        "spec:\n  replicaSpecs:\n    chief:\n      replicas: 2\n      restartPolcy: Never\n"
        "      template: {spec: {containers: [{name: trainer, command: [python]}]}}\n"
    )
    ran = shell.run(capstanctl, "run", "job.yaml")
    assert ran.returncode == 2
    for named in ("metadata.name", "spec.replicaSpecs.chief.replicas", "restartPolcy"):
        assert named in ran.stderr
    assert not (shell.folder / ".capstan").exists()
    assert shell.alive() == []


def test_what_the_readme_shows_is_what_is_printed(shell: Shell) -> None:
    shown = (ROOT / "README.md").read_text()
    assert re.search(LAST_LINE.pattern.strip("^$"), shown)
    assert sys.version_info >= (3, 11)
