"""Table of the tasks that start together."""

from typing import Any

import pytest
from reconcile.world import World, make_job

from capstan_operator.api.names import Uid
from capstan_operator.api.status import Status, TaskState, TaskStatus
from capstan_operator.reconcile.actions import StartTask, StopReason, StopTask
from capstan_operator.reconcile.policies import gang

STATES = {
    ".": TaskState.PENDING,
    "b": TaskState.BACK_OFF,
    "c": TaskState.CREATE_FAILED,
    "s": TaskState.STARTING,
    "r": TaskState.RUNNING,
    "t": TaskState.STOPPING,
    "+": TaskState.SUCCEEDED,
    "-": TaskState.FAILED,
    "0": TaskState.STOPPED,
}
ELASTIC = {"worker": {"minReplicas": 1}}
WIDE = {"worker": {"minReplicas": 3}}


@pytest.mark.parametrize(
    "states, spec, size",
    [
        ("...", {}, 3),
        (".bc", {}, 3),
        ("..+", {}, 2),
        (".-+", {}, None),
        ("..r", {}, None),
        ("..s", {}, None),
        ("..t", {}, None),
        ("000", {}, None),
        ("...", {"each": ELASTIC}, 2),
        ("+..", {"each": ELASTIC}, None),
        ("...", {"each": WIDE, "workers": 3}, 3),
        ("...", {"scheduling": {"gang": "None"}}, None),
        ("...", {"scheduling": {"gang": "Volcano"}}, 3),
        ("...", {"scheduling": {"queueName": "q"}}, None),
        ("...", {"scheduling": {"queueName": "q", "gang": "Native"}}, 3),
    ],
)
def test_the_tasks_that_are_to_come_start_together_while_none_runs(
    states: str, spec: dict[str, Any], size: int | None
) -> None:
    job = make_job(**spec)
    rows = [
        TaskStatus(name=name, state=STATES[state])
        for name, state in zip(job.tasks(), states, strict=False)
    ]
    assert gang.size(job, Status(tasks=tuple(rows))) == size


@pytest.mark.parametrize(
    "states, starting, size, start",
    [
        ("...", "012", 3, True),
        ("...", "2", 3, False),
        ("p..", "12", 3, True),
        ("p..", "2", 3, False),
        ("ppc", "", 3, False),
        ("ppc", "2", 3, True),
        ("...", "01", 2, True),
        ("...", "1", 2, False),
    ],
)
def test_the_tasks_of_a_gang_start_in_one_pass(
    states: str, starting: str, size: int, start: bool
) -> None:
    names = make_job().tasks()
    rows = [
        TaskStatus(name=name, state=STATES.get(state, TaskState.PENDING), uid=Uid("u"))
        if state == "p"
        else TaskStatus(name=name, state=STATES[state])
        for name, state in zip(names, states, strict=True)
    ]
    stop = StopTask(names[0], Uid("old"), 0, StopReason.REPLACED)
    starts = [StartTask(names[int(at)], attempt=2, epoch=2) for at in starting]
    found = gang.together([stop, *starts], Status(tasks=tuple(rows)), size)
    assert found == ((stop, *starts) if start else (stop,))


def test_a_job_without_rows_has_no_gang() -> None:
    assert gang.size(make_job(), Status()) is None


def test_a_job_is_a_gang_until_its_first_task_runs_and_when_all_its_tasks_restart() -> None:
    each = {"worker": {"onFailure": "RestartJob"}}
    world = World(make_job(each=each, run={"restartBackoff": {"initialSeconds": 0}}))
    decided = world.decide()
    assert decided.status is not None
    assert gang.size(world.job, decided.status) == 3
    world.settle()
    assert gang.size(world.job, world.status) is None
    world.fail("worker-1")
    world.tick()
    assert gang.size(world.job, world.status) == 3
