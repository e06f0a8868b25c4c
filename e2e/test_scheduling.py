"""The wishes of spec.scheduling, on a real API server and scheduler."""

import pytest

from testbed import wait
from testbed.story import NAME, Json, Story, condition, job, replica, row

pytestmark = pytest.mark.e2e

KUEUE = "kueue.x-k8s.io"


def test_parameter_servers_run_on_different_nodes(story: Story) -> None:
    story.started(job(ps=replica(len(story.kubelet.nodes)), worker=replica(1)))
    servers = [pod for name, pod in story.pods().items() if "-ps-" in name]
    nodes = sorted(pod["spec"]["nodeName"] for pod in servers)
    assert nodes == sorted(story.kubelet.nodes)
    for server in servers:
        others = server["spec"]["affinity"]["podAntiAffinity"]
        (preference,) = others["preferredDuringSchedulingIgnoredDuringExecution"]
        wanted = preference["podAffinityTerm"]["labelSelector"]["matchLabels"]
        assert wanted.items() <= server["metadata"]["labels"].items()


def test_a_task_that_fails_twice_on_its_node_continues_on_another_one(story: Story) -> None:
    broken = story.kubelet.nodes[0]
    match = {"key": "kubernetes.io/hostname", "operator": "In", "values": [broken]}
    preference = {"weight": 50, "preference": {"matchExpressions": [match]}}
    document = job(worker=replica(1))  # a second pod would make the scheduler prefer another node
    document["spec"]["replicaSpecs"]["worker"]["template"]["spec"]["affinity"] = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}
    }
    story.started(document)
    for attempt in (1, 2):
        assert story.pod("worker-0")["spec"]["nodeName"] == broken
        story.kubelet.exit(story.pod_key("worker-0"), 1)
        status = story.until_running("worker-0", attempt=attempt + 1)
    assert row(status, "worker-0")["avoidedNode"] == broken
    assert story.pod("worker-0")["spec"]["nodeName"] != broken
    why = f"attempt 3 in 0.0 s, on another node than {broken} if possible"
    wait.until(lambda: any(why in note for note in story.notes("Restarting")))


def test_no_two_tasks_in_the_network_of_their_nodes_share_a_node(story: Story) -> None:
    """The second would find the port of its task in use."""
    count = len(story.kubelet.nodes) + 1
    story.submit(job(worker=replica(count, pod={"hostNetwork": True})))
    status = story.until(
        lambda status: "free ports" in condition(status, "PodsScheduled").get("message", "")
    )
    assert status["summary"]["workers"].endswith(f"/{count}")
    nodes = [pod["spec"].get("nodeName") for pod in story.pods().values()]
    assert sorted(filter(None, nodes)) == sorted(story.kubelet.nodes)


# Kueue itself does not run here. A story removes the gates of pods, as Kueue does at an admission.


def queued_job() -> Json:
    document = job(ps=replica(1), worker=replica(2))
    document["spec"]["scheduling"] = {"queueName": "training"}
    return document


def until_waiting(story: Story) -> Json:
    """Wait until pods of the job wait for their queue, and return the status."""
    return story.until(lambda status: condition(status, "Queued").get("status") == "True")


def groups(story: Story) -> set[str]:
    """Return the names of the groups of all pods."""
    labels = [pod["metadata"]["labels"] for pod in story.pods().values()]
    return {each[f"{KUEUE}/pod-group-name"] for each in labels}


def test_the_tasks_of_a_job_wait_in_a_queue_together(story: Story) -> None:
    story.submit(queued_job())
    status = story.until(
        lambda status: (
            status["phase"] == "Queued"
            and "ps-0, worker-0, worker-1" in condition(status, "Queued").get("message", "")
        )
    )
    message = "waiting until Kueue admits ps-0, worker-0, worker-1 from queue training"
    assert condition(status, "Queued")["message"] == message
    assert status["summary"]["reason"] == message
    for pod in story.pods().values():
        kind = pod["metadata"]["labels"]["capstan.dev/replica-type"]
        assert pod["metadata"]["labels"][f"{KUEUE}/queue-name"] == "training"
        assert pod["metadata"]["annotations"] == {
            f"{KUEUE}/pod-group-total-count": "3",
            f"{KUEUE}/pod-suspending-parent": "capstan.dev/trainingjobs",
            f"{KUEUE}/role-hash": kind,
        }
        assert pod["spec"]["schedulingGates"] == [{"name": f"{KUEUE}/admission"}]
    assert len(groups(story)) == 1
    story.admit()
    status = story.until(lambda status: status["phase"] == "Running")
    assert condition(status, "Queued")["reason"] == "Admitted"


def test_a_restarted_task_joins_its_group_and_a_resumed_job_has_another(story: Story) -> None:
    story.submit(queued_job())
    until_waiting(story)
    wait.until(lambda: len(story.pods()) == 3)
    story.admit()
    story.until(lambda status: status["phase"] == "Running")
    first = groups(story)
    story.kubelet.exit(story.pod_key("worker-1"), 1)
    until_waiting(story)
    assert groups(story) == first
    story.admit()
    story.until_running("worker-1", attempt=2)
    story.kubectl("patch", "tjob", NAME, "--type=merge", "-p", '{"spec": {"suspend": true}}')
    wait.until(lambda: not story.pods())
    story.kubectl("patch", "tjob", NAME, "--type=merge", "-p", '{"spec": {"suspend": false}}')
    until_waiting(story)
    wait.until(lambda: len(story.pods()) == 3)
    assert len(groups(story)) == 1
    assert groups(story) != first


def test_a_job_that_is_over_gives_back_its_quota(story: Story) -> None:
    story.submit(queued_job())
    until_waiting(story)
    wait.until(lambda: len(story.pods()) == 3)
    story.admit()
    story.until(lambda status: status["phase"] == "Running")
    for task in ("worker-0", "worker-1"):
        story.kubelet.exit(story.pod_key(task), 0)
    mark = f"{KUEUE}/retriable-in-group"

    def marked() -> list[str]:
        found = {name: pod["metadata"]["annotations"] for name, pod in story.pods().items()}
        return [name for name, annotations in found.items() if annotations.get(mark) == "false"]

    wait.until(lambda: len(marked()) == 1)


def test_the_number_of_workers_in_a_queue_cannot_be_changed(story: Story) -> None:
    story.submit(queued_job())
    refused = story.cluster.kubectl(
        "scale", f"tjob/{NAME}", "--replicas=3", "-n", story.namespace, check=False
    ).stderr
    assert "spec.scheduling.queueName is set, because Kueue admits a fixed number" in refused


def test_a_job_that_names_a_missing_scheduler_of_pod_groups_does_not_start(story: Story) -> None:
    document = job()
    document["spec"]["scheduling"] = {"gang": "Volcano"}
    story.submit(document)
    note = story.wait_note("GangUnavailable")
    assert "no PodGroups of scheduling.volcano.sh/v1beta1" in note
    assert condition(story.status(), "ClusterReady")["reason"] == "GangUnavailable"
    assert not story.pods()
