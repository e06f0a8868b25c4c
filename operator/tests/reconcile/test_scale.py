"""Changes of `spec.replicaSpecs.worker.replicas` while the job exists."""

import pytest
from reconcile.world import World, make_job, task

from capstan_operator.api.status import Phase, Restarts
from capstan_operator.reconcile.actions import StartTask, StopTask


def running(workers: int, **options: object) -> World:
    return World(make_job(workers=workers, **options), pods=True).settle()


def scaled(world: World, workers: int, **options: object) -> World:
    """Change the number of workers of the job in the same way as `kubectl scale`."""
    world.job = make_job(workers=workers, **options)
    return world


def test_more_replicas_start_only_the_new_workers() -> None:
    world = running(2)
    world.done.clear()
    scaled(world, 4).settle()
    assert world.done == [
        StartTask(task("worker-2"), 1, 1),
        StartTask(task("worker-3"), 1, 1),
    ]
    assert (world.status.phase, world.status.epoch) == (Phase.RUNNING, 1)
    assert world.status.replica_statuses["worker"].running == 4
    assert "the number of workers has changed from 2 to 4" in [news.message for news in world.news]


def test_fewer_replicas_stop_the_last_workers_without_a_charge() -> None:
    world = running(4, run={"backoffLimit": 0, "infrastructureBackoffLimit": 0})
    world.done.clear()
    scaled(world, 2, run={"backoffLimit": 0, "infrastructureBackoffLimit": 0}).settle()
    stops = [action for action in world.done if isinstance(action, StopTask)]
    assert [str(stop.task) for stop in stops] == ["worker-2", "worker-3"]
    assert len(stops) == len(world.done)
    assert world.states() == dict.fromkeys(["ps-0", "worker-0", "worker-1"], "Running")
    assert {str(name): last for name, last in world.status.removed.items()} == {
        "worker-2": 1,
        "worker-3": 1,
    }
    assert world.status.restarts == Restarts()
    assert world.status.replica_statuses["worker"].desired == 2


@pytest.mark.parametrize("end", ["fail", "succeed", "vanish", "delete", "lose_node"])
def test_the_end_of_a_worker_that_was_just_removed_is_not_counted(end: str) -> None:
    limits = {"backoffLimit": 0, "infrastructureBackoffLimit": 0}
    world = running(3, run=limits)
    scaled(world, 2, run=limits)
    getattr(world, end)("worker-2")
    world.settle()
    assert world.status.phase is Phase.RUNNING
    assert world.status.restarts == Restarts()
    assert world.status.epoch == 1
    assert len(world.instances) == 3, "the pod of worker-2 was not deleted"


def test_a_worker_that_comes_back_waits_for_its_old_pod_and_has_the_next_attempt() -> None:
    world = running(3)
    scaled(world, 2).tick()
    scaled(world, 3).tick()
    assert [str(view.name) for view in world.instances.values()].count("worker-2") == 1
    assert world.row("worker-2").attempt == 2
    assert "attempt 1" in world.row("worker-2").waiting
    world.settle()
    assert world.row("worker-2").state == "Running"
    assert world.status.removed == {}
    assert world.status.restarts == Restarts()
    assert world.status.replica_statuses["worker"].restarts == 0


def test_workers_that_wait_for_their_next_attempt_can_be_removed() -> None:
    world = running(3).fail("worker-2").settle()
    assert world.row("worker-2").state == "BackOff"
    scaled(world, 2).settle()
    assert world.status.phase is Phase.RUNNING
    assert {str(name): last for name, last in world.status.removed.items()} == {"worker-2": 2}
    assert world.again_at is None


def test_a_finished_job_keeps_its_rows() -> None:
    world = running(3).succeed("worker-0").settle()
    states = world.states()
    scaled(world, 5).settle()
    assert world.states() == states
    scaled(world, 1).settle()
    assert world.states() == states


def test_a_suspended_job_continues_with_its_new_number_of_workers() -> None:
    world = running(2)
    scaled(world, 4, suspend=True).settle()
    scaled(world, 1, suspend=True).settle()
    assert world.status.phase is Phase.SUSPENDED
    scaled(world, 3).settle()
    assert world.status.phase is Phase.RUNNING
    attempts = {str(row.name): row.attempt for row in world.status.tasks}
    assert attempts == {"ps-0": 2, "worker-0": 2, "worker-1": 2, "worker-2": 2}
    assert {str(name): last for name, last in world.status.removed.items()} == {"worker-3": 1}


def test_all_workers_means_the_workers_that_the_job_has() -> None:
    world = running(3, successPolicy="AllWorkers").succeed("worker-0").settle()
    scaled(world, 1, successPolicy="AllWorkers").settle()
    assert world.status.phase is Phase.SUCCEEDED


def test_the_selector_selects_the_workers() -> None:
    chosen = "capstan.dev/job-name=digits,capstan.dev/replica-type=worker"
    assert running(1).status.selector == chosen
    assert running(0, chief=1).status.selector == ""


def test_each_change_of_the_number_of_workers_gives_the_cluster_a_new_version() -> None:
    world = running(2)
    assert world.status.cluster_version == 0
    scaled(world, 3).settle()
    assert world.status.cluster_version == 1
    world.fail("worker-0").settle().wait_for_retry()
    assert world.status.cluster_version == 1
    scaled(world, 1, suspend=True).settle()
    scaled(world, 1).settle()
    assert world.status.cluster_version == 2
