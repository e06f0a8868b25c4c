"""Jobs in the queues of the real Kueue: they wait, are admitted, are preempted and come back."""

import contextlib
from collections.abc import Iterator

import pytest

from conftest import CRD, UNAVAILABLE
from testbed import control, kueue, wait
from testbed.current import Current
from testbed.kubelet import Kubelet
from testbed.story import TRAINER, Json, Story, condition, job, replica

pytestmark = pytest.mark.e2e

ONE_CPU = {"resources": {"requests": {"cpu": "1"}}}
PRIORITY = "kueue.x-k8s.io/priority-class"


@contextlib.contextmanager
def control_plane() -> Iterator[tuple[control.Cluster, Kubelet]]:
    with control.running(CRD) as cluster:
        kubelet = Kubelet(cluster.api)
        kubelet.start()
        with contextlib.closing(kubelet), kueue.running(cluster):
            for name, value in (("low", 1), ("high", 1000)):
                kueue.priority(cluster, name, value)
            yield cluster, kubelet


@pytest.fixture(scope="module")
def cluster(current: Current, pytestconfig: pytest.Config) -> control.Cluster:
    for needed in ("cluster", "with_kueue"):
        if reason := pytestconfig.stash[UNAVAILABLE].get(needed):
            pytest.skip(reason)
    return current.use(control_plane)[0]


@pytest.fixture(scope="module")
def with_kueue(cluster: control.Cluster) -> None:
    """Say that a test needs Kueue, so that Kueue is built before the tests."""


@pytest.fixture(scope="module")
def kubelet(cluster: control.Cluster, current: Current, with_kueue: None) -> Kubelet:
    return current.use(control_plane)[1]


def queued(name: str, priority: str = "low", workers: int = 2) -> Json:
    """Return a job of one ps and these workers. Each task takes one processor of the queue."""
    containers = [{**TRAINER, **ONE_CPU}]
    kinds = {
        "ps": replica(1, containers=containers),
        "worker": replica(workers, containers=containers),
    }
    for kind in kinds.values():
        kind["template"]["metadata"] = {"labels": {PRIORITY: priority}}
    document = job(name, **kinds)
    document["spec"]["scheduling"] = {"queueName": kueue.QUEUE}
    return document


def finish(story: Story, name: str, workers: int = 2) -> Json:
    """Let all workers of a job end, and return the status when the job has succeeded."""
    for number in range(workers):
        story.kubelet.exit(story.pod_key(f"worker-{number}", name), 0)
    return story.until(lambda status: status["phase"] == "Succeeded", name)


def restarts(status: Json) -> tuple[int, int]:
    """Return the restarts charged to the limit of the program and to that of the infrastructure."""
    charged = status["restarts"]
    return charged["application"], charged["infrastructure"]


def runs(status: Json) -> bool:
    return bool(status["phase"] == "Running")


def test_a_job_waits_for_quota_is_admitted_runs_and_gives_its_quota_back(story: Story) -> None:
    kueue.queue(story.cluster, story.namespace, cpus=3)
    story.submit(queued("first"))
    story.until(runs, "first")
    story.submit(queued("second"))
    status = story.until(lambda status: status["phase"] == "Queued", "second")
    assert "from queue training" in condition(status, "Queued")["message"]
    assert restarts(finish(story, "first")) == (0, 0)
    # The quota of the first job is free, although the pods of its workers remain.
    status = story.until(runs, "second")
    assert condition(status, "Queued")["reason"] == "Admitted"
    assert restarts(finish(story, "second")) == (0, 0)


def test_a_restarted_task_is_admitted_again_in_its_group(story: Story) -> None:
    kueue.queue(story.cluster, story.namespace, cpus=3)
    story.submit(queued("train"))
    story.until(runs)
    story.kubelet.exit(story.pod_key("worker-1"), 1)
    status = story.until_running("worker-1", attempt=2)
    assert restarts(status) == (1, 0)
    workloads = f"{kueue.API}/namespaces/{story.namespace}/workloads"
    assert len(story.cluster.api.list(workloads)) == 1


def test_a_preempted_job_waits_comes_back_and_counts_each_task_once(story: Story) -> None:
    kueue.queue(story.cluster, story.namespace, cpus=3)
    story.submit(queued("low"))
    story.until(runs, "low")
    story.submit(queued("high", "high"))
    story.until(runs, "high")
    story.until(lambda status: status["phase"] == "Queued", "low")
    finish(story, "high")
    status = story.until(runs, "low")
    assert restarts(status) == (0, 3)
    restarted = {kind: count["restarts"] for kind, count in status["replicaStatuses"].items()}
    assert restarted == {"ps": 1, "worker": 2}
    finish(story, "low")


def test_a_suspended_job_frees_its_quota_and_waits_again_when_it_continues(story: Story) -> None:
    kueue.queue(story.cluster, story.namespace, cpus=3)
    story.submit(queued("first"))
    story.until(runs, "first")
    story.submit(queued("second"))
    story.kubectl("patch", "tjob", "first", "--type=merge", "-p", '{"spec": {"suspend": true}}')
    story.until(runs, "second")
    story.kubectl("patch", "tjob", "first", "--type=merge", "-p", '{"spec": {"suspend": false}}')
    story.until(lambda status: status["phase"] == "Queued", "first")
    wait.until(lambda: len(story.pods()) == 6)
    finish(story, "second")
    story.until(runs, "first")
