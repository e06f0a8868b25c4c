"""Table of the phase of a job, by the rows of its tasks."""

import pytest
from reconcile.world import task

from capstan_operator.api.status import Phase, TaskState, TaskStatus
from capstan_operator.reconcile.policies import phase

STATES = {
    ".": TaskState.PENDING,
    "s": TaskState.STARTING,
    "R": TaskState.RUNNING,
    "t": TaskState.STOPPING,
    "b": TaskState.BACK_OFF,
    "c": TaskState.CREATE_FAILED,
    "S": TaskState.SUCCEEDED,
    "F": TaskState.FAILED,
}


@pytest.mark.parametrize(
    "first, states, expected",
    [
        # the attempt of all three tasks, and the states of ps-0, worker-0 and worker-1
        (1, "...", Phase.PENDING),
        (1, "s..", Phase.STARTING),
        (1, "R..", Phase.STARTING),
        (1, "RR.", Phase.STARTING),
        (1, "RRs", Phase.STARTING),
        (1, "RRR", Phase.RUNNING),
        (1, "RRS", Phase.RUNNING),
        (1, "SRR", Phase.RUNNING),
        (1, "RRF", Phase.RUNNING),
        (2, "RRR", Phase.RUNNING),
        (1, "bRR", Phase.DEGRADED),
        (2, "cRR", Phase.DEGRADED),
        (1, "cRR", Phase.STARTING),
        (1, "ccc", Phase.PENDING),
        (1, "tRR", Phase.DEGRADED),
        (1, "RRb", Phase.DEGRADED),
        (2, ".RR", Phase.DEGRADED),
        (2, "RsR", Phase.DEGRADED),
        (1, "Rbb", Phase.RESTARTING),
        (2, "R..", Phase.RESTARTING),
        (2, "...", Phase.RESTARTING),
        (1, "bbb", Phase.RESTARTING),
        (1, "bSs", Phase.RESTARTING),
    ],
)
def test_the_phase_follows_from_the_rows(first: int, states: str, expected: Phase) -> None:
    names = ("ps-0", "worker-0", "worker-1")
    rows = [
        TaskStatus(name=task(name), state=STATES[letter], attempt=first)
        for name, letter in zip(names, states, strict=True)
    ]
    assert phase.phase(rows) is expected


def test_the_job_is_restarting_only_while_a_task_restarts() -> None:
    rows = [
        TaskStatus(name=task("worker-0"), state=TaskState.RUNNING, attempt=3),
        TaskStatus(name=task("worker-1"), state=TaskState.PENDING, attempt=1),
    ]
    assert phase.phase(rows) is Phase.STARTING


def test_a_task_whose_starts_were_all_refused_is_not_restarting() -> None:
    row = TaskStatus(name=task("ps-0"), state=TaskState.CREATE_FAILED, attempt=4, refused=3)
    assert phase.phase([row]) is Phase.PENDING
    again = row.model_copy(update={"refused": 2})
    assert phase.phase([again]) is Phase.RESTARTING
