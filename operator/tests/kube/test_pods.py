"""Views of tasks from pods in all states that clusters produce."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from kube import documents
from kube.documents import ENDED, condition, pod, running, terminated, waiting

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.kube import cache, pods
from capstan_operator.reconcile.observe import Deletion, InstanceState, TaskPhase, TaskView
from capstan_operator.reconcile.policies import failure

BEFORE, LATER = "2026-11-02T10:07:00Z", "2026-11-02T10:08:00Z"
GRACE = {"deletionGracePeriodSeconds": 30}


def view(
    document: dict[str, Any], *, trainer: str = "trainer", node_lost: bool = False
) -> TaskView:
    """Return the view of the part of a pod that the cache keeps, as the controller sees it."""
    return pods.view(cache.thin(document), trainer=trainer, node_lost=node_lost)


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


def ended(*statuses: dict[str, Any], phase: str, **more: Any) -> dict[str, Any]:
    """Return an ended pod. `conditions` are added to the usual conditions."""
    usual = documents.ready("False", "PodFailed" if phase == "Failed" else "PodCompleted")
    return pod(
        phase=phase,
        conditions=usual + more.pop("conditions", []),
        containerStatuses=list(statuses),
        **more,
    )


SHUTDOWN = "Pod was terminated in response to imminent node shutdown."
LOW = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 64Mi."


@pytest.mark.parametrize(
    "document, code, reason, message, judged",
    [
        pytest.param(
            ended(terminated(0), phase="Succeeded"), 0, "Completed", "", None, id="success"
        ),
        pytest.param(
            ended(terminated(1, message="Traceback:\nValueError: no"), phase="Failed"),
            1,
            "Error",
            "Traceback:\nValueError: no",
            failure.FailureClass.PERMANENT,
            id="exit code 1 and the last words",
        ),
        pytest.param(
            ended(terminated(137, "OOMKilled"), phase="Failed"),
            137,
            "OOMKilled",
            "",
            failure.FailureClass.RETRYABLE,
            id="out of memory",
        ),
        pytest.param(
            ended(terminated(137), phase="Failed"),
            137,
            "Error",
            "",
            failure.FailureClass.RETRYABLE,
            id="killed",
        ),
        pytest.param(
            ended(terminated(128, "StartError", "exec: no such file"), phase="Failed"),
            128,
            "StartError",
            "exec: no such file",
            failure.FailureClass.PERMANENT,
            id="its command does not exist",
        ),
        pytest.param(
            ended(
                terminated(143),
                phase="Failed",
                reason="DeadlineExceeded",
                message="Pod was active on the node longer than the specified deadline",
            ),
            143,
            "DeadlineExceeded",
            "Pod was active on the node longer than the specified deadline",
            failure.FailureClass.RETRYABLE,
            id="the template's own deadline",
        ),
        pytest.param(
            ended(
                terminated(137),
                phase="Failed",
                reason="Evicted",
                message=LOW,
                conditions=[
                    condition("DisruptionTarget", "True", "TerminationByKubelet", LOW, LATER)
                ],
            ),
            137,
            "Evicted",
            LOW,
            failure.FailureClass.INFRASTRUCTURE,
            id="evicted: the kubelet dates that after the end of the container",
        ),
        pytest.param(
            ended(
                terminated(0),
                phase="Failed",
                reason="Terminated",
                message=SHUTDOWN,
                conditions=[
                    condition("DisruptionTarget", "True", "TerminationByKubelet", SHUTDOWN, LATER)
                ],
            ),
            0,
            "Terminated",
            SHUTDOWN,
            failure.FailureClass.INFRASTRUCTURE,
            id="the node shuts down, and the trainer heeds SIGTERM",
        ),
        pytest.param(
            ended(
                terminated(143),
                phase="Failed",
                conditions=[
                    condition("DisruptionTarget", "True", "TerminationByKubelet", LOW, LATER)
                ],
            ),
            143,
            "DisruptionTarget",
            f"TerminationByKubelet: {LOW}",
            failure.FailureClass.INFRASTRUCTURE,
            id="a kubelet that says no more than the condition",
        ),
        pytest.param(
            ended(
                terminated(143),
                phase="Failed",
                conditions=[
                    condition("DisruptionTarget", "True", "EvictionByEvictionAPI", "bye", ENDED)
                ],
            ),
            143,
            "DisruptionTarget",
            "EvictionByEvictionAPI: bye",
            failure.FailureClass.INFRASTRUCTURE,
            id="within the second of the eviction",
        ),
        pytest.param(
            ended(
                terminated(1),
                phase="Failed",
                conditions=[condition("DisruptionTarget", "False", "", "", BEFORE)],
            ),
            1,
            "Error",
            "",
            failure.FailureClass.PERMANENT,
            id="a preemption that was called off",
        ),
        pytest.param(
            ended(
                phase="Failed",
                reason="Preempting",
                message="Preempted in order to admit critical pod",
            ),
            None,
            "Preempting",
            "Preempted in order to admit critical pod",
            failure.FailureClass.INFRASTRUCTURE,
            id="a critical pod needed the room",
        ),
        pytest.param(
            ended(
                terminated(143),
                phase="Failed",
                conditions=[
                    condition(
                        "DisruptionTarget",
                        "True",
                        "PreemptionByScheduler",
                        "default-scheduler: preempting to accommodate a higher priority pod",
                        BEFORE,
                    )
                ],
            ),
            143,
            "DisruptionTarget",
            "PreemptionByScheduler: default-scheduler: preempting to accommodate a higher "
            "priority pod",
            failure.FailureClass.INFRASTRUCTURE,
            id="preempted",
        ),
        pytest.param(
            ended(
                running(),
                phase="Failed",
                conditions=[
                    condition(
                        "DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node is gone", LATER
                    )
                ],
            ),
            None,
            "NodeLost",
            "DeletionByPodGC: PodGC: node is gone",
            failure.FailureClass.INFRASTRUCTURE,
            id="its node was removed after the last report of the kubelet",
        ),
        pytest.param(
            ended(
                phase="Failed",
                reason="UnexpectedAdmissionError",
                message="Allocate failed due to no healthy devices",
            ),
            None,
            "UnexpectedAdmissionError",
            "Allocate failed due to no healthy devices",
            failure.FailureClass.INFRASTRUCTURE,
            id="the kubelet did not admit it",
        ),
        pytest.param(
            ended(terminated(137, "ContainerStatusUnknown", "gone", at=None), phase="Failed"),
            None,
            "ContainerStatusUnknown",
            "gone",
            failure.FailureClass.INFRASTRUCTURE,
            id="the end was not observed: the 137 of the kubelet does not count",
        ),
        pytest.param(
            ended(terminated(255, "Unknown"), phase="Failed"),
            None,
            "Unknown",
            "",
            failure.FailureClass.INFRASTRUCTURE,
            id="the machine restarted: containerd's 255 is none",
        ),
        pytest.param(
            ended(
                waiting("PodInitializing"),
                phase="Failed",
                inits=(
                    {"name": "agent", "image": "i", "restartPolicy": "Always"},
                    {"name": "prepare", "image": "i"},
                    {"name": "fetch", "image": "i"},
                ),
                initContainerStatuses=[
                    terminated(143, name="agent"),
                    terminated(0, name="prepare"),
                    terminated(3, message="no such bucket", name="fetch"),
                ],
            ),
            3,
            "InitContainerFailed",
            "init container fetch: no such bucket",
            failure.FailureClass.PERMANENT,
            id="init container",
        ),
        pytest.param(
            ended(
                terminated(0),
                phase="Succeeded",
                inits=({"name": "agent", "image": "i", "restartPolicy": "Always"},),
                initContainerStatuses=[terminated(143, name="agent")],
            ),
            0,
            "Completed",
            "",
            None,
            id="a sidecar among the init containers is asked to stop at the end",
        ),
        pytest.param(
            ended(
                waiting("PodInitializing"),
                phase="Failed",
                inits=({"name": "fetch", "image": "i"},),
                initContainerStatuses=[terminated(137, name="fetch")],
                reason="Evicted",
                message=LOW,
            ),
            None,
            "Evicted",
            LOW,
            failure.FailureClass.INFRASTRUCTURE,
            id="evicted while an init container ran",
        ),
    ],
)
def test_an_end_has_its_reason_and_its_class(
    document: dict[str, Any],
    code: int | None,
    reason: str,
    message: str,
    judged: failure.FailureClass | None,
) -> None:
    found = view(document)
    assert found.has_ended
    assert (found.exit_code, found.reason, found.message) == (code, reason, message)
    assert kind(found) is judged


def test_an_ended_task_has_its_start_and_end_times() -> None:
    found = view(ended(terminated(1), phase="Failed"))
    assert found.started_at == datetime(2026, 11, 2, 10, 0, 5, tzinfo=UTC)
    assert found.finished_at == datetime(2026, 11, 2, 10, 7, 30, tzinfo=UTC)


def test_the_zero_time_of_go_is_none() -> None:
    found = view(ended(terminated(1, at="0001-01-01T00:00:00Z"), phase="Failed"))
    assert found.finished_at is None


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


def test_an_exit_code_counts_only_after_the_kubelet_has_reported_the_final_phase() -> None:
    document = pod(
        phase="Running",
        conditions=documents.ready("False", "ContainersNotReady"),
        containerStatuses=[terminated(0)],
    )
    assert (view(document).phase, view(document).ready) == (TaskPhase.RUNNING, True)


@pytest.mark.parametrize(
    "requested_plus_grace, deleting",
    [
        pytest.param("2026-11-02T10:08:01Z", False, id="asked for a second after the end"),
        pytest.param("2026-11-02T10:08:00Z", True, id="asked for in the second of the end"),
        pytest.param("2026-11-02T10:07:45Z", True, id="asked for before the end"),
    ],
)
def test_an_exit_code_counts_only_if_the_task_ended_before_its_deletion_was_requested(
    requested_plus_grace: str, deleting: bool
) -> None:
    metadata = GRACE | {"deletionTimestamp": requested_plus_grace}
    found = view(ended(terminated(0), phase="Succeeded", metadata=metadata))
    assert (found.deletion is Deletion.BEFORE_END) is deleting
    assert kind(found) is (failure.FailureClass.INFRASTRUCTURE if deleting else None)


@pytest.mark.parametrize(
    "state, deleting",
    [(terminated(143), True), (terminated(137), True), (terminated(1), False),
     (terminated(0), False), (terminated(137, reason="OOMKilled"), False)],
)  # fmt: skip
def test_an_end_by_a_signal_of_the_kubelet_counts_as_a_deletion(state: Any, deleting: bool) -> None:
    metadata = {"deletionTimestamp": "2026-11-02T10:07:40Z", "deletionGracePeriodSeconds": 0}
    found = view(ended(state, phase="Failed", metadata=metadata))
    assert (found.deletion is Deletion.BEFORE_END) is deleting


def test_a_trainer_that_ended_before_its_preemption_is_judged_by_its_exit_code() -> None:
    target = condition("DisruptionTarget", "True", "PreemptionByScheduler", "room", LATER)
    found = view(
        ended(
            running("logger"),
            terminated(0),
            containers=("logger", "trainer"),
            phase="Running",
            conditions=[target],
        )
    )
    assert kind(found) is None


def test_a_pod_that_is_to_be_preempted_runs_until_it_ends() -> None:
    target = condition("DisruptionTarget", "True", "PreemptionByScheduler", "room", LATER)
    metadata = GRACE | {"deletionTimestamp": "2026-11-02T10:08:30Z"}
    document = pod(
        metadata=metadata,
        phase="Running",
        conditions=[*documents.ready("True"), target],
        containerStatuses=[running()],
    )
    found = view(document)
    assert (found.phase, found.state) == (TaskPhase.RUNNING, InstanceState.STOPPING)


def test_a_task_on_a_lost_node_has_failed() -> None:
    document = pod(
        phase="Running", conditions=documents.ready("False"), containerStatuses=[running()]
    )
    found = view(document, node_lost=True)
    assert (found.phase, found.reason, found.exit_code) == (TaskPhase.FAILED, "NodeLost", None)
    assert "n7" in found.message
    assert kind(found) is failure.FailureClass.INFRASTRUCTURE


def test_a_task_that_its_lost_node_never_started_has_failed() -> None:
    found = view(pod(phase="Pending"), node_lost=True)
    assert (found.phase, found.reason) == (TaskPhase.FAILED, "NodeLost")
    assert kind(found) is failure.FailureClass.INFRASTRUCTURE


def test_a_task_that_ended_before_its_node_was_lost_keeps_its_end() -> None:
    found = view(ended(terminated(0), phase="Succeeded"), node_lost=True)
    assert found.phase is TaskPhase.SUCCEEDED


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


WHOLE_PODS = [
    pod(
        containers=("proxy", "trainer"),
        inits=({"name": "agent", "image": "i", "restartPolicy": "Always"},),
        metadata=GRACE | {"deletionTimestamp": LATER},
        phase=phase,
        reason="Evicted",
        message="The node was low on resource: memory.",
        conditions=[
            *documents.ready("False", "ContainersNotReady"),
            condition("DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node is gone", LATER),
        ],
        initContainerStatuses=[running("agent")],
        containerStatuses=[waiting("ErrImagePull", "no", name="proxy"), trainer],
    )
    for phase in ("Pending", "Running", "Unknown", "Succeeded", "Failed")
    for trainer in (running(), waiting("ImagePullBackOff"), terminated(0), terminated(143))
]
REQUIRED = {"name", "namespace", "uid", "resourceVersion", "type", "labels"}
"""Fields that Kubernetes never leaves out of an object. The labels name the task."""

Path = tuple[Any, ...]
"""Keys and indices that lead to a field."""


def optional_fields(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield every field below `value` that Kubernetes may leave out."""
    keys = (
        range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
    )
    for key in keys:
        if key == "labels":
            continue
        if isinstance(value, dict) and key not in REQUIRED and (*path, key) != ("metadata",):
            yield (*path, key)
        yield from optional_fields(value[key], (*path, key))


