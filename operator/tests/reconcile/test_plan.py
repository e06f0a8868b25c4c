"""Scenarios: the plan after each event of a job."""

import dataclasses
from datetime import timedelta

import pytest
from reconcile.world import START, World, make_job, task, view

from capstan_operator.api.names import ReplicaType, Uid
from capstan_operator.api.status import Phase, Progress
from capstan_operator.reconcile.actions import NewsType, StartTask, StopReason, StopTask
from capstan_operator.reconcile.observe import Deletion, TaskPhase

QUICK = {"restartBackoff": {"initialSeconds": 1}}


def running(**kwargs: object) -> World:
    return World(make_job(run=QUICK, **kwargs)).settle()


def test_a_new_job_starts_every_task_once() -> None:
    world = World(make_job(chief=1, ps=2, workers=2, evaluator=1))
    first = world.tick()
    names = ["chief-0", "ps-0", "ps-1", "worker-0", "worker-1", "evaluator-0"]
    assert first.actions == tuple(StartTask(task(name), 1, 1) for name in names)
    assert first.status is not None
    assert (first.status.phase, first.status.start_time) == (Phase.PENDING, START)
    world.settle()
    assert world.states() == dict.fromkeys(names, "Running")
    assert world.started == len(names)
    assert world.status.phase is Phase.RUNNING
    assert [(news.type, news.message) for news in world.news] == [
        (NewsType.NORMAL, "6 tasks run, epoch 1")
    ]


def test_a_start_is_repeated_until_the_task_is_observed() -> None:
    world = World(make_job(ps=0, workers=1))
    first = world.tick(effects=1)
    assert world.tick(effects=0) == dataclasses.replace(first, status=None)


def test_a_job_is_running_when_every_task_is_ready() -> None:
    world = World(make_job())
    world.tick()
    world.change("worker-1", ready=False).settle()
    assert (world.status.phase, world.states()["worker-1"]) == (Phase.STARTING, "Starting")
    world.change("worker-1", phase=TaskPhase.PENDING).settle()
    assert world.states()["worker-1"] == "Pending"
    assert world.reasons == []
    (ready,) = world.status.conditions
    assert (ready.status, ready.reason, ready.message) == (
        "False",
        "Starting",
        "waiting for worker-1",
    )
    world.wait(3).change("worker-1", phase=TaskPhase.RUNNING, ready=True).settle()
    (ready,) = world.status.conditions
    assert (ready.status, ready.last_transition_time) == ("True", START + timedelta(seconds=3))
    assert world.status.last_transition_time == START + timedelta(seconds=3)


def test_a_failed_worker_restarts_alone_after_its_wait() -> None:
    world = running()
    world.wait(10).fail("worker-1", code=1, words="ValueError: boom\n").settle()
    row = world.row("worker-1")
    assert (row.state.value, row.attempt, row.uid) == ("BackOff", 2, None)
    assert row.started_at is None
    assert (row.exit_code, row.message) == (1, "ValueError: boom")
    assert row.finished_at == START + timedelta(seconds=10)
    assert row.retry_at == world.again_at
    assert world.status.phase is Phase.DEGRADED
    assert world.status.epoch == 1
    assert world.started == 3
    before = world.news[-1].message
    assert before.startswith("worker-1 attempt 1: exit code 1: ValueError: boom; attempt 2 in ")
    assert before.endswith(" s (restart 1 of 6)")
    world.wait_for_retry()
    assert world.done[-2:] == [
        StopTask(task("worker-1"), Uid("worker-1#3"), 30, StopReason.REPLACED),
        StartTask(task("worker-1"), 2, 1),
    ]
    assert world.states() == dict.fromkeys(["ps-0", "worker-0", "worker-1"], "Running")
    assert world.status.restarts.application == 1
    assert world.status.replica_statuses[ReplicaType.WORKER].restarts == 1
    assert world.reasons == ["Running", "Restarting", "Running"]
    assert world.again_at is None


def test_a_failed_instance_is_kept_until_its_next_attempt_is_due() -> None:
    world = running().fail("worker-1").settle()
    assert world.instance("worker-1").has_ended
    assert world.again_at is not None
    world.now = world.again_at - timedelta(microseconds=1)
    world.settle()
    assert world.instance("worker-1").has_ended
    world.wait_for_retry()
    assert world.instance("worker-1").attempt == 2


