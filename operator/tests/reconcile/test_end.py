"""Scenarios: deadlines, and what remains of a job when it is over."""

from datetime import timedelta

import pytest
from reconcile.world import START, World, make_job, task

from capstan_operator.api.status import Condition, Phase
from capstan_operator.reconcile.actions import StopReason, StopTask
from capstan_operator.reconcile.observe import Deletion, InstanceState, TaskPhase

QUICK = {"restartBackoff": {"initialSeconds": 1}}


def running(**run: object) -> World:
    return World(make_job(run={**QUICK, **run}), pods=True).settle()


def done(**run: object) -> World:
    return running(**run).succeed("worker-0").settle()


def condition(world: World, kind: str) -> Condition:
    return next(found for found in world.status.conditions if found.type == kind)


def test_a_job_that_does_not_start_in_time_fails_and_says_which_task_is_missing() -> None:
    world = World(make_job(run={"pendingDeadlineSeconds": 60}), pods=True)
    world.tick()
    world.change("worker-1", phase=TaskPhase.PENDING, ready=False, reason="ErrImagePull", node="")
    world.wait(59).settle()
    assert (world.status.phase, world.status.pending_since) == (Phase.STARTING, START)
    assert world.again_at == START + timedelta(seconds=60)
    assert world.reasons == ["ImagePullFailed"]
    world.wait(1).settle()
    assert world.status.phase is Phase.FAILED
    assert condition(world, "Failed").reason == "DeadlineExceeded"
    line = "not all tasks ran after 60 s: waiting for worker-1; worker-1: ErrImagePull"
    assert world.status.failure == line
    assert condition(world, "Failed").message == f"{line} (spec.runPolicy.pendingDeadlineSeconds)"
    assert world.status.pending_since is None


def test_the_time_to_run_again_begins_with_each_failure() -> None:
    world = running(pendingDeadlineSeconds=60)
    assert (world.status.pending_since, world.again_at) == (None, None)
    world.wait(1000).fail("worker-1").settle()
    assert world.status.pending_since == START + timedelta(seconds=1000)
    world.wait_for_retry()
    assert (world.status.phase, world.status.pending_since) == (Phase.RUNNING, None)


def test_a_job_whose_last_task_comes_at_its_deadline_goes_on() -> None:
    world = World(make_job(run={"pendingDeadlineSeconds": 60}))
    world.tick()
    world.change("worker-1", ready=False).settle()
    world.wait(60).change("worker-1", ready=True).settle()
    assert world.status.phase is Phase.RUNNING


def test_only_running_pods_are_deleted_by_default() -> None:
    world = done()
    world.wait_for_retry()
    assert [str(instance.name) for instance in world.instances.values()] == ["worker-0"]


def test_all_pods_are_deleted_under_all() -> None:
    world = done(cleanPodPolicy="All")
    world.wait_for_retry()
    assert world.instances == {}
    assert world.states() == {"ps-0": "Stopped", "worker-0": "Succeeded", "worker-1": "Stopped"}
    assert world.again_at is None


def test_no_pod_is_deleted_under_none() -> None:
    world = done(cleanPodPolicy="None")
    world.wait(100).settle()
    assert not any(isinstance(action, StopTask) for action in world.done)
    assert world.states() == {"ps-0": "Running", "worker-0": "Succeeded", "worker-1": "Running"}
    world.succeed("worker-1").settle()
    assert world.states()["worker-1"] == "Succeeded"


def test_a_finished_job_is_deleted_after_its_time() -> None:
    world = done(ttlSecondsAfterFinished=60)
    world.wait_for_retry()
    assert world.again_at == START + timedelta(seconds=60)
    world.wait(54)
    assert not world.decide().delete_job
    world.now = world.again_at
    decided = world.decide()
    assert decided.delete_job
    assert (decided.status, decided.actions, decided.again_at) == (None, (), None)


def test_a_job_is_not_deleted_before_its_parameter_servers_have_stopped() -> None:
    world = done(ttlSecondsAfterFinished=0)
    world.succeed("worker-1")
    decided = world.tick()
    assert [action.task for action in decided.actions] == [task("ps-0")]  # type: ignore[union-attr]
    assert not decided.delete_job
    assert world.instance("ps-0").state is InstanceState.STOPPING
    assert not world.decide().delete_job
    world.end_stopping_instances()
    assert world.tick().delete_job


@pytest.mark.parametrize("seconds", [0, 60])
def test_a_job_that_keeps_its_pods_is_deleted_with_them(seconds: int) -> None:
    world = done(cleanPodPolicy="None", ttlSecondsAfterFinished=seconds).wait(seconds)
    assert world.decide().delete_job


def test_an_ended_pod_that_is_being_deleted_is_not_deleted_again() -> None:
    world = running(cleanPodPolicy="All").succeed("worker-1").settle()
    world.change("worker-1", deletion=Deletion.AFTER_END).succeed("worker-0")
    decided = world.tick()
    stops = [action for action in decided.actions if isinstance(action, StopTask)]
    assert [(stop.task, stop.why) for stop in stops] == [
        (task("ps-0"), StopReason.JOB_OVER),
        (task("worker-0"), StopReason.JOB_OVER),
    ]


def test_conditions_name_the_generation_that_they_are_based_on() -> None:
    job = make_job(run=QUICK)
    metadata = job.metadata.model_copy(update={"generation": 4})
    world = World(job.model_copy(update={"metadata": metadata})).settle()
    assert [found.observed_generation for found in world.status.conditions] == [4]
    changed = metadata.model_copy(update={"generation": 5})
    world.job = world.job.model_copy(update={"metadata": changed})
    world.wait(7).settle()
    (ready,) = world.status.conditions
    assert (ready.observed_generation, ready.last_transition_time) == (5, START)