def without(full_pod: dict[str, Any], fields: Mapping[Path, str]) -> dict[str, Any]:
    """Return a copy of a pod in which these fields are "absent" or "null"."""
    pod = json.loads(json.dumps(full_pod))  # much faster than copy.deepcopy
    # Remove the longest paths first, so that a field is removed before its object.
    for path in sorted(fields, key=len, reverse=True):
        *parents, last = path
        holder: Any = pod
        for key in parents:
            holder = holder[key]
        if fields[path] == "absent":
            del holder[last]
        else:
            holder[last] = None
    return pod


@st.composite
def partial_pods(draw: st.DrawFn) -> dict[str, Any]:
    """Return a pod that lacks some of its optional fields."""
    full_pod = draw(st.sampled_from(WHOLE_PODS))
    missing = st.sampled_from([*optional_fields(full_pod)])
    how = st.sampled_from(["absent", "null"])
    return without(full_pod, draw(st.dictionaries(missing, how, max_size=8)))


def assert_viewed(document: dict[str, Any]) -> None:
    """Assert that the view of a pod has the name and uid of the pod, also if its node is lost."""
    thinned = cache.thin(document)
    for node_lost in (False, True):
        found = pods.view(thinned, trainer="trainer", node_lost=node_lost)
        assert (found.pod, found.uid) == (document["metadata"]["name"], document["metadata"]["uid"])
        assert found.phase in TaskPhase
    assert pods.doubtful(thinned, trainer="trainer") in (True, False)


@pytest.mark.e2e
@pytest.mark.parametrize("how", ["absent", "null"])
def test_every_optional_field_may_be_missing(how: str) -> None:
    for full_pod in WHOLE_PODS:
        for path in optional_fields(full_pod):
            assert_viewed(without(full_pod, {path: how}))


@pytest.mark.e2e
@given(partial_pods())
def test_any_combination_of_optional_fields_may_be_missing(document: dict[str, Any]) -> None:
    assert_viewed(document)
