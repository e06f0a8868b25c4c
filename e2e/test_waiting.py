"""A task that cannot start, or whose node is lost. The status names the reason. A task that cannot
start counts towards no limit of the job, and runs as soon as it can.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from testbed import wait
from testbed.api import ApiError
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.story import NAME, TRAINER, Story, condition, job, replica, row

Json = dict[str, Any]
NO_RESTARTS = {"application": 0, "infrastructure": 0}


def path_of(story: Story, resource: str, group: str = "/api/v1") -> str:
    return f"{group}/namespaces/{story.namespace}/{resource}"


def quota(story: Story) -> str:
    """Create a quota of two pods, and return its path when the API server enforces the quota.

    The quota also forbids ConfigMaps, so that a ConfigMap can show when it is enforced.
    """
    path = path_of(story, "resourcequotas")
    hard = {"pods": "2", "count/configmaps": "0"}
    story.cluster.api.post(path, {"metadata": {"name": "small"}, "spec": {"hard": hard}})
    probe = {"metadata": {"name": "probe"}}
    wait.until(lambda: "exceeded quota: small" in _refusal(story, "configmaps", probe))
    return f"{path}/small"


def create_limits(story: Story) -> str:
    """Limit the processors of a container to one. Return the path of the LimitRange."""
    path = path_of(story, "limitranges")
    limit = {"type": "Container", "max": {"cpu": "1"}}
    story.cluster.api.post(path, {"metadata": {"name": "small"}, "spec": {"limits": [limit]}})
    return f"{path}/small"


def test_tasks_that_a_quota_refuses_wait_without_counting_restarts(story: Story) -> None:
    small = quota(story)
    story.submit(job(run_policy={"restartBackoff": {"initialSeconds": 0, "maxSeconds": 1}}))
    status = story.until(
        lambda status: (
            _refused(status).get("refusalsInARow", 0) >= 3
            and [task["state"] for task in status["tasks"]].count("Running") == 2
        )
    )
    waiting = _refused(status)
    assert waiting["reason"] == "CreateFailed"
    assert "exceeded quota: small" in waiting["message"]
    assert "retryAt" in waiting
    note = story.wait_note("CreateFailed")
    assert f"{waiting['name']} attempt" in note
    assert "exceeded quota: small" in note
    assert note in story.describe()
    # While the operator tries the pod again, the table does not show the last refusal.
    wait.until(lambda: "exceeded quota: small" in story.kubectl("get", "tjob", "-o", "wide"))
    story.cluster.api.delete(small)
    status = story.until(lambda status: status["phase"] == "Running")
    assert status["restarts"] == NO_RESTARTS
    attempt = row(status, waiting["name"])["attempt"]
    assert attempt >= 4
    labels = story.pod(waiting["name"])["metadata"]["labels"]
    assert labels["capstan.dev/attempt"] == str(attempt)


def test_a_limit_range_that_refuses_the_pods_does_not_make_the_job_invalid(story: Story) -> None:
    limits = create_limits(story)
    trainer = {**TRAINER, "resources": {"limits": {"cpu": "2"}}}
    story.submit(job(worker=replica(1, containers=[trainer])))
    waiting = story.until_row("worker-0", state="CreateFailed")
    assert "maximum cpu usage per Container is 1" in waiting["message"]
    assert condition(story.status(), "Invalid") == {}
    story.cluster.api.delete(limits)
    story.until(lambda status: status["phase"] == "Running")


@pytest.fixture
def policy(story: Story) -> Iterator[str]:
    """An admission policy that forbids pods with the label `team` in this namespace."""
    api, name = story.cluster.api, f"no-pods-in-{story.namespace}"
    group = "/apis/admissionregistration.k8s.io/v1"
    policies = f"{group}/validatingadmissionpolicies"
    bindings = f"{group}/validatingadmissionpolicybindings"
    pods = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
    }
    rule = {
        "expression": "!has(object.metadata.labels) || !('team' in object.metadata.labels)",
        "message": "pods of teams are forbidden here",
    }
    api.post(
        policies,
        {
            "metadata": {"name": name},
            "spec": {"matchConstraints": {"resourceRules": [pods]}, "validations": [rule]},
        },
    )
    here = {"matchLabels": {"kubernetes.io/metadata.name": story.namespace}}
    api.post(
        bindings,
        {
            "metadata": {"name": name},
            "spec": {
                "policyName": name,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": here},
            },
        },
    )
    yield name
    api.delete(f"{bindings}/{name}")
    api.delete(f"{policies}/{name}")


def test_an_admission_policy_that_refuses_the_pods_does_not_make_the_job_invalid(
    story: Story, policy: str
) -> None:
    wait.until(lambda: _is_forbidden(story))
    worker = replica(1)
    worker["template"]["metadata"] = {"labels": {"team": "vision"}}
    story.submit(job(worker=worker))
    waiting = story.until_row("worker-0", state="CreateFailed")
    assert "pods of teams are forbidden here" in waiting["message"]
    assert condition(story.status(), "Invalid") == {}
    assert story.status()["restarts"] == NO_RESTARTS


def test_the_status_names_a_missing_image_that_a_task_waits_for(story: Story) -> None:
    story.kubelet.at_start(story.pod_key("worker-1"), story.kubelet.image_pull_fails)
    story.submit(job())
    cause = 'ImagePullBackOff: Back-off pulling image "capstan/digits:dev": ErrImagePull: not found'
    story.until_row("worker-1", state="Pending", waiting=cause)
    story.until(lambda status: row(status, "worker-0")["state"] == "Running")
    assert cause in story.describe()
    assert cause in condition(story.status(), "ClusterReady")["message"]
    story.kubelet.run(story.pod_key("worker-1"))
    status = story.until(lambda status: status["phase"] == "Running")
    assert "waiting" not in row(status, "worker-1") or not row(status, "worker-1")["waiting"]
    assert row(status, "worker-1")["attempt"] == 1
    assert status["restarts"] == NO_RESTARTS


def test_the_status_names_a_missing_secret_that_a_task_waits_for(story: Story) -> None:
    waiting = {"reason": "CreateContainerConfigError", "message": 'secret "keys" not found'}
    container = {"name": "trainer", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    state = {"state": {"waiting": waiting}}
    story.kubelet.at_start(
        story.pod_key("worker-0"),
        lambda _: story.change_pod("worker-0", {"containerStatuses": [{**container, **state}]}),
    )
    story.submit(job(worker=replica(1)))
    cause = 'CreateContainerConfigError: secret "keys" not found'
    story.until_row("worker-0", state="Pending", waiting=cause)


def test_a_claim_that_is_deleted_before_its_pods_have_a_node_is_made_again(story: Story) -> None:
    document = job()
    claim = {"storage": "1Gi", "accessModes": ["ReadWriteOnce"]}
    document["spec"]["checkpoint"] = {"path": "/checkpoints", "volumeClaim": claim}
    story.submit(document)
    # No part of this cluster provides volumes.
    story.until(lambda status: "PersistentVolumeClaim" in row(status, "ps-0").get("waiting", ""))
    path = f"/api/v1/namespaces/{story.namespace}/persistentvolumeclaims/{NAME}-checkpoints"
    first = story.cluster.api.get(path)["metadata"]["uid"]
    story.cluster.api.delete(path)
    wait.until(
        lambda: (found := story.cluster.api.find(path)) and found["metadata"]["uid"] != first,
        else_show=lambda: str(story.status()),
    )


def test_the_status_says_why_no_node_can_run_a_task(story: Story) -> None:
    trainer = {**TRAINER, "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    story.submit(job(ps=replica(1), worker=replica(2, containers=[trainer])))
    cause = (
        "Unschedulable: it requests 1 nvidia.com/gpu, and none is free on 3 of 3 nodes; 0/3 nodes"
    )
    story.until(lambda status: cause in row(status, "worker-0").get("waiting", ""))
    status = story.until(lambda status: cause in row(status, "worker-1").get("waiting", ""))
    scheduled = condition(status, "PodsScheduled")
    assert (scheduled["status"], scheduled["reason"]) == ("False", "Unscheduled")
    assert cause in scheduled["message"]
    assert cause in story.kubectl("get", "tjob", "-o", "wide")


# Nodes.


@pytest.fixture
def impatient(start_operator: Callable[..., Operator]) -> Operator:
    """An operator that treats a silent node as lost after a second."""
    operator = start_operator("--node-lost-seconds=1")
    operator.wait_ready()
    return operator


@pytest.fixture
def on_nodes(cluster: Cluster, kubelet: Kubelet, impatient: Operator, namespace: str) -> Story:
    return Story(cluster, kubelet, impatient, namespace)


def test_the_tasks_of_a_lost_node_are_restarted_on_other_nodes(on_nodes: Story) -> None:
    story = on_nodes
    story.started()
    old = story.pod("worker-0")
    node = old["spec"]["nodeName"]
    story.kubelet.not_ready(node)
    # When a node falls silent, the control plane also marks its pods as not ready.
    story.kubelet.unready(story.pod_key("worker-0"))
    status = story.until_running("worker-0", attempt=2)
    new = story.pod("worker-0")
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert new["spec"]["nodeName"] != node
    assert status["restarts"] == {"application": 0, "infrastructure": 1}
    assert status["epoch"] == 2
    assert f"worker-0 attempt 1 on {node}: NodeLost" in story.wait_note("Restarting")


@pytest.fixture
def node(story: Story) -> Iterator[str]:
    """One more node, for this test only."""
    name = f"node-of-{story.namespace}"
    story.kubelet.join(name)
    yield name
    story.kubelet.leave(name)


def pinned(node: str) -> Json:
    """Return a job of one worker that can run only on this node."""
    return job(worker=replica(1, pod={"nodeSelector": {"kubernetes.io/hostname": node}}))


def taint(story: Story, node: str, key: str) -> None:
    taints = [{"key": key, "effect": "NoExecute"}]
    story.cluster.api.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": taints}})


def test_a_pod_that_cannot_end_is_force_deleted_when_its_node_is_gone(
    story: Story, node: str
) -> None:
    story.started(pinned(node))
    old_uid = story.pod("worker-0")["metadata"]["uid"]
    story.kubelet.leave(node)
    story.delete_pod("worker-0")
    status = story.until(lambda status: row(status, "worker-0")["attempt"] == 2)
    assert status["restarts"] == {"application": 0, "infrastructure": 1}
    assert f"worker-0 attempt 1 on {node}: NodeLost" in story.wait_note("Restarting")
    wait.until(lambda: (pod := story.find_pod("worker-0")) and pod["metadata"]["uid"] != old_uid)
    story.until(lambda status: "Unschedulable" in row(status, "worker-0").get("waiting", ""))
    story.kubelet.join(node)
    story.until_running("worker-0", attempt=2)


def test_the_tasks_of_a_node_that_is_out_of_service_are_restarted(story: Story, node: str) -> None:
    story.started(pinned(node))
    story.kubelet.not_ready(node)
    taint(story, node, "node.kubernetes.io/out-of-service")
    status = story.until(lambda status: row(status, "worker-0")["attempt"] == 2)
    assert status["restarts"] == {"application": 0, "infrastructure": 1}
    # Kubernetes also ends such pods, every 20 s, and may be earlier than the operator.
    assert re.search("NodeLost|DeletionByTaintManager", story.wait_note("Restarting"))


def test_an_eviction_by_a_taint_counts_as_an_infrastructure_failure(
    story: Story, node: str
) -> None:
    story.started(pinned(node))
    taint(story, node, "maintenance")
    status = story.until(lambda status: row(status, "worker-0")["attempt"] == 2)
    assert status["restarts"] == {"application": 0, "infrastructure": 1}
    assert row(status, "worker-0")["reason"] == "DisruptionTarget"
    assert "DeletionByTaintManager" in story.wait_note("Restarting")
    story.until(lambda status: "Unschedulable" in row(status, "worker-0").get("waiting", ""))


def _refused(status: Json) -> Json:
    """Return the row of a task whose pod the API server refused, or an empty dict."""
    refused = (row for row in status.get("tasks", ()) if row["state"] == "CreateFailed")
    return next(refused, {})


def _is_forbidden(story: Story) -> bool:
    """Return whether the API server enforces the admission policy already."""
    pod = {
        "metadata": {"name": "probe", "labels": {"team": "vision"}},
        "spec": {"containers": [dict(TRAINER)]},
    }
    return "forbidden here" in _refusal(story, "pods", pod)


def _refusal(story: Story, resource: str, body: Json) -> str:
    """Return why the API server would refuse this object, or "" if it would accept the object."""
    try:
        story.cluster.api.post(path_of(story, resource), body, dryRun="All")
    except ApiError as error:
        return error.message
    return ""
