"""The workflows of GitHub Actions are valid, and pin each action to a commit."""

import pathlib
import re
import subprocess

import pytest
import yaml

from conftest import ROOT
from testbed import programs, tools

pytestmark = pytest.mark.timeout(900)

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yaml"))


@pytest.mark.e2e
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actionlint_finds_no_fault_in_a_workflow(workflow: pathlib.Path) -> None:
    try:
        actionlint = tools.program("actionlint")
    except programs.Unavailable as reason:
        pytest.skip(str(reason))
    # shellcheck and pyflakes may be absent. The steps call make only.
    words = (actionlint, "-shellcheck=", "-pyflakes=", workflow)
    ran = subprocess.run(words, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_names_each_action_by_its_commit(workflow: pathlib.Path) -> None:
    used = re.findall(r"uses: (.+)", workflow.read_text(encoding="utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_the_workflow_runs_the_targets_that_a_developer_runs() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yaml").read_text(encoding="utf-8"))
    commands = [
        step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step
    ]
    assert commands == ["make test", "make e2e-kind GPU=1"]