@pytest.mark.parametrize(
    "fields",
    [
        {"sidecars_run": True},
        {"deletion": Deletion.BEFORE_END},
        {"deletion": Deletion.AFTER_END},
    ],
    ids=str,
)
def test_an_attempt_waits_until_the_previous_pod_is_gone(fields: dict[str, object]) -> None:
    """A sidecar or a finalizer delays the deletion, and the old pod keeps the name until then."""
    world = running().fail("worker-1").change("worker-1", **fields)
    world.tick()
    assert world.again_at is not None
    world.now = world.again_at
    decided = world.tick()
    assert not any(isinstance(action, StartTask) for action in decided.actions)
    assert world.row("worker-1").attempt == 2


def test_a_lost_ps_advances_the_epoch_and_the_workers_keep_running() -> None:
    world = running()
    workers = [world.instance("worker-0"), world.instance("worker-1")]
    world.fail("ps-0", code=137).settle()
    assert world.status.epoch == 2
    assert world.status.phase is Phase.DEGRADED
    world.wait_for_retry()
    assert world.done[-1] == StartTask(task("ps-0"), 2, 2)
    assert [world.instance("worker-0"), world.instance("worker-1")] == workers
    assert world.status.epoch == 2
    world.vanish("ps-0").settle()
    assert world.status.epoch == 3


def test_several_ps_lost_at_once_advance_the_epoch_by_one() -> None:
    world = running(ps=2).fail("ps-0").fail("ps-1").settle()
    assert world.status.epoch == 2
    assert world.status.restarts.application == 2


def test_a_ps_that_never_ran_does_not_advance_the_epoch() -> None:
    world = World(make_job(run=QUICK))
    world.tick()
    world.fail("ps-0", None, reason="CreateFailed", words="exec: no such file").settle()
    row = world.row("ps-0")
    assert (row.state.value, row.attempt, world.status.epoch) == ("CreateFailed", 2, 1)
    assert world.status.restarts.application == world.status.restarts.infrastructure == 0
    assert world.news[-1].reason == "CreateFailed"
    assert world.news[-1].message.endswith(
        "(not counted: it is tried until it starts, or until a deadline of the job)"
    )
    world.wait_for_retry()
    assert world.states()["ps-0"] == "Running"


@pytest.mark.parametrize("disturb", ["delete", "vanish"])
def test_a_task_that_vanishes_counts_as_one_infrastructure_failure(disturb: str) -> None:
    world = running()
    getattr(world, disturb)("worker-1").settle()
    restarts = world.status.restarts
    assert (restarts.application, restarts.infrastructure) == (0, 1)
    assert world.news[-1].message.endswith("(infrastructure restart 1 of 100 of this task)")
    world.wait_for_retry()
    assert world.row("worker-1").attempt == 2
    assert world.status.restarts == restarts


def test_exit_0_of_a_deleted_task_does_not_end_the_job() -> None:
    world = running()
    world.delete("worker-0").tick()
    assert world.states()["worker-0"] == "Stopping"
    world.succeed("worker-0")
    world.tick()
    assert world.status.phase is Phase.DEGRADED
    assert world.status.restarts.infrastructure == 1


def test_a_succeeded_task_keeps_its_state_when_its_instance_is_gone() -> None:
    world = running().succeed("worker-1").settle()
    world.vanish("worker-1").settle()
    assert world.states()["worker-1"] == "Succeeded"
    assert world.status.phase is Phase.RUNNING
    assert world.started == 3


def test_a_stale_instance_is_stopped_and_does_not_count() -> None:
    world = running()
    old = view("worker-1", attempt=7, uid=Uid("old"))
    other = view("worker-1", uid=Uid("other"))
    world.instances |= {"old": old, "other": other}
    decided = world.tick()
    assert {action.uid for action in decided.actions if isinstance(action, StopTask)} == {
        "old",
        "other",
    }
    world.change("worker-1", phase=TaskPhase.FAILED, exit_code=1)
    world.settle()
    assert world.status.restarts.application == 0
    assert world.states()["worker-1"] == "Running"


def test_an_instance_of_an_unknown_task_is_stopped() -> None:
    world = running()
    world.instances[Uid("w7")] = view("worker-7", uid=Uid("w7"))
    world.instances[Uid("e0")] = view("evaluator-0", uid=Uid("e0"))
    assert world.tick().actions == (
        StopTask(task("evaluator-0"), Uid("e0"), 30, "the job has no such task"),
        StopTask(task("worker-7"), Uid("w7"), 30, "the job has no such task"),
    )
    assert world.tick().actions == ()


