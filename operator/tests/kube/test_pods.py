"""Views of tasks from pods in all states that clusters produce."""

from datetime import UTC, datetime
from typing import Any

import pytest
from kube import documents
from kube.documents import condition, ended, pod, running, terminated, view, waiting

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.kube import cache, pods
from capstan_operator.reconcile.observe import InstanceState, TaskPhase, TaskView
from capstan_operator.reconcile.policies import failure

BEFORE, LATER = "2026-11-02T10:07:00Z", "2026-11-02T10:08:00Z"
FINISHED = datetime(2026, 11, 2, 10, 7, 30, tzinfo=UTC)
"""`documents.ENDED`, since which a condition holds if a test says nothing else."""
GRACE = {"deletionGracePeriodSeconds": 30}


def kind(task: TaskView) -> failure.FailureClass | None:
    failed = failure.judge(task, may_end=True)
    return None if failed is None else failed.kind


def test_a_running_pod_is_a_task_with_its_pod_node_and_uid() -> None:
    found = view(
        pod(
            phase="Running",
            conditions=documents.ready("True"),
            containerStatuses=[running()],
        )
    )
    assert found == TaskView(
        name=TaskName.parse("worker-1"),
        attempt=2,
        uid=Uid("uid-1"),
        phase=TaskPhase.RUNNING,
        ready=True,
        started_at=datetime(2026, 11, 2, 10, 0, 5, tzinfo=UTC),
        pod="digits-worker-1",
        node="n7",
    )


@pytest.mark.parametrize("code", [0, 7])
def test_a_task_is_ready_beside_a_container_that_is_done(code: int) -> None:
    beside = terminated(code, name="second")
    document = pod(
        phase="Running",
        conditions=documents.ready("False", "ContainersNotReady"),
        containerStatuses=[beside, running()],
    )
    assert (view(document).phase, view(document).ready) == (TaskPhase.RUNNING, True)


@pytest.mark.parametrize(
    "reason, beside",
    [
        ("ContainersNotReady", running("proxy", ready=False)),
        ("ReadinessGatesNotReady", terminated(0, name="second")),
        ("", terminated(0, name="second")),
    ],
)
def test_a_task_is_not_ready_before_its_sidecars_are(reason: str, beside: Any) -> None:
    document = pod(
        phase="Running",
        conditions=documents.ready("False", reason),
        containerStatuses=[running(), beside],
    )
    assert (view(document).phase, view(document).ready) == (TaskPhase.RUNNING, False)


@pytest.mark.parametrize(
    "sidecar",
    [
        running("proxy", ready=False),
        waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container", name="proxy"),
        terminated(1, name="proxy"),
    ],
)
def test_a_task_stays_ready_while_its_sidecar_starts_again(sidecar: dict[str, Any]) -> None:
    document = pod(
        phase="Running",
        conditions=documents.ready("False", "ContainersNotReady"),
        initContainerStatuses=[sidecar | {"restartCount": 7}],
        containerStatuses=[running()],
    )
    document["spec"]["initContainers"] = [{"name": "proxy", "restartPolicy": "Always"}]
    assert (view(document).phase, view(document).ready) == (TaskPhase.RUNNING, True)
    document["status"]["containerStatuses"] = [running(ready=False)]
    assert not view(document).ready, "its own container is not ready"


@pytest.mark.parametrize(
    "sidecar",
    [
        waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container", name="proxy"),
        running("proxy", ready=False) | {"restartCount": 1},
        terminated(7, message="no route", name="proxy") | {"restartCount": 1},
    ],
)
def test_a_task_whose_sidecar_crashes_waits_with_one_reason(sidecar: dict[str, Any]) -> None:
    """Its status does not change each time that the kubelet starts the sidecar again."""
    before = terminated(7, message="no route")["state"]
    document = pod(
        phase="Pending",
        conditions=documents.ready("False", "ContainersNotReady"),
        initContainerStatuses=[sidecar | {"lastState": before, "started": False}],
        containerStatuses=[waiting("PodInitializing")],
    )
    document["spec"]["initContainers"] = [{"name": "proxy", "restartPolicy": "Always"}]
    found = view(document)
    assert (found.phase, found.reason) == (TaskPhase.PENDING, "CrashLoopBackOff")
    assert found.message == (
        "sidecar proxy must start before the task, and ends with exit code 7: no route"
    )


