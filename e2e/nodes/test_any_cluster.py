"""`make e2e KUBECONFIG=...` runs the stories on a cluster that exists, and leaves nothing in it."""

import os
import pathlib
import subprocess
import sys

import pytest

from testbed import programs
from testbed.nodes import Nodes

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

E2E = pathlib.Path(__file__).parents[1]
STORY = "nodes/test_stories.py::test_a_failed_task_is_restarted_and_the_job_succeeds"
# The second story kills a process, which only the test bed's nodes allow.
STORIES = (f"{STORY}[a worker exits with 1]", f"{STORY}[the ps is killed]")


def objects(nodes: Nodes) -> list[str]:
    """Return the names of all objects that the stories could leave."""
    kinds = "namespaces,crds,clusterroles,clusterrolebindings,persistentvolumes"
    return sorted(nodes.kubectl("get", kinds, "-o", "name").stdout.split())


def test_stories_run_on_a_cluster_given_by_its_kubeconfig_and_leave_nothing(nodes: Nodes) -> None:
    before = objects(nodes)
    with nodes.network.entered():
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", f"--kubeconfig={nodes.kubeconfig}", *STORIES],
            cwd=E2E,
            env={**os.environ, "PATH": f"{programs.folder()}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=1400,
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed, 1 skipped" in ran.stdout
    assert "only the test bed's nodes allow it" in ran.stdout
    assert objects(nodes) == before