@pytest.mark.e2e
def test_the_waits_of_a_task_grow_until_an_attempt_runs_for_long() -> None:
    world = running()
    waits = []
    for healthy in (0, 0, 0, 600):
        world.wait(healthy).fail("worker-1").settle()
        assert world.again_at is not None
        waits.append((world.again_at - world.now).total_seconds())
        world.wait_for_retry()
    assert [round(wait / full) for wait, full in zip(waits, (1, 2, 4, 1), strict=True)] == [1] * 4
    assert world.row("worker-1").failures_in_a_row == 1


def test_an_attempt_that_never_ran_does_not_reset_the_waits() -> None:
    world = running().fail("worker-1").settle().wait_for_retry()
    world.change("worker-1", phase=TaskPhase.PENDING, ready=False, started_at=None).settle()
    world.wait(10_000).fail("worker-1").settle()
    assert world.row("worker-1").failures_in_a_row == 2


def test_an_evicted_task_has_run_although_its_last_status_does_not_say_since_when() -> None:
    world = running().fail("worker-1").settle().wait_for_retry()
    world.wait(10_000).change("worker-1", started_at=None).fail("worker-1", None, reason="Evicted")
    assert world.settle().row("worker-1").failures_in_a_row == 1


def test_the_delay_until_an_end_is_observed_does_not_count_as_running() -> None:
    world = running().fail("worker-1").settle().wait_for_retry()
    world.wait(5).fail("worker-1").wait(10_000).settle()
    assert world.row("worker-1").failures_in_a_row == 2


def test_a_restarted_task_has_no_retry_time() -> None:
    world = running().fail("worker-1").settle()
    assert world.again_at is not None
    world.now = world.again_at
    world.tick()
    row = world.row("worker-1")
    assert (row.state.value, row.retry_at) == ("Pending", None)


def test_the_row_of_an_ended_task_has_the_time_of_its_end() -> None:
    world = running().wait(5).fail("worker-1").succeed("ps-0").wait(30).settle()
    at = START + timedelta(seconds=5)
    assert (world.row("worker-1").finished_at, world.row("ps-0").finished_at) == (at, at)
    retry_at = world.row("worker-1").retry_at
    assert retry_at is not None
    assert retry_at > world.now


def test_the_job_fails_with_a_reason_when_its_limit_is_used_up() -> None:
    world = World(make_job(run=QUICK | {"backoffLimit": 1})).settle()
    world.fail("worker-1", words="first\n").settle().wait_for_retry()
    world.fail("ps-0", 3, words="a\nOSError: disk is full\n").settle()
    status = world.status
    assert status.phase is Phase.FAILED
    assert status.failure == "ps-0 attempt 1: exit code 3: OSError: disk is full"
    assert status.restarts.application == 1
    assert status.epoch == 1
    (ready, failed) = status.conditions
    assert (ready.type, ready.status) == ("ClusterReady", "False")
    assert (failed.type, failed.status, failed.reason) == ("Failed", "True", "BackoffLimitExceeded")
    assert failed.message == f"{status.failure} (spec.runPolicy.backoffLimit is 1)"
    assert (world.news[-1].type, world.news[-1].reason) == (NewsType.WARNING, "Failed")
    assert world.states() == {"ps-0": "Failed", "worker-0": "Stopped", "worker-1": "Stopped"}
    assert world.row("ps-0").exit_code == 3
    assert status.completion_time == START + (world.now - START)
    assert world.again_at is None


def test_each_task_waits_independently() -> None:
    world = running().fail("worker-1").settle()
    first = world.again_at
    world.wait(0.1).fail("worker-0").settle()
    assert world.again_at == first
    world.wait_for_retry()
    assert world.states() == {"ps-0": "Running", "worker-0": "BackOff", "worker-1": "Running"}


