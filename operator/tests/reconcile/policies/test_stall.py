"""Jobs whose training makes no step."""

from datetime import timedelta

import pytest
from reconcile.world import START, World, make_job, task

from capstan_operator.api.status import Phase, Progress, Status, TaskState, TaskStatus
from capstan_operator.reconcile.policies import stall


def later(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "phase, running_since, advanced, reported, now, stalls",
    [
        (Phase.RUNNING, 0, 100, 160, 160, True),
        (Phase.RUNNING, 0, 100, 159, 160, False),  # The report is older than the deadline.
        (Phase.RUNNING, 0, 100, 160, 159, False),
        (Phase.RUNNING, 0, 100, None, 999, False),  # The reporter does not answer.
        (Phase.RUNNING, 0, None, 999, 999, False),  # The job has reported no progress.
        (Phase.RUNNING, 150, 100, 160, 160, False),  # All tasks run only since then.
        (Phase.RUNNING, 150, 100, 210, 210, True),
        (Phase.DEGRADED, 0, 100, 999, 999, False),
    ],
)
def test_a_job_stalls_if_a_new_report_shows_no_new_step_although_all_tasks_run(
    phase: Phase,
    running_since: int,
    advanced: int | None,
    reported: int | None,
    now: int,
    stalls: bool,
) -> None:
    job = make_job(run={"progressDeadlineSeconds": 60})
    progress = None
    if advanced is not None:
        progress = Progress(step=7, advanced_at=START + later(advanced))
    status = Status(
        phase=phase,
        last_transition_time=START + later(running_since),
        progress=progress,
        tasks=tuple(TaskStatus(name=name, state=TaskState.RUNNING) for name in job.tasks()),
    )
    reported_at = None if reported is None else START + later(reported)
    found = stall.failure(job, status, reported_at, START + later(now))
    assert (found is not None) is stalls
    if found is not None:
        assert str(found) == "worker-0 attempt 1: Stalled: no new step after step 7 for 60 s"
    assert stall.failure(make_job(), status, reported_at, START + later(now)) is None


def trained(**run: object) -> World:
    """Return a job of one ps and two workers that has made 40 steps."""
    policy = {"progressDeadlineSeconds": 60, "restartBackoff": {"initialSeconds": 5}, **run}
    world = World(make_job(run=policy)).settle()
    assert world.status.phase is Phase.RUNNING
    report(world, 40)
    return world


def report(world: World, step: int) -> None:
    world.progress, world.reported_at = Progress(step=step), world.now
    world.settle()


def test_a_stalled_task_is_stopped_and_started_again_and_counts_once() -> None:
    world = trained()
    world.wait(59)
    report(world, 41)
    world.wait(59)
    report(world, 41)
    assert world.row("worker-0").attempt == 1
    assert progressing(world) == ("True", "Training")
    world.wait(1)
    report(world, 41)
    row = world.row("worker-0")
    assert (row.attempt, row.state, row.reason) == (2, TaskState.BACK_OFF, "Stalled")
    assert world.status.restarts.application == 1
    assert "Stalled: no new step after step 41 for 60 s" in world.news[-1].message
    assert world.row("worker-1").attempt == 1
    assert progressing(world) == ("False", "Stalled")
    world.wait_for_retry()
    assert progressing(world) == ("True", "Training")


def progressing(world: World) -> tuple[str, str]:
    """Return the status and the reason of the condition Progressing."""
    [found] = [shown for shown in world.status.conditions if shown.type == "Progressing"]
    return found.status, found.reason


def test_a_job_is_looked_at_again_when_it_may_have_stalled() -> None:
    world = trained()
    assert world.again_at == world.now + later(60)
    world.wait(60).settle()
    assert world.row("worker-0").attempt == 1
    assert world.again_at == world.now + stall.RECHECK


def test_a_stalled_job_without_restarts_left_fails() -> None:
    world = trained(backoffLimit=0)
    world.wait(60)
    report(world, 40)
    assert world.status.phase is Phase.FAILED
    assert world.status.failure is not None
    assert "Stalled" in world.status.failure
    assert task("worker-0") in {row.name for row in world.status.tasks}


def test_a_task_that_stalls_and_ends_before_the_next_pass_is_counted_once() -> None:
    world = trained()
    world.wait(60)
    world.progress, world.reported_at = Progress(step=40), world.now
    world.fail("worker-0")
    world.settle()
    assert (world.row("worker-0").attempt, world.status.restarts.application) == (2, 1)


def test_a_job_does_not_stall_in_the_pass_that_sees_another_task_end() -> None:
    world = trained()
    world.wait(60)
    world.progress, world.reported_at = Progress(step=40), world.now
    world.fail("ps-0")
    world.settle()
    assert (world.row("worker-0").attempt, world.row("ps-0").attempt) == (1, 2)
    assert world.status.restarts.application == 1
