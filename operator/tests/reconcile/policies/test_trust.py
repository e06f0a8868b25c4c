"""Tables of the pods that a pass must read before it acts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.status import Phase, Status, TaskState, TaskStatus
from capstan_operator.reconcile.actions import Plan, StartTask, StopTask
from capstan_operator.reconcile.policies import trust

NOW = datetime(2026, 11, 2, 10, 10, tzinfo=UTC)
WORKER = TaskName.parse("worker-0")


def status(phase: Phase = Phase.RUNNING, **row: Any) -> Status:
    fields = {"state": TaskState.RUNNING, "uid": Uid("pod-1"), "attempt": 1} | row
    return Status(phase=phase, tasks=(TaskStatus(name=WORKER, **fields),))


RUNS = status()
STOP = StopTask(WORKER, Uid("pod-1"), 30, "the job is over")
AGAIN = status(attempt=2, uid=None, state=TaskState.BACK_OFF)


@pytest.mark.parametrize(
    "before, decided, expected",
    [
        pytest.param(RUNS, Plan(), set(), id="nothing is decided"),
        pytest.param(RUNS, Plan(status(step=3)), set(), id="nothing ends"),
        pytest.param(RUNS, Plan(AGAIN), {WORKER}, id="another attempt"),
        *(
            pytest.param(RUNS, Plan(status(state=state)), {WORKER}, id=f"it becomes {state}")
            for state in (TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED)
        ),
        pytest.param(
            status(state=TaskState.FAILED),
            Plan(status(state=TaskState.STOPPED)),
            set(),
            id="its end was counted before",
        ),
        pytest.param(
            status(Phase.SUSPENDED, state=TaskState.STOPPED),
            Plan(AGAIN),
            set(),
            id="the attempt after a suspension",
        ),
        pytest.param(
            Status(), Plan(status(state=TaskState.STOPPED)), set(), id="a row that is new"
        ),
        pytest.param(RUNS, Plan(actions=(STOP,)), set(), id="a stop in an unfinished job"),
        pytest.param(
            RUNS,
            Plan(status(Phase.SUCCEEDED), (STOP,)),
            {WORKER},
            id="a stop at the end of the job",
        ),
        pytest.param(
            status(Phase.FAILED), Plan(actions=(STOP,)), {WORKER}, id="a stop after the end"
        ),
        pytest.param(
            status(Phase.FAILED), Plan(actions=(StartTask(WORKER, 1, 1),)), set(), id="no stop"
        ),
    ],
)
def test_a_pod_is_read_before_its_end_is_counted_and_before_it_is_stopped_at_the_end(
    before: Status, decided: Plan, expected: set[TaskName]
) -> None:
    assert trust.unsure(before, decided, ended={}, refused=()) == expected


@pytest.mark.parametrize(
    "row_uid, ended, is_read",
    [
        ("pod-1", {}, True),
        ("pod-1", {WORKER: Uid("pod-1")}, False),
        ("pod-1", {WORKER: Uid("pod-of-an-earlier-attempt")}, True),
        (None, {WORKER: Uid("pod-1")}, False),
    ],
)
def test_a_pod_of_this_attempt_that_has_ended_is_not_read(
    row_uid: str | None, ended: dict[TaskName, Uid], is_read: bool
) -> None:
    before = status(uid=row_uid)
    assert trust.unsure(before, Plan(AGAIN), ended, refused=()) == ({WORKER} if is_read else set())


def test_a_start_that_was_refused_has_no_pod_to_read() -> None:
    assert trust.unsure(RUNS, Plan(AGAIN), ended={}, refused=[WORKER]) == set()


@pytest.mark.parametrize(
    "seconds, is_late, again", [(-30, False, 32), (0, False, 2), (1, False, 1), (2, True, 2),
                                (4, True, 4), (300, True, 300)],
)  # fmt: skip
def test_an_overdue_pod_is_read_again_with_growing_pauses(
    seconds: int, is_late: bool, again: float
) -> None:
    due = NOW - timedelta(seconds=seconds)
    assert (trust.is_late(due, NOW), trust.again_seconds(due, NOW)) == (is_late, again)


def test_only_a_deleted_pod_can_be_overdue() -> None:
    assert not trust.is_late(None, NOW)