def test_an_init_container_that_ran_again_is_no_reason_to_wait() -> None:
    """The kubelet has made the pod's network anew, and now the image of the task is missing."""
    document = pod(
        phase="Pending",
        conditions=documents.ready("False", "ContainersNotReady"),
        initContainerStatuses=[terminated(0, name="fetch") | {"restartCount": 1, "started": False}],
        containerStatuses=[waiting("ImagePullBackOff", "no such image")],
    )
    document["spec"]["initContainers"] = [{"name": "fetch"}]
    assert (view(document).reason, view(document).message) == ("ImagePullBackOff", "no such image")


def test_a_sidecar_that_has_started_is_no_reason_to_wait() -> None:
    """It was started again, and now the image of the task is pulled."""
    document = pod(
        phase="Pending",
        conditions=documents.ready("False", "ContainersNotReady"),
        initContainerStatuses=[running("proxy") | {"restartCount": 1, "started": True}],
        containerStatuses=[waiting("PodInitializing")],
    )
    assert (view(document).phase, view(document).reason) == (TaskPhase.PENDING, "")


def test_a_task_runs_before_it_is_ready() -> None:
    found = view(
        pod(
            phase="Running",
            conditions=documents.ready("False", "ContainersNotReady"),
            containerStatuses=[running(ready=False)],
        )
    )
    assert (found.phase, found.ready) == (TaskPhase.RUNNING, False)


PULL = 'Back-off pulling image "registry/digits:1": ErrImagePull: not found'
NO_ROOM = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."


@pytest.mark.parametrize(
    "document, reason, message, scheduled",
    [
        pytest.param(pod(node=None, phase="Pending"), "", "", False, id="just created"),
        pytest.param(
            pod(
                node=None,
                phase="Pending",
                conditions=[condition("PodScheduled", "False", "Unschedulable", NO_ROOM)],
            ),
            "Unschedulable",
            NO_ROOM,
            False,
            id="no node",
        ),
        pytest.param(
            pod(
                node=None,
                phase="Pending",
                conditions=[
                    condition(
                        "PodScheduled",
                        "False",
                        "SchedulingGated",
                        "Scheduling is blocked due to non-empty scheduling gates",
                    )
                ],
            ),
            "SchedulingGated",
            "Scheduling is blocked due to non-empty scheduling gates",
            False,
            id="gate",
        ),
        pytest.param(
            pod(phase="Pending", conditions=[condition("PodScheduled", "True")]),
            "",
            "",
            True,
            id="a node, and no word from its kubelet",
        ),
        pytest.param(
            pod(
                phase="Pending",
                conditions=documents.ready("False", "ContainersNotReady"),
                containerStatuses=[waiting("ContainerCreating")],
            ),
            "",
            "",
            True,
            id="as every pod begins",
        ),
        *(
            pytest.param(
                pod(
                    phase="Pending",
                    conditions=documents.ready("False", "ContainersNotReady"),
                    containerStatuses=[waiting(reason, message)],
                ),
                reason,
                message,
                True,
                id=reason,
            )
            for reason, message in [
                ("ImagePullBackOff", PULL),
                ("ErrImagePull", "rpc error: code = NotFound"),
                ("InvalidImageName", "Failed to apply default image tag"),
                ("CreateContainerConfigError", 'secret "token" not found'),
                ("CreateContainerError", "context deadline exceeded"),
            ]
        ),
        pytest.param(
            pod(
                phase="Pending",
                inits=({"name": "fetch", "image": "nowhere/fetch"},),
                initContainerStatuses=[waiting("ImagePullBackOff", PULL, name="fetch")],
                containerStatuses=[waiting("PodInitializing")],
            ),
            "ImagePullBackOff",
            PULL,
            True,
            id="the image of an init container",
        ),
        pytest.param(
            pod(
                containers=("proxy", "trainer"),
                phase="Pending",
                containerStatuses=[running("proxy"), waiting("ErrImagePull", "no")],
            ),
            "ErrImagePull",
            "no",
            True,
            id="the sidecar runs, the trainer does not",
        ),
    ],
)
def test_a_pending_task_has_the_reason_for_its_wait(
    document: dict[str, Any], reason: str, message: str, scheduled: bool
) -> None:
    found = view(document)
    assert (found.phase, found.reason, found.message) == (TaskPhase.PENDING, reason, message)
    assert found.is_unscheduled is not scheduled


