"""A time of a status that lies in the future delays no deadline and no deletion for ever."""

import dataclasses
from datetime import timedelta

import pytest
from reconcile.world import START, World, make_job

from capstan_operator.api.status import Phase, Progress
from capstan_operator.reconcile.policies.clock import corrected

AHEAD = START + timedelta(days=365)
POLICY = {
    "activeDeadlineSeconds": 600,
    "pendingDeadlineSeconds": 300,
    "progressDeadlineSeconds": 60,
    "ttlSecondsAfterFinished": 60,
    "restartBackoff": {"initialSeconds": 0},
}


def ahead(job_policy: dict[str, object]) -> World:
    """Return a new job whose first pass was made by an operator whose clock was a year ahead."""
    world = World(make_job(run=job_policy))
    world.now = AHEAD
    world.settle()
    world.now = START
    return world


def test_a_deadline_counts_from_the_pass_that_finds_a_start_in_the_future() -> None:
    world = ahead({"activeDeadlineSeconds": 600}).settle()
    assert world.status.start_time == START
    assert world.again_at == START + timedelta(seconds=600)
    world.wait(599).settle()
    assert world.status.phase is Phase.RUNNING
    world.wait(1).settle()
    assert world.status.phase is Phase.FAILED


def test_a_finished_job_is_deleted_although_its_end_lies_in_the_future() -> None:
    world = ahead({"ttlSecondsAfterFinished": 60}).succeed("worker-0")
    world.now = AHEAD
    world.settle()
    world.now = START
    assert not world.settle().decide().delete_job
    assert world.again_at == START + timedelta(seconds=60)
    assert world.wait(60).decide().delete_job


def test_tasks_that_start_again_run_although_all_times_lie_in_the_future() -> None:
    world = ahead(POLICY)
    world.now = AHEAD
    world.fail("worker-1").tick()
    world.now = START
    world.settle()
    assert world.status.phase is Phase.RUNNING
    assert (world.status.start_time, world.status.last_transition_time) == (START, START)


def test_a_task_starts_when_it_is_first_seen_if_the_clock_of_its_node_is_ahead() -> None:
    world = World(make_job(run=POLICY | {"activeDeadlineSeconds": 9000}), pods=True)
    world.tick()
    ahead_by = timedelta(minutes=10)
    world.change("worker-1", started_at=START + ahead_by).settle()
    assert world.row("worker-1").started_at == START
    writes = world.writes
    # In the last pass, the start by the clock of the node is in the past.
    for seconds in (1, 59, 600):
        world.wait(seconds).settle()
        assert (world.row("worker-1").started_at, world.writes) == (START, writes)
    world.fail("worker-1").change("worker-1", finished_at=world.now + ahead_by).tick()
    assert world.row("worker-1").finished_at == START + timedelta(seconds=660)


def test_the_clock_of_a_node_that_is_ahead_does_not_blame_the_program() -> None:
    """The training has made a step in each attempt, before its start by the clock of the node."""
    world = World(make_job(ps=0, run=POLICY | {"activeDeadlineSeconds": 9000}), pods=True).settle()
    for step in (10, 20, 30):
        world.instances = {
            uid: dataclasses.replace(view, started_at=world.now + timedelta(minutes=10))
            for uid, view in world.instances.items()
        }
        world.settle().wait(5)
        world.progress = Progress(step=step)
        world.settle().wait(5).fail("worker-1", words="ValueError: no").settle()
    assert world.row("worker-1").failures_alike == 0


@pytest.mark.parametrize("seconds", [0, 1, 3600])
def test_times_in_the_past_stay(seconds: int) -> None:
    world = World(make_job(run=POLICY)).settle().wait(seconds)
    assert corrected(world.status, world.now) == world.status