def test_a_restart_of_the_whole_job_is_charged_once() -> None:
    world = running(each={"ps": {"onFailure": "RestartJob"}})
    world.succeed("worker-1").settle()
    world.fail("ps-0", words="no room").settle()
    assert world.status.restarts.application == 1
    assert world.status.epoch == 2
    assert {row.attempt for row in world.status.tasks} == {2}
    assert world.states() == dict.fromkeys(["ps-0", "worker-0", "worker-1"], "BackOff")
    assert world.status.phase is Phase.RESTARTING
    assert (world.row("worker-0").reason, world.row("worker-0").message) == (
        "JobRestarted",
        "because of ps-0",
    )
    assert world.row("ps-0").message == "no room"
    assert {row.retry_at for row in world.status.tasks} == {world.again_at}
    assert not [instance for instance in world.instances.values() if not instance.has_ended]
    assert world.news[-1].reason == "RestartingJob"
    world.wait_for_retry()
    assert world.states() == dict.fromkeys(["ps-0", "worker-0", "worker-1"], "Running")
    starts = [action for action in world.done if isinstance(action, StartTask)]
    assert [(action.attempt, action.epoch) for action in starts[-3:]] == [(2, 2)] * 3
    assert [row.failures_in_a_row for row in world.status.tasks] == [1, 0, 0]


def test_failures_observed_with_a_restart_of_the_job_are_not_charged() -> None:
    world = running(each={"ps": {"onFailure": "RestartJob"}})
    world.wait(2).fail("ps-0", 1).fail("worker-0", 2).fail("worker-1", 3).settle()
    assert world.status.restarts.application == 1
    assert {row.attempt for row in world.status.tasks} == {2}


def test_the_first_of_several_failures_restarts_the_job() -> None:
    world = running(ps=2, each={"ps": {"onFailure": "RestartJob"}})
    world.wait(2).fail("ps-1", 4).wait(1).fail("ps-0", 3).settle()
    assert world.row("ps-1").exit_code == 4
    assert world.news[-1].message.startswith("ps-1 attempt 1: exit code 4; the whole job restarts")


@pytest.mark.e2e
def test_a_waiting_task_keeps_its_attempt_when_the_job_restarts() -> None:
    world = running(each={"ps": {"onFailure": "RestartJob"}})
    for _ in range(3):
        world.fail("worker-1").settle().wait_for_retry()
    world.fail("worker-1").settle()
    late = world.row("worker-1").retry_at
    world.fail("ps-0").settle()
    assert world.row("worker-1").attempt == 5
    assert world.row("worker-1").retry_at == late
    assert world.row("worker-0").attempt == 2


def test_a_fatal_failure_takes_precedence_over_a_restart() -> None:
    world = running(each={"ps": {"onFailure": "RestartJob"}, "worker": {"restartPolicy": "Never"}})
    world.fail("ps-0", 1).wait(1).fail("worker-1", 2).settle()
    assert world.status.failure == "worker-1 attempt 1: exit code 2"
    assert world.status.restarts.application == 0
    assert world.states() == {"ps-0": "Failed", "worker-0": "Stopped", "worker-1": "Failed"}


def test_the_first_of_several_fatal_failures_is_the_reason() -> None:
    world = running(each={"worker": {"onFailure": "FailJob"}})
    world.wait(5).fail("worker-1", 4).wait(1).fail("worker-0", 5).settle()
    assert world.status.failure == "worker-1 attempt 1: exit code 4"


def test_an_ignored_task_remains_failed_and_the_job_keeps_running() -> None:
    world = running(each={"worker": {"onFailure": "Ignore"}}, chief=1)
    world.fail("worker-1", 7).settle()
    assert world.states()["worker-1"] == "Failed"
    assert world.row("worker-1").exit_code == 7
    assert world.status.phase is Phase.RUNNING
    assert world.status.restarts.application == 0
    assert world.status.replica_statuses[ReplicaType.WORKER].failed == 1
    assert world.news[-1].message == (
        "worker-1 attempt 1: exit code 7; ignored, as spec.replicaSpecs.worker.onFailure says"
    )
    world.vanish("worker-1").settle()
    assert world.states()["worker-1"] == "Failed"
    world.succeed("chief-0").settle()
    assert world.status.phase is Phase.SUCCEEDED
    assert world.states()["worker-1"] == "Failed"


def test_an_ignored_ps_does_not_advance_the_epoch() -> None:
    world = running(each={"ps": {"onFailure": "Ignore"}}).fail("ps-0").settle()
    assert world.status.epoch == 1


