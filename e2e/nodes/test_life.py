"""The life of a job on a real cluster: its workers come and go, it is suspended, it hangs."""

import json
import pathlib
import re
from typing import Any

import pytest

from testbed import digits
from testbed.digits import Story, container, slow_example
from testbed.nodes import Nodes

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

Json = dict[str, Any]
NO_FAILURES = {"application": 0, "infrastructure": 0}
RESTORED = r"Restoring parameters from /checkpoints/model.ckpt-(\d+)"


def scale(story: Story, workers: int) -> None:
    words = ("scale", "tjob/digits", f"--replicas={workers}", "-n", story.namespace)
    story.kubernetes.kubectl(*words)


def suspend(story: Story, value: bool) -> None:
    change(story, {"suspend": value})


def set_progress_deadline(story: Story, seconds: int | None) -> None:
    change(story, {"runPolicy": {"progressDeadlineSeconds": seconds}})


def change(story: Story, fields: Json) -> None:
    """Change fields of the job's spec."""
    patch = json.dumps({"spec": fields})
    words = ("patch", "tjob", "digits", "--type=merge", "-p", patch, "-n", story.namespace)
    story.kubernetes.kubectl(*words)


def condition(story: Story, name: str) -> str:
    """Return the status of a condition of the job, or an empty string if it has no such one."""
    conditions: list[Json] = story.status().get("conditions", [])
    return next((found["status"] for found in conditions if found["type"] == name), "")


def pods(story: Story) -> list[str]:
    words = ("get", "pods", "-o", "name", "-n", story.namespace)
    return sorted(story.kubernetes.kubectl(*words).stdout.split())


def ended_steps(disk: pathlib.Path) -> int:
    """Return the number of steps that the workers of all attempts have counted."""
    return sum(path.stat().st_size for path in disk.glob("steps-of-*"))


def test_a_job_is_scaled_while_it_trains_and_continues_at_its_exact_step_after_a_suspension(
    nodes: Nodes, story: Story
) -> None:
    job = slow_example()
    disk = digits.keep_checkpoints(nodes, job, story.namespace)
    story.submit(job)
    story.until_slow("worker-0", "worker-1")
    scale(story, 3)
    story.until_slow("worker-2")
    scale(story, 1)
    left = ["pod/digits-ps-0", "pod/digits-worker-0"]
    story.until(lambda: pods(story) == left, "the removed workers are gone")
    story.until(
        lambda: [row["name"] for row in story.status()["tasks"]] == ["ps-0", "worker-0"],
        "the rows of the removed workers are gone",
    )
    assert {row["attempt"] for row in story.status()["tasks"]} == {1}
    counted = ended_steps(disk)
    story.until(lambda: ended_steps(disk) > counted, "worker-0 trains on")

    suspend(story, True)
    story.until(lambda: condition(story, "Suspended") == "True", "the job is suspended")
    story.until(lambda: not pods(story), "no pod is left")
    step, counted = digits.last_checkpoint(disk), ended_steps(disk)
    # A worker that got SIGTERM during a step did not count it, but the ps did.
    assert counted <= step <= counted + 3
    assert story.status()["restarts"] == NO_FAILURES

    suspend(story, False)
    status = story.until_succeeded()
    assert re.findall(RESTORED, story.final_log("worker-0"))[0] == str(step)
    assert status["restarts"] == NO_FAILURES
    assert {row["name"]: row["attempt"] for row in status["tasks"]} == {"ps-0": 2, "worker-0": 2}
    assert status["epoch"] == 2


def test_a_job_whose_training_hangs_is_restarted_at_its_chief_and_says_stalled(
    story: Story,
) -> None:
    job = slow_example()
    container(job, "worker")["env"] = [{"name": "SLOW_SECONDS", "value": "86400"}]
    story.submit(job)
    story.until_slow("worker-0", "worker-1")
    set_progress_deadline(story, 10)
    row = story.until_attempt("worker-0", 2)
    # On a busy machine, the new attempt may need longer than that for its first step.
    set_progress_deadline(story, None)
    assert row["reason"] == "Stalled"
    status = story.until_succeeded()
    assert status["restarts"] == {"application": 1, "infrastructure": 0}
    assert status["epoch"] == 1
