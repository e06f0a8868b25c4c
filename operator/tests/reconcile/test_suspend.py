"""An interrupted run of `capstanctl` is suspended, and the next run resumes the job."""

import dataclasses
import json

import hypothesis.strategies as st
import pytest
from hypothesis import given
from reconcile.world import World, make_job

from capstan_operator.api import status_json
from capstan_operator.api.status import Phase, Progress, Status, TaskState
from capstan_operator.reconcile import suspend
from capstan_operator.reconcile.observe import Observed, TaskPhase

WHY = "received SIGINT"


def ended(world: World) -> Observed:
    """Return an observation in which all running tasks have been stopped and have ended."""
    return Observed(
        tuple(
            instance
            if instance.has_ended
            else dataclasses.replace(
                instance, phase=TaskPhase.FAILED, ready=False, exit_code=143, finished_at=world.now
            )
            for instance in world.instances.values()
        ),
        world.progress,
    )


def interrupt(world: World) -> Status:
    """Suspend the job of a world, remove all instances, and write the status."""
    status = suspend.suspended(world.job, world.status, ended(world), WHY, world.now)
    world.instances.clear()
    world.memory = json.dumps(status_json.render(status))
    return status


def resume(world: World) -> World:
    world.memory = json.dumps(status_json.render(suspend.run_again(world.status)))
    return world.settle()


def test_no_task_of_an_interrupted_job_is_shown_as_running() -> None:
    status = interrupt(World(make_job()).settle().wait(9))
    assert status.phase is Phase.SUSPENDED
    assert not status.phase.is_final
    assert {row.state for row in status.tasks} == {TaskState.STOPPED}
    assert {row.exit_code for row in status.tasks} == {143}
    assert [(entry.type, entry.status, entry.reason) for entry in status.conditions] == [
        ("ClusterReady", "False", "Suspended"),
        ("Suspended", "True", "Interrupted"),
    ]
    assert status.conditions[1].message == WHY
    assert {replicas.running for replicas in status.replica_statuses.values()} == {0}


def test_a_job_can_be_interrupted_before_its_first_pass() -> None:
    status = interrupt(World(make_job()))
    assert [row.state for row in status.tasks] == [TaskState.STOPPED] * 3


def test_a_resumed_job_continues_with_the_next_attempts_and_epoch() -> None:
    world = World(make_job()).settle()
    world.progress = Progress(step=700)
    world.settle()
    interrupt(world)
    world.progress = None
    resume(world)
    assert world.status.phase is Phase.RUNNING
    assert [row.attempt for row in world.status.tasks] == [2, 2, 2]
    assert world.status.epoch == 2
    assert world.status.progress == Progress(step=700)
    types = {condition.type for condition in world.status.conditions}
    assert types == {"ClusterReady", "Progressing", "Suspended"}


def test_an_attempt_that_never_started_keeps_its_number() -> None:
    world = World(make_job()).settle()
    world.fail("worker-1").settle()
    assert world.row("worker-1").attempt == 2
    status = interrupt(world)
    row = status.task(world.row("worker-1").name)
    assert (row.state, row.retry_at, row.exit_code) == (TaskState.STOPPED, None, 1)
    resume(world)
    assert [row.attempt for row in world.status.tasks] == [2, 2, 2]


@pytest.mark.e2e
def test_a_resumed_job_has_full_restart_limits_and_a_new_deadline() -> None:
    world = World(make_job(run={"backoffLimit": 1, "activeDeadlineSeconds": 60})).settle()
    world.fail("worker-1").settle().wait_for_retry()
    interrupt(world)
    world.wait(1000)
    resume(world)
    assert world.status.phase is Phase.RUNNING
    assert world.status.restarts.application == 0
    assert world.status.start_time == world.now
    world.fail("worker-1").settle()
    assert not world.status.phase.is_final


def test_another_run_has_full_limits_for_the_infrastructure() -> None:
    world = World(make_job(run={"infrastructureBackoffLimit": 1})).settle()
    world.vanish("worker-1").settle().wait_for_retry()
    interrupt(world)
    resume(world)
    assert world.status.restarts.infrastructure == 0
    world.vanish("worker-1").settle()
    assert not world.status.phase.is_final


def test_a_resumed_job_keeps_succeeded_tasks_and_retries_ignored_tasks() -> None:
    job = make_job(workers=3, each={"worker": {"onFailure": "Ignore"}}, successPolicy="AllWorkers")
    world = World(job).settle()
    world.succeed("worker-1").fail("worker-2").settle()
    interrupt(world)
    resume(world)
    assert world.states() == {
        "ps-0": "Running",
        "worker-0": "Running",
        "worker-1": "Succeeded",
        "worker-2": "Running",
    }


@pytest.mark.parametrize("end", ["succeed", "fail"])
def test_an_interrupt_does_not_change_the_outcome_of_a_finished_job(end: str) -> None:
    world = World(make_job(run={"backoffLimit": 0})).settle()
    getattr(world, end)("worker-0").tick()
    before = world.status
    assert before.phase.is_final
    after = interrupt(world)
    assert after.phase is before.phase
    assert after.conditions == before.conditions
    assert after.failure == before.failure
    assert TaskState.RUNNING not in {row.state for row in after.tasks}


EVENTS = st.sampled_from(["fail", "delete", "vanish", "settle", "tick", "interrupt", "kill"])


@pytest.mark.e2e
@given(st.lists(st.tuples(EVENTS, st.sampled_from(["ps-0", "worker-0", "worker-1"])), max_size=12))
def test_a_job_resumed_from_any_state_settles_and_attempts_never_decrease(
    history: list[tuple[str, str]],
) -> None:
    world = World(make_job(run={"backoffLimit": 99})).settle()
    attempts = [row.attempt for row in world.status.tasks]
    for event, name in history:
        alive = any(
            str(instance.name) == name and not instance.has_ended
            for instance in world.instances.values()
        )
        if event in ("interrupt", "kill"):
            if event == "interrupt":
                interrupt(world)
            world.instances.clear()
            resume(world)
        elif event in ("settle", "tick"):
            getattr(world, event)()
        elif alive:
            getattr(world, event)(name)
        now = [row.attempt for row in world.status.tasks]
        assert all(after >= before for before, after in zip(attempts, now, strict=True))
        attempts = now
    world.settle()
    interrupt(world)
    assert resume(world).status.phase is Phase.RUNNING