@pytest.mark.parametrize("code, phase", [(0, TaskPhase.SUCCEEDED), (1, TaskPhase.FAILED)])
def test_sidecars_are_not_waited_for(code: int, phase: TaskPhase) -> None:
    document = pod(
        containers=("logger", "trainer"),
        phase="Running",
        conditions=documents.ready("False", "ContainersNotReady"),
        containerStatuses=[running("logger"), terminated(code)],
    )
    assert (view(document).phase, view(document).exit_code) == (phase, code)
    assert view(document).state is InstanceState.SIDECARS_RUN
    document["metadata"] |= {"deletionTimestamp": LATER} | GRACE
    assert view(document).state is InstanceState.LEAVING


def test_a_sidecar_that_cannot_start_counts_as_running_after_the_task_has_ended() -> None:
    """A kubelet reports a pod as Pending until all of its containers have started."""
    document = pod(
        containers=("logger", "trainer"),
        phase="Pending",
        containerStatuses=[waiting("ImagePullBackOff", name="logger"), terminated(0)],
    )
    assert (view(document).phase, view(document).sidecars_run) == (TaskPhase.SUCCEEDED, True)


def test_init_sidecars_are_not_waited_for() -> None:
    document = pod(
        inits=({"name": "agent", "image": "i", "restartPolicy": "Always"},),
        phase="Running",
        initContainerStatuses=[running("agent")],
        containerStatuses=[terminated(0)],
    )
    assert view(document).phase is TaskPhase.SUCCEEDED


def test_a_sidecar_that_failed_does_not_make_the_task_fail() -> None:
    document = ended(
        terminated(1, name="logger"),
        terminated(0),
        containers=("logger", "trainer"),
        phase="Failed",
    )
    assert view(document).phase is TaskPhase.SUCCEEDED


def test_the_task_is_the_container_that_the_job_s_template_names() -> None:
    # Kubelets sort the statuses by name, and webhooks put sidecars before others.
    document = ended(
        terminated(1, name="a-sidecar"),
        terminated(0, name="main"),
        containers=("a-sidecar", "main"),
        phase="Failed",
    )
    assert view(document, trainer="main").exit_code == 0


def test_a_task_on_a_lost_node_has_failed() -> None:
    document = pod(
        phase="Running", conditions=documents.ready("False"), containerStatuses=[running()]
    )
    found = view(document, node_lost=True)
    assert (found.phase, found.reason, found.exit_code) == (TaskPhase.FAILED, "NodeLost", None)
    assert "n7" in found.message
    assert kind(found) is failure.FailureClass.INFRASTRUCTURE


@pytest.mark.parametrize("ready, since", [("False", FINISHED), ("True", None)])
@pytest.mark.parametrize("is_removed", [False, True])
def test_a_lost_node_is_silent_since_its_pods_are_not_ready(
    ready: str, since: datetime | None, is_removed: bool
) -> None:
    """The pods of a node that was removed may still be ready."""
    removed = condition("DisruptionTarget", "True", "DeletionByPodGC", at="2026-11-02T11:00:00Z")
    document = pod(
        phase="Failed" if is_removed else "Running",
        conditions=[condition("Ready", ready), *([removed] if is_removed else [])],
        containerStatuses=[running()],
    )
    found = view(document, node_lost=not is_removed)
    assert (found.reason, found.silent_since) == ("NodeLost", since)


def test_a_task_that_its_lost_node_never_started_has_failed() -> None:
    found = view(pod(phase="Pending"), node_lost=True)
    assert (found.phase, found.reason) == (TaskPhase.FAILED, "NodeLost")
    assert kind(found) is failure.FailureClass.INFRASTRUCTURE


