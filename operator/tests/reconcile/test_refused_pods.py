"""Pods that the API server refuses: they are tried again, and charged to no limit."""

from datetime import timedelta

import pytest
from reconcile.world import START, World, make_job, view

from capstan_operator.api.names import ReplicaType, Uid
from capstan_operator.api.status import Status, TaskState
from capstan_operator.reconcile.observe import Observed, TaskPhase
from capstan_operator.reconcile.plan import plan

QUICK = {"restartBackoff": {"initialSeconds": 1}}


@pytest.mark.e2e
@pytest.mark.parametrize("reason", ["CreateFailed", "NameConflict"])
def test_a_refused_pod_is_retried_with_growing_pauses_and_is_not_charged(
    reason: str,
) -> None:
    world = World(make_job(run=QUICK), pods=True)
    world.refused["worker-1"] = reason
    world.settle()
    row = world.row("worker-1")
    assert (row.state.value, row.attempt, row.reason) == ("CreateFailed", 2, reason)
    assert row.message == "the API server said no"
    assert world.status.summary is not None
    assert "worker-1: " in world.status.summary.reason
    assert world.status.summary.reason.endswith("the API server said no")
    assert [news.reason for news in world.news] == [reason]
    waits = []
    for _ in range(3):
        assert world.again_at is not None
        waits.append((world.again_at - world.now).total_seconds())
        world.wait_for_retry()
    assert waits[0] < waits[1] < waits[2]
    assert world.row("worker-1").attempt == 5
    restarts = world.status.restarts
    assert (restarts.application, restarts.infrastructure) == (0, 0)
    assert world.status.epoch == 1
    conflict = [
        condition for condition in world.status.conditions if condition.type == "NameConflict"
    ]
    assert [condition.message for condition in conflict] == (
        ["worker-1: the API server said no"] if reason == "NameConflict" else []
    )
    world.refused.clear()
    world.wait_for_retry()
    assert world.states()["worker-1"] == "Running"
    assert not [
        condition for condition in world.status.conditions if condition.type == "NameConflict"
    ]


def test_the_first_failure_after_refused_starts_waits_as_long_as_any_first_failure() -> None:
    world = World(make_job(run={}), pods=True)
    world.refused["worker-1"] = "CreateFailed"
    world.settle()
    for _ in range(5):
        world.wait_for_retry()
    assert world.row("worker-1").refusals_in_a_row == 6
    world.refused.clear()
    world.wait_for_retry()
    assert world.row("worker-1").refusals_in_a_row == 0
    world.fail("worker-1", 1).settle()
    assert world.again_at is not None
    assert 4 <= (world.again_at - world.now).total_seconds() <= 5
    world.refused["worker-1"] = "CreateFailed"
    world.wait_for_retry()
    row = world.row("worker-1")
    assert (row.failures_in_a_row, row.refusals_in_a_row) == (1, 1)
    world.refused.clear()
    world.wait_for_retry()
    world.fail("worker-1", 1).settle()
    assert 8 <= (world.again_at - world.now).total_seconds() <= 10


@pytest.mark.e2e
def test_refused_pods_of_one_type_wait_together_and_share_one_event() -> None:
    world = World(make_job(ps=0, workers=50, run={}), pods=True).settle()
    for index in (*range(7, 12), 31):
        # The failures have different times, so that the tasks have different pauses.
        world.wait(0.7).fail(f"worker-{index}").settle()
    for index in range(5, 40):
        world.refused[f"worker-{index}"] = "CreateFailed"
        if index not in (*range(7, 12), 31):
            world.vanish(f"worker-{index}")
    world.settle()
    begin = world.now
    rounds: dict[timedelta, int] = {}
    while world.now < begin + timedelta(minutes=20):
        announced, written = len(world.news), world.writes
        world.wait_for_retry()
        refused = sum(news.reason == "CreateFailed" for news in world.news[announced:])
        rounds[world.now - begin] = refused
        assert world.writes - written <= 2
    assert sum(rounds.values()) < 15
    assert sum(1 for late in rounds if late > timedelta(minutes=5)) < 5
    waiting = {row.retry_at for row in world.status.tasks if row.state is TaskState.CREATE_FAILED}
    assert len(waiting) == 1
    world.refused.clear()
    world.wait_for_retry()
    assert set(world.states().values()) == {"Running"}
    assert world.status.replica_statuses[ReplicaType.WORKER].restarts == 35


def test_every_name_conflict_is_reported() -> None:
    world = World(make_job(ps=0, workers=2), pods=True)
    world.refused = {"worker-0": "NameConflict", "worker-1": "NameConflict"}
    world.settle()
    assert [news.reason for news in world.news] == ["NameConflict", "NameConflict"]


def test_a_refused_start_is_not_a_restart() -> None:
    world = World(make_job(run=QUICK), pods=True)
    world.refused["worker-1"] = "CreateFailed"
    world.settle().wait_for_retry().wait_for_retry()
    world.refused.clear()
    world.wait_for_retry()
    assert (world.row("worker-1").attempt, world.row("worker-1").refused) == (4, 3)
    assert world.status.replica_statuses[ReplicaType.WORKER].restarts == 0
    world.fail("worker-1").settle()
    assert world.status.replica_statuses[ReplicaType.WORKER].restarts == 1


def test_two_refused_tasks_may_have_views_with_the_same_uid() -> None:
    uid = Uid("refused-1")
    refused = [
        view(name, TaskPhase.FAILED, uid=uid, reason="CreateFailed")
        for name in ("ps-0", "worker-0")
    ]
    decided = plan(make_job(), Status(), Observed(tuple(refused)), START)
    assert decided.status is not None
    assert {str(row.name): row.state.value for row in decided.status.tasks} == {
        "ps-0": "CreateFailed",
        "worker-0": "CreateFailed",
        "worker-1": "Pending",
    }