def test_a_ps_that_exits_0_is_done_unless_it_always_runs() -> None:
    world = running().succeed("ps-0").settle()
    assert (world.states()["ps-0"], world.status.epoch) == ("Succeeded", 1)
    world = running(each={"ps": {"restartPolicy": "Always"}}).succeed("ps-0").settle()
    assert (world.states()["ps-0"], world.status.epoch) == ("BackOff", 2)
    assert world.status.restarts.application == 0
    assert world.row("ps-0").reason == "Completed"
    assert world.news[-1].message.endswith("s (not counted: exit code 0 is not a failure)")


@pytest.mark.e2e
def test_always_restarts_a_task_after_every_exit_0_with_growing_pauses() -> None:
    policy = {"backoffLimit": 0, "restartBackoff": {"initialSeconds": 1, "maxSeconds": 8}}
    job = make_job(each={"worker": {"restartPolicy": "Always"}}, run=policy)
    world = World(job).settle()
    pauses = []
    for _ in range(4):
        world.succeed("worker-1").settle()
        retry_at = world.row("worker-1").retry_at
        assert retry_at is not None
        pauses.append((retry_at - world.now).total_seconds())
        world.wait_for_retry()
    assert world.status.phase is Phase.RUNNING
    assert world.row("worker-1").attempt == 5
    assert pauses == sorted(pauses)
    assert pauses[-1] > 4 * pauses[0]


def test_progress_and_steps_are_in_the_status_and_are_kept() -> None:
    world = running()
    world.progress = Progress(step=40, steps_per_second=8.5, metrics={"loss": float("nan"), "a": 1})
    world.change("worker-1", step=39).settle()
    assert world.status.progress is not None
    assert (world.status.progress.step, list(world.status.progress.metrics)) == (40, ["loss", "a"])
    assert world.row("worker-1").step == 39
    world.progress = None
    world.change("worker-1", step=None).settle()
    assert world.status.progress.step == 40
    assert world.row("worker-1").step == 39


def test_the_last_progress_may_arrive_after_the_end() -> None:
    world = running().succeed("worker-0").settle()
    world.progress = Progress(step=100)
    world.settle()
    assert world.status.progress is not None
    assert world.status.progress.step == 100


def test_an_unchanged_status_is_not_written() -> None:
    world = running()
    written = world.writes
    world.wait(1000).settle().settle()
    assert world.writes == written


def test_the_table_keeps_the_order_of_the_job_and_the_end_of_long_messages() -> None:
    world = running(chief=1, evaluator=1).fail("worker-1", words="x" * 5000 + "end").settle()
    names = [str(row.name) for row in world.status.tasks]
    assert names == ["chief-0", "ps-0", "worker-0", "worker-1", "evaluator-0"]
    assert world.row("worker-1").message == "x" * 1021 + "end"


def test_the_counts_of_a_type_are_those_of_its_rows() -> None:
    world = running(workers=4, chief=1).succeed("worker-0").fail("worker-1")
    world.change("worker-2", ready=False).settle()
    counts = world.status.replica_statuses[ReplicaType.WORKER]
    assert counts.model_dump() == {
        "desired": 4,
        "pending": 1,
        "running": 2,
        "ready": 1,
        "succeeded": 1,
        "failed": 0,
        "restarts": 1,
    }
    assert set(world.status.replica_statuses) == {
        ReplicaType.CHIEF,
        ReplicaType.PS,
        ReplicaType.WORKER,
    }


def test_a_large_job_names_the_first_tasks_that_it_waits_for() -> None:
    world = World(make_job(workers=12))
    world.tick()
    for index in range(12):
        world.change(f"worker-{index}", ready=False)
    world.settle()
    assert world.status.conditions[0].message == (
        "waiting for worker-0, worker-1, worker-2, worker-3, worker-4, worker-5, worker-6, worker-7"
        " and 4 more"
    )


def test_a_replacement_waits_until_the_name_is_free() -> None:
    world = running(each={"ps": {"onFailure": "RestartJob"}}).fail("ps-0")
    world.tick()
    assert world.instance("worker-0").deletion is Deletion.BEFORE_END
    assert world.again_at is not None
    world.now = world.again_at
    for _ in range(3):
        started = [action.task for action in world.tick().actions if isinstance(action, StartTask)]
        assert task("worker-0") not in started
        assert world.again_at is None or world.again_at > world.now
    assert world.row("worker-0").retry_at == world.now
    assert world.instance("ps-0").attempt == 2
    world.vanish("worker-0").settle()
    assert world.instance("worker-0").attempt == 2
