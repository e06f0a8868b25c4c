"""Table of the failures that are alike, and the hint that a program fails at each start."""

from datetime import timedelta
from typing import Any

import pytest
from reconcile.world import START, World, make_job, task

from capstan_operator.api.names import Uid
from capstan_operator.api.status import Phase, Progress, Status, TaskState, TaskStatus
from capstan_operator.reconcile.policies import alike
from capstan_operator.reconcile.policies.failure import Failure, FailureClass, kept

LOG = "Traceback (most recent call last):\n  File ...\nModuleNotFoundError: No module named 'tf'\n"
LONG = f"InvalidArgumentError: {'no such node ' * 200}"
BEGAN = START - timedelta(seconds=30)
BEFORE: dict[str, Any] = {"exit_code": 1, "reason": "Error", "message": LOG, "failures_alike": 2}


def counted(
    failed: dict[str, Any] | None = None,
    before: dict[str, Any] | None = None,
    *,
    ran: timedelta = timedelta(seconds=30),
    stepped: timedelta | None = None,
) -> int:
    row = TaskStatus(
        name=task("worker-0"),
        failures_in_a_row=2,
        started_at=BEGAN,
        **(BEFORE | (before or {})),
    )
    progress = None if stepped is None else Progress(step=7, advanced_at=BEGAN + stepped)
    given = {"kind": FailureClass.PERMANENT, "exit_code": 1, "reason": "Error", "message": LOG}
    fields = given | (failed or {})
    failure = Failure(task=row.name, attempt=3, at=BEGAN + ran, **fields)
    status = Status(tasks=(row,), progress=progress)
    return alike.count(make_job(), status, row, failure, START)


@pytest.mark.parametrize(
    ("failed", "before", "after"),
    [
        ({}, {}, 3),
        ({}, {"failures_alike": 0}, 1),
        ({}, {"message": "ValueError: x"}, 1),
        ({}, {"exit_code": 2}, 1),
        ({"message": "OSError: port 4711"}, {"message": "OSError: port 51234"}, 3),
        ({"message": "<f at 0x7f3a>"}, {"message": "<f at 0x8b>"}, 3),
        ({"message": LONG}, {"message": kept(LONG)}, 3),
        ({"kind": FailureClass.INFRASTRUCTURE}, {}, 0),
        ({"kind": FailureClass.RETRYABLE, "exit_code": 143}, {}, 0),
        ({"kind": FailureClass.CREATE_FAILED, "reason": "CreateFailed"}, {}, 0),
        ({"reason": "InitContainerFailed"}, {}, 0),
        ({"reason": "StartError", "exit_code": 128}, {}, 0),
    ],
)
def test_failures_with_the_same_exit_code_and_last_line_are_alike(
    failed: dict[str, Any], before: dict[str, Any], after: int
) -> None:
    assert counted(failed, before) == after


def test_a_failure_after_a_long_run_is_the_first_one() -> None:
    assert counted(ran=timedelta(hours=1)) == 1


@pytest.mark.parametrize(("stepped", "after"), [(-1, 3), (0, 0), (1, 0)])
def test_a_failure_after_a_step_of_the_attempt_does_not_count(stepped: int, after: int) -> None:
    assert counted(stepped=timedelta(seconds=stepped)) == after


def test_a_program_that_fails_at_each_start_is_named_as_the_likely_cause() -> None:
    world = World(make_job(run={"backoffLimit": 3}), pods=True).settle()
    told: list[str] = []
    while world.status.phase is not Phase.FAILED:
        if told:
            world.wait_for_retry()
        world.fail("worker-1", code=1, reason="Error", words=LOG).settle()
        told.append(world.news[-1].message)
    hint = "attempts in a row ended like the last one of worker-1, and none reported a step"
    assert ["in a row" in line for line in told] == [False, False, True, True]
    assert f"(restart 3 of 3); 3 {hint}" in told[2]
    assert f"(spec.runPolicy.backoffLimit is 3); 4 {hint}" in told[3]
    [failed] = [shown for shown in world.status.conditions if shown.type == "Failed"]
    assert failed.message == told[3]
    assert "in a row" not in (world.status.failure or "")


def test_a_task_that_runs_again_is_not_named() -> None:
    rows = [
        TaskStatus(name=task("worker-0"), state=state, failures_alike=3, uid=Uid("worker-0#4"))
        for state in TaskState
        if state not in (TaskState.BACK_OFF, TaskState.FAILED)
    ]
    assert alike.of_failing(rows) == ""


def test_another_error_begins_a_new_count() -> None:
    world = World(make_job(), pods=True).settle()
    counts = []
    for message in (LOG, LOG, "ValueError: y", "ValueError: y", LOG):
        world.fail("worker-1", code=1, reason="Error", words=message).settle()
        counts.append(world.row("worker-1").failures_alike)
        world.wait_for_retry()
    assert counts == [1, 2, 1, 2, 1]


def restart_job(limit: int = 6) -> World:
    each = {"worker": {"onFailure": "RestartJob"}}
    return World(make_job(each=each, run={"backoffLimit": limit}), pods=True).settle()


def fail_in_turn(world: World, *names: str, words: str = LOG) -> list[str]:
    """Let one task after the other restart the job. Return what the events say."""
    told = []
    for name in names:
        world.fail(name, code=1, reason="Error", words=words).settle()
        told.append(world.news[-1].message)
        if world.again_at is not None:
            world.wait_for_retry()
    return told


def test_tasks_that_restart_the_job_in_turn_are_counted_together() -> None:
    world = restart_job(limit=2)
    told = fail_in_turn(world, "worker-0", "worker-1", "worker-0")
    hint = "3 attempts in a row ended like the last one of worker-0, and none reported a step"
    assert world.status.phase is Phase.FAILED
    assert [hint in line for line in told] == [False, False, True]
    assert world.row("worker-0").failures_alike == 3


def test_only_the_task_that_restarts_the_job_is_named() -> None:
    world = restart_job()
    fail_in_turn(world, "worker-0", "worker-0", "worker-0")
    world.fail("worker-1", code=1, reason="Error", words="ValueError: y").settle()
    assert {row.state for row in world.status.tasks} == {TaskState.BACK_OFF}
    assert [row.failures_alike for row in world.status.tasks] == [0, 0, 1]
    assert alike.of_failing(world.status.tasks) == ""


@pytest.mark.parametrize("on_failure", ["RestartTask", "Ignore", "FailJob"])
def test_the_last_failure_of_a_task_is_counted_although_nothing_restarts(on_failure: str) -> None:
    each = {"worker": {"onFailure": on_failure}}
    world = World(make_job(each=each, run={"backoffLimit": 0}), pods=True).settle()
    world.fail("worker-1", code=1, reason="Error", words=LOG).settle()
    row = world.row("worker-1")
    assert row.state is TaskState.FAILED
    assert (row.failures_in_a_row, row.failures_alike) == (1, 1)
