"""Scenarios: a user sets spec.suspend, and clears it."""

from datetime import timedelta

from reconcile.world import START, World, make_job, task

from capstan_operator.api.status import Condition, Phase
from capstan_operator.reconcile.actions import StartTask, StopReason, StopTask
from capstan_operator.reconcile.observe import TaskPhase

QUICK = {"restartBackoff": {"initialSeconds": 1}}


def running(**fields: object) -> World:
    return World(make_job(**{"run": QUICK, **fields}), pods=True).settle()


def suspend(world: World, holds: bool = True) -> World:
    spec = world.job.spec.model_copy(update={"suspend": holds})
    world.job = world.job.model_copy(update={"spec": spec})
    return world


def stopped(world: World) -> list[str]:
    """Make a pass, and return the tasks that it stops."""
    actions = world.tick().actions
    assert all(isinstance(action, StopTask) for action in actions)
    return [str(action.task) for action in actions]


def condition(world: World, kind: str) -> Condition | None:
    found = [found for found in world.status.conditions if found.type == kind]
    return found[0] if found else None


def test_parameter_servers_are_stopped_after_the_task_that_saves() -> None:
    world = suspend(running(evaluator=1))
    assert stopped(world) == ["worker-1", "evaluator-0"]
    assert stopped(world) == []
    world.end_stopping_instances()
    assert stopped(world) == ["worker-0"]
    waiting = condition(world, "Suspended")
    assert waiting is not None
    assert (waiting.status, waiting.message) == ("False", "waiting for the end of ps-0, worker-0")
    world.end_stopping_instances()
    assert stopped(world) == ["ps-0"]
    world.end_stopping_instances()
    world.settle()
    held = condition(world, "Suspended")
    assert held is not None
    assert (held.status, held.reason) == ("True", "Requested")
    assert (world.status.phase, world.status.start_time) == (Phase.SUSPENDED, None)
    assert set(world.states().values()) == {"Stopped"}
    assert world.reasons == ["Running", "Suspending", "Suspended"]
    assert world.done[-1] == StopTask(
        task("ps-0"),
        world.done[-1].uid,
        30,
        StopReason.SUSPENDED,  # type: ignore[union-attr]
    )


def test_a_suspended_job_restarts_no_task_and_charges_no_limit() -> None:
    world = suspend(running(run={"backoffLimit": 0})).fail("worker-0").fail("ps-0").settle()
    assert world.status.phase is Phase.SUSPENDED
    assert world.status.restarts.application == 0
    row = world.row("worker-0")
    assert (row.state.value, row.attempt, row.exit_code) == ("Stopped", 1, 1)
    assert world.wait(10_000).decide().actions == ()


def test_a_suspended_task_whose_end_nobody_saw_does_not_show_the_end_of_an_earlier_attempt() -> (
    None
):
    world = running(run=QUICK).fail("ps-0", 137).settle().wait_for_retry()
    row = suspend(world).settle().row("ps-0")
    assert (row.state.value, row.attempt) == ("Stopped", 2)
    assert (row.finished_at, row.exit_code) == (None, None)


def test_a_continued_job_starts_the_next_attempts_in_the_next_epoch() -> None:
    world = running(run={**QUICK, "activeDeadlineSeconds": 60})
    world.fail("worker-1").settle().wait_for_retry()
    suspend(world).settle()
    suspend(world.wait(1000), holds=False).settle()
    assert world.status.phase is Phase.RUNNING
    assert [row.attempt for row in world.status.tasks] == [2, 2, 3]
    assert (world.status.epoch, world.status.restarts.application) == (2, 1)
    assert world.status.start_time == world.now
    ended = condition(world, "Suspended")
    assert ended is not None
    assert (ended.status, ended.reason) == ("False", "Resumed")
    assert ended.last_transition_time == world.now
    assert world.reasons[-2:] == ["Resumed", "Running"]
    assert world.reasons.count("Suspended") == 1


def test_a_condition_that_stays_false_over_a_suspension_keeps_its_time() -> None:
    world = suspend(running()).settle()
    since = condition(world, "ClusterReady")
    assert since is not None
    suspend(world.wait(1000), holds=False).tick()
    ready = condition(world, "ClusterReady")
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "Restarting")
    assert ready.last_transition_time == since.last_transition_time < world.now


def test_a_job_that_continues_while_its_tasks_end_waits_for_their_ends() -> None:
    world = suspend(running())
    assert stopped(world) == ["worker-1"]
    suspend(world, holds=False)
    decided = world.tick()
    assert {action.task for action in decided.actions} == {task("ps-0"), task("worker-0")}
    assert not any(isinstance(action, StartTask) for action in decided.actions)
    world.settle()
    assert world.states() == dict.fromkeys(["ps-0", "worker-0", "worker-1"], "Running")
    assert world.status.restarts.infrastructure == 0


def test_a_job_that_is_created_suspended_starts_nothing_until_it_continues() -> None:
    world = suspend(World(make_job(run=QUICK))).settle()
    assert (world.status.phase, world.started) == (Phase.SUSPENDED, 0)
    assert world.reasons == ["Suspended"]
    suspend(world.wait(9), holds=False).settle()
    assert [row.attempt for row in world.status.tasks] == [1, 1, 1]
    assert (world.status.epoch, world.status.start_time) == (1, START + timedelta(seconds=9))


def test_a_job_that_is_done_succeeds_although_it_is_suspended() -> None:
    world = suspend(running()).succeed("worker-0").settle()
    assert world.status.phase is Phase.SUCCEEDED


def test_a_trainer_that_exits_0_because_it_was_stopped_has_not_succeeded() -> None:
    world = suspend(running(ps=0, workers=1))
    assert stopped(world) == ["worker-0"]
    world.change("worker-0", phase=TaskPhase.SUCCEEDED, exit_code=0, finished_at=world.now)
    world.tick()
    assert (world.status.phase, world.states()) == (Phase.SUSPENDED, {"worker-0": "Stopped"})
    world.end_stopping_instances()
    suspend(world, holds=False).settle()
    assert (world.status.phase, world.row("worker-0").attempt) == (Phase.RUNNING, 2)


def test_a_pod_on_a_lost_node_does_not_hold_up_the_suspension() -> None:
    world = suspend(running().lose_node("worker-1")).settle()
    assert (world.status.phase, world.status.restarts.infrastructure) == (Phase.SUSPENDED, 0)
    suspend(world, holds=False).settle()
    assert world.status.epoch == 2
