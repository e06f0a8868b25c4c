"""The demo of the README with killed tasks, and `capstanctl run` with an invalid or failing job.

`test_fresh_clone.py` runs the demo without faults.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
from typing import Any

import pytest

from conftest import ROOT, Shell, users_environment
from testbed import wait

JOB = ROOT / "examples/digits/job.yaml"
LAST_LINE = re.compile(r"^digits: Succeeded  accuracy (0\.\d{3})  steps (\d+)  restarts (\d+)$")

pytestmark = pytest.mark.e2e


def last_line(out: str) -> re.Match[str]:
    """Return the parts of the last line of the demo: accuracy, steps, restarts."""
    line = out.splitlines()[-1]
    matched = LAST_LINE.match(line)
    assert matched is not None, line
    return matched


def status(folder: pathlib.Path) -> dict[str, Any]:
    """Return the status of the job in a folder, or an empty dict if the job has none yet."""
    path = folder / ".capstan/digits/status.json"
    return json.loads(path.read_text()) if path.exists() else {}


def step(shell: Shell) -> int:
    return int(status(shell.folder).get("progress", {}).get("step", 0))


def test_a_killed_worker_and_a_killed_ps_are_restarted_and_training_continues(
    shell: Shell,
) -> None:
    # The commands of the Makefile, in a folder of the test's own.
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
    accuracy, steps, restarts = last_line(ran.stdout).groups()
    assert float(accuracy) >= 0.95
    assert int(steps) >= 20000
    assert int(restarts) >= 2
    rows = {row["name"]: row for row in status(shell.folder)["tasks"]}
    assert rows["ps-0"]["attempt"] == 2
    assert max(rows["worker-0"]["attempt"], rows["worker-1"]["attempt"]) >= 2
    assert status(shell.folder)["epoch"] == 2
    assert shell.alive() == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_every_process_ends_with_capstanctl_whichever_signal_ends_it(
    shell: Shell, capstanctl: pathlib.Path, how: signal.Signals
) -> None:
    running = shell.start(capstanctl, "run", JOB)
    # The processes of a job start slowly on a busy machine.
    wait.until(lambda: step(shell) > 0, within=200)
    os.kill(running.pid, how)
    wait.until(lambda: running.poll() is not None)
    if how is signal.SIGINT:
        assert running.returncode == 130
    wait.until(lambda: shell.alive() == [])


def test_the_last_line_of_a_failed_job_names_the_cause(
    shell: Shell, capstanctl: pathlib.Path
) -> None:
    for name in ("train.py", "digits.py"):
        shutil.copy(JOB.parent / name, shell.folder)
    text = JOB.read_text()
    broken = text.replace("train.py]", "train.py, --batch_size=0]")
    without_restarts = broken.replace("backoffLimit: 6", "backoffLimit: 0")
    assert text != broken != without_restarts
    (shell.folder / "job.yaml").write_text(without_restarts)
    ran = shell.run(capstanctl, "run", "job.yaml")
    assert ran.returncode == 1
    assert re.match(
        r"^digits: Failed  worker-\d .*exit code 1: \w*Error", ran.stdout.splitlines()[-1]
    )
    assert shell.alive() == []


def test_every_fault_of_a_file_is_reported_and_nothing_starts(
    shell: Shell, capstanctl: pathlib.Path
) -> None:
    (shell.folder / "job.yaml").write_text(
        "apiVersion: capstan.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: Digits}\n"
        "spec:\n  replicaSpecs:\n    chief:\n      replicas: 2\n      restartPolcy: Never\n"
        "      template: {spec: {containers: [{name: trainer, command: [python]}]}}\n"
    )
    ran = shell.run(capstanctl, "run", "job.yaml")
    assert ran.returncode == 2
    for field in ("metadata.name", "spec.replicaSpecs.chief.replicas", "restartPolcy"):
        assert field in ran.stderr
    assert not (shell.folder / ".capstan").exists()
    assert shell.alive() == []


def test_the_readme_shows_the_last_line_of_the_demo() -> None:
    readme = (ROOT / "README.md").read_text()
    assert re.search(LAST_LINE.pattern.strip("^$"), readme)


def test_a_recording_ends_its_command_when_it_cannot_show_the_output(
    tmp_path: pathlib.Path,
) -> None:
    """`yes` fills the terminal, which nobody reads after the error, and would never end."""
    ran = subprocess.run(
        [
            *(sys.executable, ROOT / "docs/recording.py", tmp_path / "demo.svg"),
            *("sh", "-c", r"printf '\033[2J\n'; exec yes"),
        ],
        env=users_environment(),
        capture_output=True,
        text=True,
        timeout=wait.PATIENCE_SECONDS,
    )
    assert "ValueError: no terminal sequence of rich" in ran.stderr
    assert ran.returncode == 1