def test_a_task_that_ended_before_its_node_was_lost_keeps_its_end() -> None:
    found = view(ended(terminated(0), phase="Succeeded"), node_lost=True)
    assert (found.phase, found.state) == (TaskPhase.SUCCEEDED, InstanceState.ENDED)


@pytest.mark.parametrize(
    "end, phase, code, reason",
    [
        pytest.param(terminated(0), TaskPhase.SUCCEEDED, 0, "Completed", id="success"),
        pytest.param(terminated(1), TaskPhase.FAILED, 1, "Error", id="an error of the program"),
        pytest.param(terminated(137, "OOMKilled"), TaskPhase.FAILED, 137, "OOMKilled", id="memory"),
        # The kubelet may have killed the task because the node was shut down.
        pytest.param(terminated(143), TaskPhase.FAILED, None, "NodeLost", id="SIGTERM"),
        pytest.param(terminated(137), TaskPhase.FAILED, None, "NodeLost", id="SIGKILL"),
        # The kubelet made up the exit code after a restart.
        pytest.param(
            terminated(137, "ContainerStatusUnknown"), TaskPhase.FAILED, None, "NodeLost", id="none"
        ),
    ],
)
@pytest.mark.parametrize("deleted", [False, True])
def test_the_end_of_a_task_counts_also_if_its_node_is_lost_before_the_pod_is_final(
    end: dict[str, Any], phase: TaskPhase, code: int | None, reason: str, deleted: bool
) -> None:
    """The pod is of no use any more, and only a forced deletion removes it."""
    metadata = GRACE | {"deletionTimestamp": "2026-11-02T10:30:00Z"} if deleted else {}
    document = pod(
        phase="Running",
        metadata=metadata,
        conditions=documents.ready("False", "ContainersNotReady"),
        containerStatuses=[end],
    )
    assert view(document).state is (InstanceState.STOPPING if deleted else InstanceState.ALIVE)
    found = view(document, node_lost=True)
    assert (found.phase, found.exit_code, found.reason) == (phase, code, reason)
    assert found.state is InstanceState.ON_LOST_NODE


@pytest.mark.parametrize(
    "document, expected",
    [
        pytest.param(
            pod(phase="Running", conditions=documents.ready("True"), containerStatuses=[running()]),
            False,
            id="ready",
        ),
        pytest.param(
            pod(
                phase="Running", conditions=documents.ready("False"), containerStatuses=[running()]
            ),
            True,
            id="not ready",
        ),
        pytest.param(
            pod(
                phase="Running",
                metadata=GRACE | {"deletionTimestamp": LATER},
                conditions=documents.ready("True"),
                containerStatuses=[running()],
            ),
            True,
            id="deleted and still present",
        ),
        pytest.param(pod(phase="Pending"), True, id="not started yet"),
        pytest.param(pod(node=None, phase="Pending"), False, id="on no node"),
        pytest.param(
            pod(
                containers=("logger", "trainer"),
                phase="Running",
                conditions=documents.ready("False", "ContainersNotReady"),
                containerStatuses=[running("logger"), terminated(0)],
            ),
            False,
            id="only its sidecar runs",
        ),
        pytest.param(
            pod(
                containers=("logger", "trainer"),
                phase="Running",
                metadata=GRACE | {"deletionTimestamp": LATER},
                conditions=documents.ready("False", "ContainersNotReady"),
                containerStatuses=[running("logger"), terminated(0)],
            ),
            True,
            id="only its sidecar runs, and it was asked to end",
        ),
        pytest.param(ended(terminated(1), phase="Failed"), False, id="ended"),
    ],
)
def test_only_pods_that_may_be_on_a_lost_node_are_doubtful(
    document: dict[str, Any], expected: bool
) -> None:
    assert pods.doubtful(cache.thin(document), trainer="trainer") is expected


def test_a_pod_whose_labels_name_no_task_has_no_view() -> None:
    with pytest.raises(ValueError, match="pod digits-worker-1 name no task"):
        view(pod(metadata={"labels": {}}))


def test_a_running_pod_without_container_statuses_is_not_ready() -> None:
    document = pod(phase="Running", conditions=documents.ready("False", "ContainersNotReady"))
    assert (view(document).phase, view(document).ready) == (TaskPhase.RUNNING, False)
