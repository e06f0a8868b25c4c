"""Table of the states of an instance, by its phase and its deletion."""

import pytest
from reconcile.world import view

from capstan_operator.reconcile.observe import Deletion, InstanceState, TaskPhase

PENDING, RUNNING = TaskPhase.PENDING, TaskPhase.RUNNING
SUCCEEDED, FAILED = TaskPhase.SUCCEEDED, TaskPhase.FAILED
NO, BEFORE, AFTER = Deletion.NOT_REQUESTED, Deletion.BEFORE_END, Deletion.AFTER_END
WITH_ITS_JOB = Deletion.WITH_ITS_JOB


@pytest.mark.parametrize(
    "phase, reason, deletion, sidecars_run, state",
    [
        (PENDING, "", NO, False, InstanceState.ALIVE),
        (RUNNING, "", NO, False, InstanceState.ALIVE),
        (RUNNING, "NodeLost", NO, False, InstanceState.ALIVE),
        (PENDING, "", BEFORE, False, InstanceState.STOPPING),
        (RUNNING, "", BEFORE, False, InstanceState.STOPPING),
        (SUCCEEDED, "", NO, False, InstanceState.ENDED),
        (FAILED, "Evicted", NO, False, InstanceState.ENDED),
        (SUCCEEDED, "", NO, True, InstanceState.SIDECARS_RUN),
        (FAILED, "", NO, True, InstanceState.SIDECARS_RUN),
        (SUCCEEDED, "", AFTER, True, InstanceState.LEAVING),
        (FAILED, "", AFTER, False, InstanceState.LEAVING),
        (FAILED, "", BEFORE, False, InstanceState.LEAVING),
        (FAILED, "NodeLost", NO, False, InstanceState.ON_LOST_NODE),
        (FAILED, "NodeLost", NO, True, InstanceState.ON_LOST_NODE),
        (FAILED, "NodeLost", BEFORE, False, InstanceState.ON_LOST_NODE),
        (FAILED, "NodeLost", WITH_ITS_JOB, False, InstanceState.OF_DELETED_JOB),
        *((phase, "", WITH_ITS_JOB, False, InstanceState.OF_DELETED_JOB) for phase in TaskPhase),
    ],
)
def test_the_state_of_an_instance_follows_from_its_phase_and_its_deletion(
    phase: TaskPhase, reason: str, deletion: Deletion, sidecars_run: bool, state: InstanceState
) -> None:
    found = view("ps-0", phase, reason=reason, deletion=deletion, sidecars_run=sidecars_run)
    assert found.state is state


@pytest.mark.parametrize("phase", [SUCCEEDED, FAILED])
@pytest.mark.parametrize("deletion", [NO, BEFORE, AFTER])
def test_an_ended_task_may_have_left_its_instance_on_a_lost_node(
    phase: TaskPhase, deletion: Deletion
) -> None:
    found = view("ps-0", phase, deletion=deletion, on_lost_node=True)
    assert found.state is InstanceState.ON_LOST_NODE


@pytest.mark.parametrize(
    "pod, node, unscheduled",
    [("", "", False), ("digits-ps-0", "", True), ("digits-ps-0", "n1", False)],
)
def test_only_a_pod_without_a_node_is_unscheduled(pod: str, node: str, unscheduled: bool) -> None:
    assert view("ps-0", pod=pod, node=node).is_unscheduled is unscheduled
