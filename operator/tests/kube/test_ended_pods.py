"""Views of tasks whose pods have ended or are about to end: each end has a reason and a class."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from kube import documents
from kube.documents import ENDED, condition, ended, pod, running, terminated, view, waiting

from capstan_operator.kube import pod_fields
from capstan_operator.reconcile.observe import Deletion, InstanceState, TaskPhase, TaskView
from capstan_operator.reconcile.policies import failure

BEFORE, LATER = "2026-11-02T10:07:00Z", "2026-11-02T10:08:00Z"
GRACE = {"deletionGracePeriodSeconds": 30}


def kind(task: TaskView) -> failure.FailureClass | None:
    failed = failure.judge(task, may_end=True)
    return None if failed is None else failed.kind


TOO_LONG = "Pod was active on the node longer than the specified deadline"
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
            ended(terminated(0), phase="Failed", reason="DeadlineExceeded", message=TOO_LONG),
            0,
            "DeadlineExceeded",
            TOO_LONG,
            failure.FailureClass.RETRYABLE,
            id="the template's own deadline, and the trainer heeds SIGTERM",
        ),
        pytest.param(
            ended(terminated(1), phase="Failed", reason="DeadlineExceeded", message=TOO_LONG),
            1,
            "DeadlineExceeded",
            TOO_LONG,
            failure.FailureClass.RETRYABLE,
            id="the template's own deadline, and the trainer fails at SIGTERM",
        ),
        pytest.param(
            ended(phase="Failed", reason="DeadlineExceeded", message=TOO_LONG),
            None,
            "DeadlineExceeded",
            TOO_LONG,
            failure.FailureClass.RETRYABLE,
            id="the template's own deadline before the trainer began",
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


BEHIND = {"startTime": "2026-11-02T09:57:00Z"}
"""The kubelet acknowledged the pod three minutes before it was created: its clock is behind."""


@pytest.mark.parametrize(
    "behind, deleting", [(BEHIND, True), ({"startTime": documents.STARTED}, False), ({}, False)]
)
def test_a_drained_task_has_not_succeeded_by_the_clock_of_a_node_that_is_behind(
    behind: Any, deleting: bool
) -> None:
    drained = view(
        ended(
            terminated(0),
            phase="Succeeded",
            metadata=GRACE | {"deletionTimestamp": "2026-11-02T10:10:00Z"},
            **behind,
        )
    )
    assert (drained.deletion is Deletion.BEFORE_END) is deleting
    target = condition("DisruptionTarget", "True", "EvictionByEvictionAPI", "drain", LATER)
    evicted = view(ended(terminated(0), phase="Succeeded", conditions=[target], **behind))
    judged = failure.FailureClass.INFRASTRUCTURE if deleting else None
    assert (kind(drained), kind(evicted)) == (judged, judged)


def test_the_lag_of_a_clock_is_measured_from_the_moment_at_which_a_pod_got_its_node() -> None:
    """The pod waited two minutes for a node. The clock of the node is a minute behind."""
    bound = condition("PodScheduled", "True", at="2026-11-02T10:02:00Z")
    document = documents.pod(conditions=[bound], startTime="2026-11-02T10:01:00Z")
    assert pod_fields.clock_lag(document) == timedelta(minutes=1)


def test_the_times_of_a_task_are_those_of_the_clock_of_the_api_server() -> None:
    """The clock of the node is three minutes behind."""
    found = view(ended(terminated(1), phase="Failed", **BEHIND))
    lag = timedelta(minutes=3)
    assert found.started_at == datetime.fromisoformat(documents.STARTED) + lag
    assert found.finished_at == datetime.fromisoformat(ENDED) + lag
    begun = documents.pod(phase="Running", containerStatuses=[running()], **BEHIND)
    assert view(begun).started_at == datetime.fromisoformat(documents.STARTED) + lag


@pytest.mark.parametrize(
    "state, deleting",
    [(terminated(143), True), (terminated(137), True), (terminated(1), False),
     (terminated(0), False), (terminated(137, reason="OOMKilled"), False)],
)  # fmt: skip
def test_an_end_by_a_signal_of_the_kubelet_counts_as_a_deletion(state: Any, deleting: bool) -> None:
    metadata = {"deletionTimestamp": "2026-11-02T10:07:40Z", "deletionGracePeriodSeconds": 0}
    found = view(ended(state, phase="Failed", metadata=metadata))
    assert (found.deletion is Deletion.BEFORE_END) is deleting


@pytest.mark.parametrize(
    "state, requested_plus_grace, deleting",
    [
        pytest.param(terminated(143), "2026-11-02T10:08:01Z", True, id="SIGTERM, a second before"),
        pytest.param(terminated(137), "2026-11-02T10:08:02Z", True, id="SIGKILL, two seconds"),
        pytest.param(terminated(143), "2026-11-02T10:08:03Z", False, id="SIGTERM, three seconds"),
        pytest.param(terminated(1), "2026-11-02T10:08:01Z", False, id="an exit, a second before"),
    ],
)
def test_clocks_may_show_the_signal_of_a_deletion_a_little_before_its_request(
    state: Any, requested_plus_grace: str, deleting: bool
) -> None:
    metadata = GRACE | {"deletionTimestamp": requested_plus_grace}
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


@pytest.mark.parametrize(
    ("seconds", "code", "phase", "reason"),
    [
        (451, 0, TaskPhase.SUCCEEDED, "Completed"),
        (451, 1, TaskPhase.FAILED, "Error"),
        (449, 0, TaskPhase.FAILED, "DeadlineExceeded"),
    ],
)
def test_a_task_that_ended_before_the_deadline_of_its_template_has_ended_by_itself(
    seconds: int, code: int, phase: TaskPhase, reason: str
) -> None:
    """The sidecar ran on until the deadline, and the operator sees the pod only then."""
    sidecar = terminated(137, name="proxy", at=LATER)
    found = ended(
        terminated(code),
        sidecar,
        phase="Failed",
        reason="DeadlineExceeded",
        message=TOO_LONG,
        startTime="2026-11-02T10:00:00Z",
    )
    found["spec"]["activeDeadlineSeconds"] = seconds
    shown = view(found)
    assert (shown.phase, shown.exit_code, shown.reason) == (phase, code, reason)
    assert (shown.message == TOO_LONG) == (reason == "DeadlineExceeded")
