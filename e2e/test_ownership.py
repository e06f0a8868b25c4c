"""The operator never changes objects that it does not own, waits for pods of a deleted job, and
repairs its own objects.
"""

from collections.abc import Callable
from typing import Any

import pytest

from testbed import wait
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.story import NAME, TRAINER, Story, condition, job, replica, row

Json = dict[str, Any]


OPEN_TO_ALL = {"ingress": [{}], "egress": [{}], "policyTypes": ["Ingress", "Egress"]}


def foreign_service(story: Story) -> Json:
    """Create a Service with the name of the job, which the operator does not own."""
    spec = {"selector": {"app": "redis"}, "ports": [{"name": "redis", "port": 6379}]}
    path = f"/api/v1/namespaces/{story.namespace}/services"
    return story.cluster.api.post(path, {"metadata": {"name": NAME}, "spec": spec})


def foreign_pod(story: Story, name: str, **metadata: Any) -> Json:
    """Create a pod that the operator does not own, and return it when it runs."""
    path = f"/api/v1/namespaces/{story.namespace}/pods"
    spec = {"containers": [dict(TRAINER)]}
    story.cluster.api.post(path, {"metadata": {"name": name, **metadata}, "spec": spec})
    return wait.until(lambda: _running(story.cluster.api.get(f"{path}/{name}")))


def test_a_job_waits_while_a_foreign_service_has_its_name_and_leaves_the_service_alone(
    story: Story,
) -> None:
    foreign = foreign_service(story)
    story.submit(job())
    status = story.until(lambda status: condition(status, "NameConflict"))
    conflict = condition(status, "NameConflict")
    assert (conflict["status"], conflict["reason"]) == ("True", "NameConflict")
    assert f"there is a Service {NAME} that is not this job's" in conflict["message"]
    assert f"Service {NAME}" in story.wait_note("NameConflict")
    assert f"Service {NAME}" in story.kubectl("get", "tjob", "-o", "wide")
    assert story.pods() == {}
    assert story.service() == foreign

    story.kubectl("delete", "service", NAME)
    status = story.until(lambda status: status["phase"] == "Running")
    assert condition(status, "NameConflict") == {}
    assert status["restarts"] == {"application": 0, "infrastructure": 0}
    assert story.service()["spec"]["clusterIP"] == "None"


@pytest.mark.parametrize("labelled", [False, True], ids=["without labels", "with the job's label"])
def test_a_task_waits_while_a_foreign_pod_has_its_name_and_leaves_the_pod_alone(
    story: Story, labelled: bool
) -> None:
    labels = {"capstan.dev/job-name": NAME} if labelled else {}
    foreign = foreign_pod(story, f"{NAME}-worker-1", labels=labels)
    story.submit(job(run_policy={"restartBackoff": {"initialSeconds": 0, "maxSeconds": 0}}))
    status = story.until(lambda status: condition(status, "NameConflict"))
    message = f"there is a Pod {NAME}-worker-1 that is not this job's"
    assert message in condition(status, "NameConflict")["message"]
    assert message in story.wait_note("NameConflict")
    story.until(lambda status: row(status, "worker-1").get("refusalsInARow", 0) >= 3)
    story.until_row("worker-0", state="Running")
    assert story.pod("worker-1") == foreign

    story.kubectl("delete", "pod", f"{NAME}-worker-1")
    status = story.until(lambda status: status["phase"] == "Running")
    assert condition(status, "NameConflict") == {}
    assert status["restarts"] == {"application": 0, "infrastructure": 0}


def test_a_foreign_pod_with_the_label_of_a_job_outlives_the_job(story: Story) -> None:
    foreign = foreign_pod(story, "notebook", labels={"capstan.dev/job-name": NAME})
    story.started(job(worker=replica(1)))
    story.kubelet.exit(story.pod_key("worker-0"), 0)
    story.until(lambda status: status["phase"] == "Succeeded")
    story.delete_job()
    wait.until(lambda: list(story.pods()) == ["notebook"])
    path = f"/api/v1/namespaces/{story.namespace}/pods/notebook"
    assert story.cluster.api.get(path) == foreign


def test_a_deleted_service_is_recreated(story: Story) -> None:
    story.started()
    old = story.service()["metadata"]["uid"]
    story.kubectl("delete", "service", NAME)

    def is_recreated() -> bool:
        service = story.find_service()
        return service is not None and service["metadata"]["uid"] != old

    wait.until(is_recreated)
    assert story.status()["restarts"] == {"application": 0, "infrastructure": 0}


def pod_uids(story: Story) -> set[str]:
    return {pod["metadata"]["uid"] for pod in story.pods().values()}


def test_a_service_that_is_changed_while_its_job_runs_is_repaired_or_the_job_says_so(
    story: Story,
) -> None:
    story.started()
    path = f"/api/v1/namespaces/{story.namespace}/services/{NAME}"
    made, pods = story.service(), pod_uids(story)
    change = {
        "selector": {"app": "other"},
        "publishNotReadyAddresses": False,
        "ports": [{"name": "grpc", "port": 80}],
    }
    story.cluster.api.patch(path, {"spec": change})
    wait.until(lambda: story.service()["spec"] == made["spec"])
    assert story.service()["metadata"]["uid"] == made["metadata"]["uid"]
    assert pod_uids(story) == pods

    # Two changes give the Service an address, which nobody can remove.
    story.operator.freeze()
    elsewhere = {"type": "ExternalName", "externalName": "example.com"}
    story.cluster.api.patch(path, {"spec": {**elsewhere, "clusterIP": None, "clusterIPs": None}})
    story.cluster.api.patch(path, {"spec": {"type": "ClusterIP", "externalName": None}})
    story.operator.thaw()
    status = story.until(
        lambda status: condition(status, "ClusterReady")["reason"] == "ServiceChanged"
    )
    assert "delete the Service" in condition(status, "ClusterReady")["message"]
    assert f"Service {NAME}" in story.wait_note("ServiceChanged")
    story.kubectl("delete", "service", NAME)
    status = story.until(lambda status: condition(status, "ClusterReady")["status"] == "True")
    assert story.service()["spec"] == made["spec"]
    assert (pod_uids(story), status["epoch"]) == (pods, 1)


