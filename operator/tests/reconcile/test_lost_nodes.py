"""Scenarios: the tasks of a lost node, whose pods only a forced deletion removes."""

from typing import Any

import pytest
from reconcile.world import START, World, make_job, task

from capstan_operator.api.status import Phase, TaskState
from capstan_operator.reconcile.actions import StartTask, StopReason, StopTask
from capstan_operator.reconcile.observe import Deletion, TaskPhase

QUICK = {"restartBackoff": {"initialSeconds": 1}}


def running(**kwargs: Any) -> World:
    return World(make_job(run=QUICK, **kwargs), pods=True).settle()


class TestALostNode:
    def test_its_pods_are_force_deleted_and_start_elsewhere(self) -> None:
        world = running()
        uid = world.instance("worker-1").uid
        world.lose_node("worker-1")
        decided = world.tick()
        assert decided.actions == (StopTask(task("worker-1"), uid, 0, StopReason.NODE_LOST),)
        assert uid not in world.instances
        world.settle()
        assert (world.row("worker-1").reason, world.row("worker-1").attempt) == ("NodeLost", 2)
        assert world.status.restarts.infrastructure == 1
        assert world.status.epoch == 2
        world.wait_for_retry()
        assert world.done[-1] == StartTask(task("worker-1"), 2, 2)
        assert world.status.epoch == 2

    def test_a_missing_node_does_not_use_up_the_limit_of_a_policy_without_waits(self) -> None:
        """A template may name a node that does not exist. Each of its pods is lost at once."""
        at_once = {"restartBackoff": {"initialSeconds": 0}}
        world = World(make_job(run=at_once), pods=True).settle()
        for _ in range(10):
            world.change("worker-1", phase=TaskPhase.PENDING, started_at=None).settle()
            world.lose_node("worker-1").settle()
            assert world.row("worker-1").state is TaskState.BACK_OFF
            world.wait_for_retry()
        assert world.status.restarts.infrastructure == 10
        assert (world.now - START).total_seconds() > 600
        world.lose_node("worker-1").settle()
        assert world.row("worker-1").attempt == 12, "a task that has run starts again at once"

    @pytest.mark.parametrize(
        "seconds, silent_seconds, counted", [(905, 900, 2), (1500, 900, 1), (5, -10_000, 2)]
    )
    def test_its_silence_does_not_count_as_running(
        self, seconds: float, silent_seconds: float, counted: int
    ) -> None:
        """The clock by which the node fell silent may be ahead."""
        world = running().fail("worker-1").settle().wait_for_retry()
        world.wait(seconds).lose_node("worker-1", silent_seconds=silent_seconds).settle()
        assert world.row("worker-1").failures_in_a_row == counted

    def test_its_stopping_pods_are_force_deleted(self) -> None:
        world = running(each={"ps": {"onFailure": "RestartJob"}})
        world.fail("ps-0")
        world.tick()
        assert world.instance("worker-1").deletion is Deletion.BEFORE_END
        uid = world.instance("worker-1").uid
        world.lose_node("worker-1")
        stops = [action for action in world.tick().actions if isinstance(action, StopTask)]
        assert StopTask(task("worker-1"), uid, 0, StopReason.NODE_LOST) in stops
        world.settle().wait_for_retry()
        assert {row.attempt for row in world.status.tasks} == {2}
        assert world.status.restarts.infrastructure == 0

    def test_a_deleted_pod_on_a_lost_node_is_one_failure(self) -> None:
        world = running().delete("worker-1")
        world.tick()
        world.lose_node("worker-1").settle().wait_for_retry()
        assert world.row("worker-1").attempt == 2
        assert world.status.restarts.infrastructure == 1

    def test_no_task_on_a_lost_node_outlives_its_job(self) -> None:
        world = running()
        world.lose_node("ps-0").succeed("worker-0")
        uid = world.instance("ps-0").uid
        decided = world.tick()
        assert StopTask(task("ps-0"), uid, 0, StopReason.NODE_LOST) in decided.actions
        world.settle()
        assert world.status.phase is Phase.SUCCEEDED

    def test_several_tasks_on_a_lost_node_advance_the_epoch_once(self) -> None:
        world = running().lose_node("ps-0").lose_node("worker-1").settle()
        assert world.status.epoch == 2
        assert world.status.restarts.infrastructure == 2

    def test_the_pod_of_an_ignored_task_on_a_lost_node_is_force_deleted_too(self) -> None:
        world = running(chief=1, each={"worker": {"onFailure": "Ignore"}})
        uid = world.instance("worker-1").uid
        world.lose_node("worker-1").settle()
        assert uid not in world.instances
        assert world.states()["worker-1"] == "Failed"
        assert world.status.epoch == 2

    def test_a_task_that_had_failed_keeps_its_failure_and_starts_elsewhere(self) -> None:
        """The kubelet had reported the exit code, and never reports that the pod is final."""
        world = running().fail("worker-1", code=1).change("worker-1", on_lost_node=True)
        uid = world.instance("worker-1").uid
        decided = world.tick()
        assert decided.actions == (StopTask(task("worker-1"), uid, 0, StopReason.NODE_LOST),)
        world.settle()
        assert (world.row("worker-1").exit_code, world.row("worker-1").reason) == (1, "")
        assert (world.status.restarts.application, world.status.epoch) == (1, 1)
        world.wait_for_retry()
        assert world.states()["worker-1"] == "Running"

    @pytest.mark.parametrize("name", ["worker-0", "worker-1"])
    def test_a_task_that_had_succeeded_has_succeeded(self, name: str) -> None:
        world = running().succeed(name).change(name, on_lost_node=True)
        uid = world.instance(name).uid
        assert StopTask(task(name), uid, 0, StopReason.NODE_LOST) in world.tick().actions
        world.settle()
        assert world.states()[name] == "Succeeded"
        assert (world.status.phase is Phase.SUCCEEDED) is (name == "worker-0")
        assert world.status.restarts.infrastructure == 0
