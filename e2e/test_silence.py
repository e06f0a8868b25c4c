"""The operator writes nothing if nothing has changed."""

import pathlib
from collections.abc import Callable

import pytest

from testbed import wait
from testbed.control import Cluster
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.story import Story, condition, job, replica

ACCOUNT = "operator"
REASONS = ["ImagePullFailed", "Restarting", *["Running"] * 3, "Succeeded", "TemplateInvalid"]
"""The reasons of all events about all jobs, sorted."""
PASSES = "capstan_reconcile_seconds_count"


@pytest.fixture
def audited(cluster: Cluster, namespace: str) -> pathlib.Path:
    """The kubeconfig of a service account. The API server logs each of its writing requests."""
    kubeconfig = cluster.service_account(namespace, ACCOUNT)
    group = "rbac.authorization.k8s.io"
    account = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}
    cluster.api.post(
        f"/apis/{group}/v1/namespaces/{namespace}/rolebindings",
        {
            "metadata": {"name": ACCOUNT},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [account],
        },
    )
    return kubeconfig


@pytest.fixture
def comparing(
    start_operator: Callable[..., Operator],
    audited: pathlib.Path,
    cluster: Cluster,
    kubelet: Kubelet,
    namespace: str,
) -> Story:
    """A story whose operator compares all objects with the cluster every second."""
    operator = start_operator("--resync-seconds=1", kubeconfig=audited)
    operator.wait_ready()
    return Story(cluster, kubelet, operator, namespace)


def versions(story: Story) -> dict[str, str]:
    """Return the resource versions of all jobs, pods and Services, and of the events about them."""
    core, capstan = "/api/v1", "/apis/capstan.dev/v1alpha1"
    versions = [
        (f"{kind} {each['metadata']['name']}", each["metadata"]["resourceVersion"])
        for group, kind in (
            (capstan, "trainingjobs"),
            (core, "pods"),
            (core, "services"),
            ("/apis/events.k8s.io/v1", "events"),
        )
        for each in story.cluster.api.list(f"{group}/namespaces/{story.namespace}/{kind}")
        # The scheduler creates events about pods at any time.
        if each.get("regarding", {}).get("kind") != "Pod"
    ]
    return dict(versions)


def writes(story: Story) -> list[str]:
    """Return the operator's writing requests, without those for its Lease."""
    written = story.cluster.written_by(story.namespace, ACCOUNT)
    return [request for request in written if "/leases" not in request]


def passes(story: Story) -> float:
    """Return the number of passes over jobs that this process of the operator has made."""
    samples = story.operator.metrics().items()
    return sum(value for name, value in samples if name.startswith(PASSES))


def test_neither_a_comparison_nor_a_new_process_writes_anything(comparing: Story) -> None:
    story = comparing
    story.kubelet.at_start(story.pod_key("worker-0", "waits"), story.kubelet.image_pull_fails)
    story.submit(job("waits", worker=replica(1)))
    story.submit(job("invalid", worker=replica(1, pod={"nodeSelektor": {}})))
    story.started(job("done", ps=replica(1), worker=replica(1)))
    story.kubelet.exit(story.pod_key("worker-0", "done"), 0)
    runs = job("runs", ps=replica(1), worker=replica(2))
    runs["spec"]["cluster"] = {"networkPolicy": True, "tls": {"mode": "Mutual"}}
    story.started(runs)
    story.kubelet.exit(story.pod_key("worker-1", "runs"), 1)
    story.until_running("worker-1", 2, "runs")
    story.until_row("worker-0", name="waits", state="Pending", pod="waits-worker-0")
    story.until(lambda status: "BackOff" in condition(status, "ClusterReady")["message"], "waits")
    story.until(lambda status: status["phase"] == "Invalid", "invalid")
    story.until_row("ps-0", name="done", state="Stopped")
    wait.until(lambda: story.find_pod("ps-0", "done") is None)
    wait.until(
        lambda: sorted(reason for reason, _ in story.events()) == REASONS,
        else_show=lambda: str(story.events()),
    )
    jobs = 4

    wait_unchanged(story)
    before, written = versions(story), writes(story)
    assert len(written) > jobs, "the audit log lacks the operator's writes"
    begun = passes(story)
    wait.until(lambda: passes(story) >= begun + 3 * jobs)
    assert versions(story) == before
    assert new_writes(written, writes(story)) == []

    story.operator.stop()
    story.operator.start()
    story.operator.wait_ready()
    wait.until(lambda: passes(story) >= 3 * jobs)
    assert versions(story) == before
    assert new_writes(written, writes(story)) == []


def wait_unchanged(story: Story) -> None:
    """Wait until four passes of the operator have seen no change of any object."""
    before: list[dict[str, str]] = [{}]

    def is_unchanged() -> bool:
        begun = passes(story)
        wait.until(lambda: passes(story) >= begun + 4)
        last, before[0] = before[0], versions(story)
        return last == before[0]

    wait.until(is_unchanged)


def new_writes(before: list[str], after: list[str]) -> list[str]:
    """Return the requests after `before`, without dry runs, which only check a template."""
    return [request for request in after[len(before) :] if "dryRun=All" not in request]