def test_a_network_policy_that_is_changed_or_deleted_while_its_job_runs_is_repaired(
    start_operator: Callable[..., Operator], cluster: Cluster, kubelet: Kubelet, namespace: str
) -> None:
    story = Story(cluster, kubelet, start_operator("--resync-seconds=1"), namespace)
    manifest = job()
    manifest["spec"]["cluster"] = {"networkPolicy": True}
    story.started(manifest)
    pods = story.pods()
    path = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/{NAME}"
    made = cluster.api.get(path)
    change = {"metadata": {"labels": {"note": "kept"}}, "spec": OPEN_TO_ALL}
    changed = cluster.api.patch(path, change)
    assert changed["spec"] != made["spec"]

    repaired = wait.until(lambda: _with_spec(cluster.api.find(path), made["spec"]))
    assert repaired["metadata"]["labels"] == {**made["metadata"]["labels"], "note": "kept"}
    assert repaired["metadata"]["uid"] == made["metadata"]["uid"]

    story.kubectl("delete", "networkpolicy", NAME)
    again = wait.until(lambda: _with_spec(cluster.api.find(path), made["spec"]))
    assert again["metadata"]["uid"] != made["metadata"]["uid"]
    assert story.pods() == pods


@pytest.mark.parametrize("how", ["Background", "Foreground", "Orphan"])
def test_a_job_that_is_deleted_and_created_again_at_once_runs(story: Story, how: str) -> None:
    for task in ("ps-0", "worker-0", "worker-1"):
        story.kubelet.ignore_sigterm(story.pod_key(task))
    slow = {"pod": {"terminationGracePeriodSeconds": 1}}
    again = job(ps=replica(1, **slow), worker=replica(2, **slow))
    story.started(job(ps=replica(1, **slow), worker=replica(2, **slow)))
    old = pod_uids(story)
    uid = story.job()["metadata"]["uid"]
    story.delete_job(how=how)
    if how != "Background":
        wait.until(lambda: story.find_job() is None)
    new = story.submit(again)["metadata"]["uid"]
    assert new != uid
    if how == "Orphan":
        # Orphaned objects have no owner, so the operator leaves them alone until the user deletes
        # them.
        story.until(lambda status: condition(status, "NameConflict"))
        story.kubectl("delete", "service,pods", "--all")
    status = story.until(lambda status: status["phase"] == "Running")
    pods = story.pods().values()
    assert {pod["metadata"]["uid"] for pod in pods}.isdisjoint(old)
    assert {pod["metadata"]["labels"]["capstan.dev/job-uid"] for pod in pods} == {new}
    assert status["restarts"] == {"application": 0, "infrastructure": 0}


def test_a_foreground_deletion_of_a_job_waits_for_its_pods(story: Story) -> None:
    story.started()
    story.kubelet.pause()
    story.delete_job(how="Foreground")
    wait.until(
        lambda: all(pod["metadata"].get("deletionTimestamp") for pod in story.pods().values())
    )
    status = story.until(lambda status: status["phase"] == "Suspended")
    assert condition(status, "Suspended")["reason"] == "Suspending"
    assert len(story.pods()) == 3
    story.kubelet.resume()
    wait.until(lambda: story.find_job() is None)
    assert story.pods() == {}


def test_a_job_reports_that_it_waits_for_pods_of_a_deleted_job_of_the_same_name(
    story: Story,
) -> None:
    story.started()
    story.kubelet.pause()
    story.delete_job()
    wait.until(lambda: story.find_job() is None)
    story.submit(job())
    assert "deleted job of the same name" in story.wait_note("WaitingForOldPods")
    status = story.until(lambda status: "ps-0" in condition(status, "ClusterReady")["message"])
    ready = condition(status, "ClusterReady")
    assert (ready["status"], ready["reason"]) == ("False", "WaitingForOldPods")
    assert condition(status, "NameConflict") == {}
    story.kubelet.resume()
    story.until(lambda status: status["phase"] == "Running")


def test_the_tasks_of_a_deleted_job_that_a_finalizer_holds_are_stopped(story: Story) -> None:
    held = job()
    held["metadata"]["finalizers"] = ["example.com/archive"]
    story.started(held)
    story.delete_job()
    status = story.until(lambda status: condition(status, "Suspended").get("reason") == "Deleted")
    assert status["summary"]["reason"].endswith("waits for its finalizers: example.com/archive")
    wait.until(lambda: not story.pods())
    path = f"/apis/capstan.dev/v1alpha1/namespaces/{story.namespace}/trainingjobs/{NAME}"
    story.cluster.api.patch(path, {"metadata": {"finalizers": None}})
    wait.until(lambda: story.find_job() is None and story.find_service() is None)


def _with_spec(manifest: Json | None, spec: Json) -> Json | None:
    return manifest if manifest is not None and manifest["spec"] == spec else None


def _running(pod: Json) -> Json | None:
    return pod if pod["status"]["phase"] == "Running" else None
