"""Gangs under the real plugin coscheduling: all pods of a job are bound, or none."""

import contextlib
from collections.abc import Iterator

import pytest

from conftest import CRD, UNAVAILABLE
from testbed import control, coscheduling
from testbed.current import Current
from testbed.kubelet import Kubelet
from testbed.story import NAME, TRAINER, Json, Story, condition, job, replica

pytestmark = pytest.mark.e2e

THIRD = {"resources": {"requests": {"cpu": "3000"}}}
"""Three such containers fit on a node, so nine fit on the three nodes."""


@contextlib.contextmanager
def control_plane() -> Iterator[tuple[control.Cluster, Kubelet]]:
    with control.running(CRD) as cluster:
        kubelet = Kubelet(cluster.api)
        kubelet.start()
        with contextlib.closing(kubelet), coscheduling.running(cluster):
            yield cluster, kubelet


@pytest.fixture(scope="module")
def cluster(current: Current, pytestconfig: pytest.Config) -> control.Cluster:
    for needed in ("cluster", "with_coscheduling"):
        if reason := pytestconfig.stash[UNAVAILABLE].get(needed):
            pytest.skip(reason)
    return current.use(control_plane)[0]


@pytest.fixture(scope="module")
def with_coscheduling(cluster: control.Cluster) -> None:
    """Say that a test needs the plugin, so that its scheduler is built before the tests."""


@pytest.fixture(scope="module")
def kubelet(cluster: control.Cluster, current: Current, with_coscheduling: None) -> Kubelet:
    return current.use(control_plane)[1]


def gang_of(workers: int, name: str = NAME) -> Json:
    """Return a job of one ps and these workers, each of which takes a third of a node."""
    containers = [{**TRAINER, **THIRD}]
    kinds = {
        "ps": replica(1, containers=containers),
        "worker": replica(workers, containers=containers),
    }
    return job(name, **kinds)


def nodes(story: Story, name: str) -> list[str]:
    """Return the nodes of the pods of a job."""
    pods = (pod for key, pod in story.pods().items() if key.startswith(f"{name}-"))
    return [node for pod in pods if (node := pod["spec"].get("nodeName"))]


def test_a_gang_of_ten_with_room_for_nine_starts_nobody_and_says_why(story: Story) -> None:
    story.submit(gang_of(9))
    status = story.until(
        lambda status: (
            "nodes are available" in condition(status, "PodsScheduled").get("message", "")
        )
    )
    assert len(story.pods()) == 10
    assert {pod["spec"]["schedulerName"] for pod in story.pods().values()} == {coscheduling.NAME}
    assert nodes(story, NAME) == []
    assert {task["state"] for task in status["tasks"]} == {"Pending"}


def test_a_waiting_gang_starts_together_when_there_is_room(story: Story) -> None:
    story.submit(gang_of(3, "small"))
    story.until(lambda status: status["phase"] == "Running", "small")
    story.submit(gang_of(8))
    story.until(
        lambda status: (
            "nodes are available" in condition(status, "PodsScheduled").get("message", "")
        )
    )
    assert nodes(story, NAME) == []
    story.delete_job("small")
    story.until(lambda status: status["phase"] == "Running")
    assert len(nodes(story, NAME)) == 9


def test_a_restarted_task_starts_without_the_rest_of_its_gang(story: Story) -> None:
    story.submit(gang_of(3))
    story.until(lambda status: status["phase"] == "Running")
    story.kubelet.exit(story.pod_key("worker-1"), 1)
    story.until_running("worker-1", attempt=2)
