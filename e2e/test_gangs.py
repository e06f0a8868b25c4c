"""Tasks that start together or not at all, by the scheduler of Kubernetes 1.36 and by PodGroups.

The control plane serves the alpha version of Kubernetes' PodGroups, and its scheduler obeys them.
Of coscheduling and Volcano, it has only the definitions of their PodGroups.
"""

import contextlib
import json
import pathlib
from collections.abc import Iterator

import pytest

from conftest import CRD, UNAVAILABLE
from testbed import control, wait
from testbed.current import Current
from testbed.kubelet import Kubelet
from testbed.rights import RIGHTS, Right
from testbed.story import NAME, TRAINER, Json, Story, condition, job, replica, row
from testbed.trials import ACCOUNT, Place

pytestmark = pytest.mark.e2e

NATIVE = "scheduling.k8s.io/v1alpha2"
COSCHEDULING = "scheduling.x-k8s.io/v1alpha1"
VOLCANO = "scheduling.volcano.sh/v1beta1"
THIRD = {"resources": {"requests": {"cpu": "3000"}}}
"""Three such containers fit on a node."""


def definition(version: str) -> Json:
    """Return a CustomResourceDefinition of PodGroups that accepts any spec."""
    group, _, name = version.partition("/")
    any_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    metadata = {"name": f"podgroups.{group}"}
    if group.endswith("k8s.io"):
        # Groups of Kubernetes are protected.
        metadata["annotations"] = {"api-approved.kubernetes.io": "unapproved, for a test"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup"},
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": any_object},
                }
            ],
        },
    }


@contextlib.contextmanager
def control_plane() -> Iterator[tuple[control.Cluster, Kubelet]]:
    with control.running(CRD, pod_groups=True) as cluster:
        for version in (COSCHEDULING, VOLCANO):
            cluster.kubectl("apply", "-f-", input=json.dumps(definition(version)))
        cluster.wait_served()
        kubelet = Kubelet(cluster.api)
        kubelet.start()
        with contextlib.closing(kubelet):
            yield cluster, kubelet


@pytest.fixture(scope="module")
def cluster(current: Current, pytestconfig: pytest.Config) -> control.Cluster:
    if reason := pytestconfig.stash[UNAVAILABLE].get("cluster"):
        pytest.skip(reason)
    return current.use(control_plane)[0]


@pytest.fixture(scope="module")
def kubelet(cluster: control.Cluster, current: Current) -> Kubelet:
    return current.use(control_plane)[1]


def gang_of(workers: int, gang: str = "Auto", name: str = NAME, **worker: object) -> Json:
    """Return a job of one ps and these workers, each of which takes a third of a node."""
    containers = [{**TRAINER, **THIRD}]
    kinds = {
        "ps": replica(1, containers=containers),
        "worker": replica(workers, containers=containers, **worker),
    }
    document = job(name, **kinds)
    document["spec"]["scheduling"] = {"gang": gang}
    return document


def pod_groups(story: Story, version: str) -> dict[str, Json]:
    path = f"/apis/{version}/namespaces/{story.namespace}/podgroups"
    return {group["metadata"]["name"]: group for group in story.cluster.api.list(path)}


def nodes(story: Story) -> list[str]:
    """Return the nodes of all pods of the job."""
    pods = story.pods().values()
    return [node for pod in pods if (node := pod["spec"].get("nodeName"))]


def test_a_gang_of_ten_waits_on_a_cluster_with_room_for_nine(story: Story) -> None:
    story.submit(gang_of(9))
    status = story.until(
        lambda status: "Unschedulable" in condition(status, "PodsScheduled").get("message", "")
    )
    assert len(story.pods()) == 10
    assert nodes(story) == []
    assert {task["state"] for task in status["tasks"]} == {"Pending"}
    (group,) = pod_groups(story, NATIVE).values()
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 10}}
    assert [owner["name"] for owner in group["metadata"]["ownerReferences"]] == [NAME]
    assert nodes(story) == []


