"""Scenarios: success, deadlines, and the end of the tasks that still run."""

import copy
from datetime import timedelta

from reconcile.world import START, World, make_job, task, view

from capstan_operator.api.names import Uid
from capstan_operator.api.status import Phase, Status
from capstan_operator.reconcile.actions import Plan, StopReason, StopTask
from capstan_operator.reconcile.observe import Observed, TaskPhase
from capstan_operator.reconcile.plan import plan

QUICK = {"restartBackoff": {"initialSeconds": 1}}


def running(**kwargs: object) -> World:
    return World(make_job(run=QUICK, **kwargs)).settle()


def test_sidecars_of_an_ended_task_are_stopped_when_the_job_is_over() -> None:
    world = running(workers=1).succeed("worker-0").change("worker-0", sidecars_run=True)
    stops = [action for action in world.tick().actions if isinstance(action, StopTask)]
    assert {str(action.task) for action in stops} == {"ps-0", "worker-0"}


def test_success_stops_all_tasks_and_gives_the_ps_its_own_grace_period() -> None:
    slow = {
        "template": {"spec": {"containers": [{"name": "t"}], "terminationGracePeriodSeconds": 7}}
    }
    job = make_job(run={"psGracePeriodSeconds": 99}, each={"worker": slow, "ps": slow}, evaluator=1)
    world = World(job).settle().wait(60)
    decided = world.succeed("worker-0").tick()
    assert decided.actions == (
        StopTask(task("ps-0"), Uid("ps-0#1"), 99, StopReason.JOB_OVER),
        StopTask(task("worker-1"), Uid("worker-1#3"), 7, StopReason.JOB_OVER),
    )
    assert world.states() == {
        "ps-0": "Stopping",
        "worker-0": "Succeeded",
        "worker-1": "Stopping",
        "evaluator-0": "Stopping",
    }
    world.wait(4).settle()
    assert world.states() == {
        "ps-0": "Stopped",
        "worker-0": "Succeeded",
        "worker-1": "Stopped",
        "evaluator-0": "Stopping",
    }
    assert world.status.phase is Phase.SUCCEEDED
    assert world.status.completion_time == START + timedelta(seconds=60)
    assert world.status.failure is None
    (_, done) = world.status.conditions
    assert (done.type, done.status, done.message) == ("Succeeded", "True", "worker-0 succeeded")
    assert world.reasons == ["Running", "Succeeded", "Evaluating"]
    assert world.instance("worker-0").has_ended


def test_an_evaluator_may_evaluate_the_last_checkpoint_and_is_then_stopped() -> None:
    job = make_job(workers=1, evaluator=1, run={"evaluatorGracePeriodSeconds": 60})
    world = World(job, pods=True).settle().succeed("worker-0").settle()
    assert world.states() == {
        "ps-0": "Stopped", "worker-0": "Succeeded", "evaluator-0": "Stopping",
    }  # fmt: skip
    assert world.news[-1].message == "evaluator-0 has 60 s to evaluate the last checkpoint"
    assert world.again_at == START + timedelta(seconds=60)
    ended = copy.deepcopy(world)
    ended.wait(30).succeed("evaluator-0").settle()
    assert ended.states()["evaluator-0"] == "Succeeded"
    assert ended.again_at is None
    world.wait_for_retry()
    assert world.states()["evaluator-0"] == "Stopped"
    assert not any(view.name == task("evaluator-0") for view in world.instances.values())


def test_an_evaluator_without_time_is_stopped_with_its_job() -> None:
    run = {"evaluatorGracePeriodSeconds": 0}
    world = World(make_job(workers=1, evaluator=1, run=run), pods=True).settle()
    world.succeed("worker-0").settle()
    assert world.states()["evaluator-0"] == "Stopped"
    assert "Evaluating" not in world.reasons


def test_a_restart_of_the_job_gives_a_ps_the_grace_period_of_its_template() -> None:
    job = make_job(
        run=QUICK | {"psGracePeriodSeconds": 99}, each={"worker": {"onFailure": "RestartJob"}}
    )
    world = World(job).settle()
    decided = world.fail("worker-1").tick()
    stops = {
        str(action.task): action.grace_seconds
        for action in decided.actions
        if isinstance(action, StopTask)
    }
    assert stops == {"ps-0": 30, "worker-0": 30}


def test_success_takes_precedence_over_a_failure_in_the_same_pass() -> None:
    world = World(make_job(run={"backoffLimit": 0})).settle()
    world.fail("ps-0", 1, words="gone").succeed("worker-0").settle()
    assert world.status.phase is Phase.SUCCEEDED
    assert world.states() == {"ps-0": "Failed", "worker-0": "Succeeded", "worker-1": "Stopped"}
    assert world.row("ps-0").exit_code == 1
    assert world.status.restarts.application == 0


def test_a_finished_job_never_changes_its_phase() -> None:
    world = running().succeed("worker-0")
    world.tick()
    world.fail("ps-0", 1)
    world.settle()
    assert world.status.phase is Phase.SUCCEEDED
    assert world.states()["ps-0"] == "Stopped"
    assert world.row("ps-0").exit_code == 1
    world.instances[Uid("late")] = view("worker-1", uid=Uid("late"))
    assert world.tick().actions == (
        StopTask(task("worker-1"), Uid("late"), 30, StopReason.JOB_OVER),
    )
    world.settle()
    assert world.states()["worker-1"] == "Stopped"
    assert world.status.restarts.application == 0


