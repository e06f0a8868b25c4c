"""Scenarios: a user deletes a job, and a finalizer holds the job for a while."""

from typing import Any

import pytest
from reconcile.world import World, make_job

from capstan_operator.api.status import Phase
from capstan_operator.reconcile.actions import StartTask
from capstan_operator.reconcile.policies import deletion

HELD = ("example.com/archive",)
FOREGROUND = ("foregroundDeletion",)


def deleted(world: World) -> World:
    world.held_by = HELD
    return world


def suspension(world: World) -> tuple[str, str, str]:
    [found] = [found for found in world.status.conditions if found.type == "Suspended"]
    return found.status, found.reason, found.message


def test_the_tasks_of_a_deleted_job_are_stopped_and_the_status_says_why() -> None:
    world = deleted(World(make_job(), pods=True).settle()).settle()
    assert set(world.states().values()) == {"Stopped"}
    line = "the job is being deleted, and waits for its finalizers: example.com/archive"
    assert suspension(world) == ("True", "Deleted", line)
    assert world.status.summary.reason == f"no task runs: {line}"
    assert world.reasons == ["Running", "Suspending", "Suspended"]
    assert [str(action.task) for action in world.done[3:]] == ["worker-1", "worker-0", "ps-0"]


def test_a_job_that_is_deleted_in_the_foreground_shows_the_end_of_its_tasks() -> None:
    world = World(make_job(), pods=True).settle()
    world.held_by = FOREGROUND
    world.settle()
    assert set(world.states().values()) == {"Stopped"}
    line = "the job is being deleted, and is gone when its tasks have ended"
    assert suspension(world) == ("True", "DeletedInForeground", line)
    assert [news.message for news in world.news if news.reason == "Suspending"] == [line]
    world.held_by = (*HELD, *FOREGROUND)
    assert suspension(world.settle())[2].endswith("waits for its finalizers: example.com/archive")


def test_a_failure_of_a_deleted_job_is_shown_and_starts_nothing() -> None:
    world = deleted(World(make_job(), pods=True).settle()).fail("worker-1", 7).settle()
    row = world.row("worker-1")
    assert (row.state, row.exit_code, row.attempt) == ("Stopped", 7, 1)
    assert world.status.restarts.application == 0
    world.wait(3600).settle()
    assert not [action for action in world.done[3:] if isinstance(action, StartTask)]


@pytest.mark.parametrize("begun", [False, True])
def test_a_suspended_job_that_is_deleted_never_continues(begun: bool) -> None:
    job = make_job(suspend=True)
    world = World(job)
    if begun:
        world.settle()
    world.job = make_job()
    deleted(world).settle()
    assert (world.status.phase, world.done) == (Phase.SUSPENDED, [])


def test_a_task_that_succeeds_while_its_job_is_deleted_ends_the_job() -> None:
    world = deleted(World(make_job(), pods=True).settle()).succeed("worker-0").settle()
    assert world.status.phase is Phase.SUCCEEDED


def test_a_finished_job_that_is_deleted_is_not_deleted_again() -> None:
    world = World(make_job(run={"ttlSecondsAfterFinished": 0}), pods=True).settle()
    world.succeed("worker-0").settle().wait(60).settle()
    assert world.decide().delete_job
    assert not deleted(world).decide().delete_job


@pytest.mark.parametrize(
    "metadata, held_by, left",
    [
        ({}, (), False),
        ({"finalizers": list(HELD)}, (), False),
        ({"deletionTimestamp": "2026-11-02T10:00:00Z"}, (), True),
        ({"deletionTimestamp": "2026-11-02T10:00:00Z", "finalizers": list(HELD)}, HELD, False),
        (
            {"deletionTimestamp": "2026-11-02T10:00:00Z", "finalizers": [*HELD, "orphan"]},
            (),
            True,
        ),
        (
            {"deletionTimestamp": "2026-11-02T10:00:00Z", "finalizers": list(FOREGROUND)},
            FOREGROUND,
            False,
        ),
    ],
)
def test_the_operator_stops_the_tasks_only_if_kubernetes_does_not(
    metadata: dict[str, Any], held_by: tuple[str, ...], left: bool
) -> None:
    manifest = {"metadata": metadata}
    assert deletion.held_by(manifest) == held_by
    assert deletion.is_left_to_kubernetes(manifest) is left