def test_a_gang_starts_when_there_is_room_and_a_restarted_task_starts_by_itself(
    story: Story,
) -> None:
    alone = job("alone", worker=replica(1, containers=[{**TRAINER, **THIRD}]))
    story.started(alone)
    story.submit(gang_of(8))
    story.until(
        lambda status: "Unschedulable" in condition(status, "PodsScheduled").get("message", "")
    )
    story.delete_job("alone")
    story.until(lambda status: status["phase"] == "Running")
    assert len(nodes(story)) == 9
    # The other tasks run, so the gang is not complete without them.
    story.kubelet.exit(story.pod_key("worker-3"), 1)
    story.until_running("worker-3", attempt=2)
    assert "schedulingGroup" not in story.pod("worker-3")["spec"]


def test_a_job_of_which_all_tasks_restart_is_a_gang_again(story: Story) -> None:
    story.started(gang_of(2, onFailure="RestartJob"))
    first = {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in story.pods().values()}
    story.kubelet.exit(story.pod_key("worker-1"), 1)
    # The pod of worker-1 has ended, but its new pod waits until the other old pods are gone.
    status = story.until_running("worker-1", attempt=2)
    assert {task["attempt"] for task in status["tasks"]} == {2}
    again = {pod["spec"]["schedulingGroup"]["podGroupName"] for pod in story.pods().values()}
    assert len(story.pods()) == 3
    assert first == again == {f"{NAME}-3"}


@pytest.mark.parametrize(
    ("gang", "version", "scheduler"),
    [
        ("Coscheduling", COSCHEDULING, "scheduler-plugins-scheduler"),
        ("Volcano", VOLCANO, "volcano"),
    ],
)
def test_the_pods_of_a_waiting_gang_name_their_group_and_scheduler(
    story: Story, gang: str, version: str, scheduler: str
) -> None:
    story.submit(gang_of(4, gang))
    wait.until(lambda: len(story.pods()) == 5)
    assert pod_groups(story, version)[NAME]["spec"] == {"minMember": 5}
    for pod in story.pods().values():
        marks = pod["metadata"]["labels"] | pod["metadata"].get("annotations", {})
        names = ("scheduling.x-k8s.io/pod-group", "scheduling.k8s.io/group-name")
        assert [marks[name] for name in names if name in marks] == [NAME]
        assert pod["spec"]["schedulerName"] == scheduler
    # Without all members, the scheduler would wait for ever.
    story.kubectl("scale", f"tjob/{NAME}", "--replicas=3")
    wait.until(lambda: pod_groups(story, version)[NAME]["spec"] == {"minMember": 4})


def test_a_job_with_an_elastic_gang_waits_for_the_fewest_workers(story: Story) -> None:
    story.submit(gang_of(12, minReplicas=3))
    story.until(lambda status: row(status, "worker-0").get("state") == "Running")
    (group,) = pod_groups(story, NATIVE).values()
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}


NEEDED = [
    (right, gang)
    for right in RIGHTS
    for group, gang in {
        "scheduling.k8s.io": "Native",
        "scheduling.x-k8s.io": "Coscheduling",
        "scheduling.volcano.sh": "Volcano",
    }.items()
    # Kubernetes 1.36 does not let anybody change the size of a PodGroup.
    if right.group == group and (right.verb, gang) != ("patch", "Native")
]


@pytest.mark.parametrize(("right", "gang"), NEEDED, ids=str)
def test_the_operator_needs_each_right_on_pod_groups(
    cluster: control.Cluster, kubelet: Kubelet, tmp_path: pathlib.Path, right: Right, gang: str
) -> None:
    place = Place(cluster, kubelet, tmp_path)
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(place.namespace())
        kubeconfig = cluster.service_account(home, ACCOUNT)
        for role in sorted({right.role for right in RIGHTS}):
            stack.enter_context(place.granted(role, home, home, right))
        operator = place.start(kubeconfig, home, [home])
        stack.callback(operator.kill)
        story = Story(cluster, kubelet, operator, home)
        story.submit(gang_of(3, gang))
        if right.verb == "patch":
            wait.until(lambda: len(story.pods()) == 4)
            story.kubectl("scale", f"tjob/{NAME}", "--replicas=2")
        words = f'cannot {right.verb} resource "podgroups" in API group "{right.group}"'
        wait.until(
            lambda: any(words in line.replace("\\", "") for line in operator.refused()),
            else_show=operator.tail,
        )
        if right.verb != "patch":
            refused = story.until_row("worker-0", state="CreateFailed")
            assert "PodGroup" in refused["message"]
            assert not story.pods()