def test_a_task_that_exits_0_by_itself_after_the_end_has_succeeded() -> None:
    world = running().succeed("worker-0")
    world.tick(effects=1)
    world.wait(1).succeed("worker-1").settle()
    assert world.states()["worker-1"] == "Succeeded"
    assert world.row("worker-1").finished_at == START + timedelta(seconds=1)


def test_a_task_that_ends_with_the_job_keeps_its_exit_code() -> None:
    world = running().succeed("worker-0")
    world.tick()
    world.wait(2).change("ps-0", phase=TaskPhase.FAILED, exit_code=143, message="bye")
    world.tick()
    row = world.row("ps-0")
    assert (row.state.value, row.exit_code, row.message) == ("Stopped", 143, "bye")
    assert row.finished_at == START + timedelta(seconds=2)
    world.wait(5)
    assert world.decide().status is None


def test_a_stopped_task_whose_end_nobody_saw_does_not_show_the_end_of_an_earlier_attempt() -> None:
    world = running().fail("ps-0", 137, words="killed").settle().wait_for_retry()
    world.wait(1).succeed("worker-0").settle()
    row = world.row("ps-0")
    assert (row.state.value, row.attempt) == ("Stopped", 2)
    assert (row.finished_at, row.exit_code, row.reason, row.message) == (None, None, "", "")
    assert world.wait(5).decide() == Plan()


def test_a_task_that_waits_at_the_end_of_the_job_shows_the_end_of_its_last_attempt() -> None:
    world = running().fail("ps-0", 137, words="killed").settle().succeed("worker-0").settle()
    row = world.row("ps-0")
    assert (row.state.value, row.attempt, row.exit_code) == ("Stopped", 2, 137)
    assert row.finished_at == START


def test_a_task_that_exits_0_because_the_job_is_over_was_stopped() -> None:
    world = running().succeed("worker-0")
    world.tick()
    world.change("ps-0", phase=TaskPhase.SUCCEEDED, exit_code=0)
    world.tick()
    assert (world.states()["ps-0"], world.row("ps-0").exit_code) == ("Stopped", 0)


def test_a_waiting_task_is_stopped_when_the_job_ends() -> None:
    world = running().fail("worker-1").settle().succeed("worker-0").settle()
    assert world.states()["worker-1"] == "Stopped"
    assert world.row("worker-1").retry_at is None
    assert world.again_at is None
    assert world.wait(1000).decide() == Plan()


def test_a_deadline_fails_the_job_at_its_time() -> None:
    world = World(make_job(run=QUICK | {"activeDeadlineSeconds": 60})).settle()
    assert world.again_at == START + timedelta(seconds=60)
    world.wait(10).fail("worker-1").settle()
    assert world.again_at == world.row("worker-1").retry_at
    world.wait_for_retry().wait(48).settle()
    assert world.status.phase is Phase.RUNNING
    world.wait_for_retry()
    assert world.status.phase is Phase.FAILED
    assert world.status.failure == "not done after 60 s"
    assert world.status.conditions[1].reason == "DeadlineExceeded"
    assert world.status.conditions[1].message == (
        "not done after 60 s (spec.runPolicy.activeDeadlineSeconds)"
    )
    assert not world.instances


def test_a_deadline_during_the_wait_of_a_program_that_fails_at_each_start_says_so() -> None:
    backoff = {"initialSeconds": 600, "factor": 1, "maxSeconds": 600}
    job = make_job(ps=0, run={"restartBackoff": backoff, "activeDeadlineSeconds": 2000})
    world = World(job).settle()
    for _ in range(2):
        world.fail("worker-1", words="ImportError: no tf").settle().wait_for_retry()
    world.fail("worker-1", words="ImportError: no tf").settle()
    assert world.states()["worker-1"] == "BackOff"
    world.wait(2000).settle()
    assert world.states() == {"worker-0": "Stopped", "worker-1": "Stopped"}
    failed = next(found for found in world.status.conditions if found.type == "Failed")
    assert failed.message == (
        "not done after 2000 s (spec.runPolicy.activeDeadlineSeconds); 3 attempts in a row ended"
        " like the last one of worker-1, and none reported a step: the program is the likely cause"
    )


def test_a_program_that_runs_at_the_deadline_is_not_blamed_for_earlier_failures() -> None:
    backoff = {"initialSeconds": 1, "factor": 1}
    job = make_job(ps=0, run={"restartBackoff": backoff, "activeDeadlineSeconds": 2000})
    world = World(job).settle()
    for _ in range(3):
        world.fail("worker-1", words="ImportError: no tf").settle().wait_for_retry()
    world.wait(2000).settle()
    assert world.row("worker-1").failures_alike == 3
    failed = next(found for found in world.status.conditions if found.type == "Failed")
    assert failed.message == "not done after 2000 s (spec.runPolicy.activeDeadlineSeconds)"


def test_success_at_the_deadline_is_success() -> None:
    world = World(make_job(run={"activeDeadlineSeconds": 60})).settle()
    world.wait(60).succeed("worker-0").settle()
    assert world.status.phase is Phase.SUCCEEDED


def test_the_deadline_counts_from_the_first_pass_also_after_crashes() -> None:
    job = make_job(run={"activeDeadlineSeconds": 60})
    first = plan(job, Status(), Observed(), START)
    assert first.status is not None
    later = plan(job, first.status, Observed(), START + timedelta(seconds=60))
    assert later.status is not None
    assert later.status.phase is Phase.FAILED
