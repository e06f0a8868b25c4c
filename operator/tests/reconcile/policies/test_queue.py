"""Table of the jobs that wait in a queue, and the story of such a wait."""

from datetime import timedelta

import pytest
from reconcile.world import START, World, make_job, task, view

from capstan_operator.api.status import Condition, Phase, TaskState, TaskStatus
from capstan_operator.reconcile.observe import TaskPhase, TaskView
from capstan_operator.reconcile.policies import queue

JOB = make_job(workers=1, scheduling={"queueName": "training"})
GATED = view("worker-0", TaskPhase.PENDING, reason="SchedulingGated")
ENDED = view("worker-0", TaskPhase.FAILED, reason="SchedulingGated")
OTHER = view("worker-0", TaskPhase.PENDING, reason="Unschedulable")


@pytest.mark.parametrize(
    "instance, ps, phase",
    [
        (GATED, TaskState.PENDING, Phase.QUEUED),
        (GATED, TaskState.BACK_OFF, Phase.QUEUED),
        (GATED, TaskState.STARTING, Phase.RESTARTING),
        (GATED, TaskState.RUNNING, Phase.RESTARTING),
        (ENDED, TaskState.PENDING, Phase.RESTARTING),
        (OTHER, TaskState.PENDING, Phase.RESTARTING),
    ],
)
def test_a_job_is_queued_while_a_pod_waits_and_no_task_runs(
    instance: TaskView, ps: TaskState, phase: Phase
) -> None:
    rows = [TaskStatus(name=task("ps-0"), state=ps), TaskStatus(name=task("worker-0"))]
    by_rows = Phase.RESTARTING
    assert queue.phase(by_rows, queue.find(JOB, [instance]), rows) is phase
    assert queue.phase(by_rows, queue.find(make_job(), [instance]), rows) is by_rows


def queued(world: World) -> Condition:
    return next(found for found in world.status.conditions if found.type == "Queued")


def test_the_wait_in_a_queue_is_shown_and_counts_against_no_deadline() -> None:
    job = JOB.spec.run_policy.model_copy(update={"pending_deadline_seconds": 60})
    spec = JOB.spec.model_copy(update={"run_policy": job})
    world = World(JOB.model_copy(update={"spec": spec}), pods=True)
    world.tick()
    for name in ("ps-0", "worker-0"):
        world.change(name, phase=TaskPhase.PENDING, ready=False, reason="SchedulingGated", node="")
    world.settle()
    assert (world.status.phase, world.status.pending_since) == (Phase.QUEUED, None)
    assert (queued(world).status, queued(world).reason) == ("True", "WaitingForAdmission")
    assert [news.reason for news in world.news] == ["Queued"]
    assert world.status.summary is not None
    assert world.status.summary.reason == (
        "waiting until Kueue admits ps-0, worker-0 from queue training"
    )
    world.wait(1000).settle()
    for name in ("ps-0", "worker-0"):
        world.change(name, reason="", node="n1")
    world.settle()
    assert (world.status.phase, queued(world).status) == (Phase.PENDING, "False")
    assert world.again_at == START + timedelta(seconds=1060)


@pytest.mark.parametrize("is_held_by_a_finalizer", [False, True])
def test_a_pod_that_is_deleted_while_it_waits_starts_again_and_costs_nothing(
    is_held_by_a_finalizer: bool,
) -> None:
    job = make_job(
        workers=1,
        scheduling={"queueName": "training"},
        each={"worker": {"onFailure": "FailJob"}},
        run={"infrastructureBackoffLimit": 0},
    )
    world = World(job, pods=True)
    world.tick()
    for name in ("ps-0", "worker-0"):
        world.change(name, phase=TaskPhase.PENDING, ready=False, reason="SchedulingGated", node="")
    world.settle()
    if is_held_by_a_finalizer:
        world.delete("ps-0").delete("worker-0").tick()
    world.vanish("ps-0").vanish("worker-0").settle()
    assert [row.state for row in world.status.tasks] == [TaskState.BACK_OFF] * 2
    world.wait(60).settle()
    assert world.states() == {"ps-0": "Running", "worker-0": "Running"}
    assert [row.attempt for row in world.status.tasks] == [2, 2]
    assert (world.status.restarts.application, world.status.restarts.infrastructure) == (0, 0)
    assert {count.restarts for count in world.status.replica_statuses.values()} == {0}
    (told, *_) = [news.message for news in world.news if news.reason == "Restarting"]
    assert "its pod was deleted while it waited at a scheduling gate" in told
    assert told.endswith("(not counted: it has not run)")
