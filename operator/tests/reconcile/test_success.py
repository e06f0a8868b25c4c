"""Scenarios: which tasks a job needs for its success, and how the other tasks and sidecars end."""

from datetime import timedelta
from typing import Any

import pytest
from reconcile.world import World, make_job

from capstan_operator.api.status import Phase
from capstan_operator.reconcile.actions import StopTask
from capstan_operator.reconcile.observe import TaskPhase

QUICK = {"restartBackoff": {"initialSeconds": 1}}


def running(**kwargs: Any) -> World:
    return World(make_job(run=QUICK, **kwargs), pods=True).settle()


class TestTheEndOfAJobThatSucceeded:
    """Workers end together, but kubelets report their pods one after the other. A pod that is
    stopped before its end is reported loses the only log of its task."""

    def world(self) -> World:
        return World(make_job(workers=2), pods=True).settle().wait(60).succeed("worker-0")

    def test_gives_workers_time_to_end_by_themselves(self) -> None:
        world = self.world().settle()
        assert world.status.phase is Phase.SUCCEEDED
        assert not any(isinstance(action, StopTask) for action in world.done)
        world.wait(2).succeed("worker-1").settle()
        assert world.row("worker-1").state.value == "Succeeded"
        stopped = [str(action.task) for action in world.done if isinstance(action, StopTask)]
        assert stopped == ["ps-0"]

    def test_stops_the_remaining_tasks_after_five_seconds(self) -> None:
        world = self.world().settle()
        assert world.again_at == world.now + timedelta(seconds=5)
        world.wait_for_retry()
        stopped = {str(action.task) for action in world.done if isinstance(action, StopTask)}
        assert stopped == {"ps-0", "worker-1"}
        assert world.again_at is None

    def test_does_not_wait_if_only_parameter_servers_are_left(self) -> None:
        world = World(make_job(workers=1), pods=True).settle().succeed("worker-0").settle()
        assert [str(action.task) for action in world.done if isinstance(action, StopTask)] == [
            "ps-0"
        ]

    def test_does_not_wait_for_tasks_that_are_stopping(self) -> None:
        world = self.world().delete("worker-1")
        world.tick()
        assert [str(action.task) for action in world.done if isinstance(action, StopTask)] == [
            "ps-0"
        ]

    def test_stops_tasks_soon_if_the_clock_was_set_back(self) -> None:
        world = self.world()
        world.tick()
        world.wait(-3600).settle().wait(5).settle()
        assert any(isinstance(action, StopTask) for action in world.done)

    def test_stops_tasks_at_once_if_the_job_has_failed(self) -> None:
        world = World(make_job(workers=2, run={"backoffLimit": 0}), pods=True).settle()
        world.fail("worker-0").tick()
        assert world.status.phase is Phase.FAILED
        assert any(isinstance(action, StopTask) for action in world.done)


class TestASidecarOfATaskThatEnded:
    """The kubelet ends the sidecar. The operator waits for this, so that it keeps the pod
    and its logs."""

    def stopped(self, world: World) -> set[str]:
        return {str(action.task) for action in world.done if isinstance(action, StopTask)}

    @pytest.mark.parametrize("fate", ["succeed", "fail"])
    def test_has_time_to_end_when_the_job_is_over(self, fate: str) -> None:
        world = World(make_job(workers=1, run={"backoffLimit": 0}), pods=True).settle()
        getattr(world, fate)("worker-0").change("worker-0", sidecars_run=True).settle()
        assert self.stopped(world) == {"ps-0"}
        world.change("worker-0", sidecars_run=False).wait(60).settle()
        assert self.stopped(world) == {"ps-0"}

    def test_is_stopped_five_seconds_after_the_end_of_the_job(self) -> None:
        world = World(make_job(workers=1), pods=True).settle()
        world.succeed("worker-0").change("worker-0", sidecars_run=True).settle()
        assert world.again_at == world.now + timedelta(seconds=5)
        world.wait_for_retry()
        assert self.stopped(world) == {"ps-0", "worker-0"}

    def test_is_not_waited_for_on_a_lost_node(self) -> None:
        world = World(make_job(workers=2), pods=True).settle()
        world.lose_node("worker-1").change("worker-1", sidecars_run=True)
        world.succeed("worker-0").tick()
        assert "worker-1" in self.stopped(world)


@pytest.mark.e2e
def test_all_workers_succeeds_when_the_last_worker_succeeds() -> None:
    world = running(successPolicy="AllWorkers").succeed("worker-0").settle()
    assert world.status.phase is Phase.RUNNING
    world.fail("worker-1").settle().wait_for_retry().succeed("worker-1").settle()
    assert world.status.phase is Phase.SUCCEEDED
    assert world.status.restarts.application == 1


@pytest.mark.parametrize(
    "chief, done", [(1, "chief-0"), (0, "worker-0")], ids=["chief", "no chief"]
)
def test_the_job_succeeds_with_its_chief_or_with_worker_0(chief: int, done: str) -> None:
    world = running(chief=chief).succeed("worker-1").settle()
    assert world.status.phase is Phase.RUNNING
    world.succeed(done).settle()
    assert world.status.phase is Phase.SUCCEEDED


def test_a_ps_that_exits_0_is_done_unless_its_restart_policy_is_always() -> None:
    world = running().succeed("ps-0").settle()
    assert (world.states()["ps-0"], world.status.epoch) == ("Succeeded", 1)
    world = running(each={"ps": {"restartPolicy": "Always"}}).succeed("ps-0").settle()
    assert (world.states()["ps-0"], world.status.epoch) == ("BackOff", 2)


def test_a_success_names_the_workers_that_never_ran() -> None:
    world = World(make_job(chief=1, workers=3), pods=True)
    world.refused["worker-2"] = "CreateFailed"
    world.tick()
    pending = {"phase": TaskPhase.PENDING, "ready": False, "started_at": None, "node": ""}
    world.change("worker-1", **pending, reason="Unschedulable").settle()
    world.succeed("chief-0").settle()
    (succeeded,) = (each for each in world.status.conditions if each.type == "Succeeded")
    assert succeeded.message == "chief-0 succeeded; worker-1, worker-2 never ran"
    assert world.news[-1].message == succeeded.message
