"""Obstacles of a job, reasons why its pods wait, and how the status reports both."""

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from reconcile.world import START, World, make_job, task, view

from capstan_operator.api.names import Uid
from capstan_operator.api.status import Condition, Phase, Status
from capstan_operator.errors import Fault
from capstan_operator.reconcile import invalid
from capstan_operator.reconcile.actions import NewsType, Plan, StartTask, StopTask
from capstan_operator.reconcile.observe import Deletion, Observed, Obstacle, TaskPhase
from capstan_operator.reconcile.plan import plan

QUICK = {"restartBackoff": {"initialSeconds": 1}}


def new(**kwargs: Any) -> World:
    return World(make_job(run=QUICK, **kwargs), pods=True)


def condition(world: World, kind: str) -> Condition | None:
    found = [entry for entry in world.status.conditions if entry.type == kind]
    return found[0] if found else None


def texts(world: World) -> dict[str, Any]:
    assert world.status.summary is not None
    return world.status.summary.model_dump()


class TestAnInvalidTemplate:
    def test_starts_no_task_and_is_reported_once(self) -> None:
        world = new()
        world.obstacle = Obstacle("TemplateInvalid", "worker: unknown field imag; ps: no")
        world.settle()
        assert (world.status.phase, world.status.tasks) == (Phase.INVALID, ())
        assert world.started == 0
        reported = condition(world, "Invalid")
        assert reported is not None
        assert (reported.status, reported.reason) == ("True", "TemplateInvalid")
        assert reported.message == "worker: unknown field imag; ps: no"
        assert [(news.type, news.reason) for news in world.news] == [
            (NewsType.WARNING, "TemplateInvalid")
        ]
        assert texts(world)["reason"] == reported.message
        writes = world.writes
        world.wait(100).settle()
        assert (world.writes, len(world.news)) == (writes, 1)

    def test_lets_the_job_begin_once_the_template_is_accepted(self) -> None:
        world = new()
        world.obstacle = Obstacle("TemplateInvalid", "no")
        world.settle()
        assert world.status.start_time is None
        world.obstacle = None
        world.wait(50).settle()
        assert (world.status.phase, world.status.epoch) == (Phase.RUNNING, 1)
        assert world.status.start_time == START + timedelta(seconds=50)
        assert condition(world, "Invalid") is None

    def test_changes_nothing_in_a_running_job(self) -> None:
        world = new().settle()
        world.obstacle = Obstacle("TemplateInvalid", "no")
        before = dict(world.instances)
        world.fail("worker-1").settle()
        assert set(world.instances) == set(before)
        assert world.status.restarts.application == 0
        world.obstacle = None
        world.settle()
        assert world.status.restarts.application == 1

    def test_changes_nothing_in_a_finished_job(self) -> None:
        world = new().settle().succeed("worker-0").settle().wait(10).settle()
        world.obstacle = Obstacle("TemplateInvalid", "no")
        assert world.decide() == Plan()


class TestAnInvalidJob:
    FAULTS = (Fault("spec.replicaSpecs", "is required"), Fault("spec.x", "is not a field"))

    def test_all_faults_of_an_invalid_job_are_reported_once(self) -> None:
        first = invalid.plan(Status(), self.FAULTS, 3, START)
        assert first.status is not None
        assert (first.status.phase, first.status.observed_generation) == (Phase.INVALID, 3)
        (reported,) = first.status.conditions
        assert (reported.type, reported.status, reported.reason) == (
            "Invalid",
            "True",
            "SpecInvalid",
        )
        assert reported.message == "spec.replicaSpecs: is required; spec.x: is not a field"
        assert [news.message for news in first.news] == [reported.message]
        assert first.actions == ()
        later = START + timedelta(seconds=9)
        assert invalid.plan(first.status, self.FAULTS, 3, later) == Plan()
        other = invalid.plan(first.status, self.FAULTS[:1], 4, later)
        assert other.status is not None
        assert other.news == ()
        assert other.status.conditions[0].last_transition_time == START

    def test_that_has_finished_does_not_change(self) -> None:
        ended = Status(phase=Phase.SUCCEEDED)
        assert invalid.plan(ended, self.FAULTS, 3, START) == Plan()

    def test_the_first_faults_are_reported_if_there_are_very_many(self) -> None:
        faults = [Fault(f"spec.field{index}", "is not a field") for index in range(1000)]
        status = invalid.plan(Status(), faults, 1, START).status
        assert status is not None
        assert len(status.conditions[0].message) == 4096
        assert status.summary is not None
        assert len(status.summary.reason) == 256


class TestANameConflict:
    def test_starts_no_task_until_the_other_object_is_gone(self) -> None:
        world = new()
        world.obstacle = Obstacle("NameConflict", "there is a Service digits that is not ours")
        world.settle()
        assert world.started == 0
        assert set(world.states().values()) == {"Pending"}
        assert world.status.phase is Phase.PENDING
        reported = condition(world, "NameConflict")
        assert reported is not None
        assert (reported.status, reported.message) == (
            "True",
            "there is a Service digits that is not ours",
        )
        ready = condition(world, "ClusterReady")
        assert ready is not None
        assert (ready.status, ready.reason) == ("False", "NameConflict")
        assert [(news.type, news.reason) for news in world.news] == [
            (NewsType.WARNING, "NameConflict")
        ]
        world.obstacle = None
        world.settle()
        assert world.status.phase is Phase.RUNNING
        assert condition(world, "NameConflict") is None

    def test_of_a_running_job_stops_no_task_and_hides_no_failure(self) -> None:
        world = new().settle()
        world.obstacle = Obstacle("NameConflict", "no")
        world.fail("worker-1").settle()
        assert world.status.restarts.application == 1
        assert world.states() == {"ps-0": "Running", "worker-0": "Running", "worker-1": "BackOff"}
        world.wait(100).settle()
        assert world.states()["worker-1"] == "BackOff"
        assert world.instance("worker-1").has_ended
        world.obstacle = None
        world.settle()
        assert world.states()["worker-1"] == "Running"
        assert world.row("worker-1").attempt == 2


class TestPodsOfADeletedJob:
    def old(self, name: str, **fields: Any) -> Any:
        known = {
            "uid": Uid(f"old-{name}"),
            "deletion": Deletion.WITH_ITS_JOB,
            "pod": f"digits-{name}",
        }
        return view(name, **(known | fields))

    def test_are_waited_for_and_neither_stopped_nor_counted(self) -> None:
        world = new()
        for name in ("worker-1", "worker-7"):
            instance = self.old(name)
            world.instances[instance.uid] = instance
        for _ in range(3):
            decided = world.tick()
            assert decided.actions == ()
        ready = condition(world, "ClusterReady")
        assert ready is not None
        assert (ready.status, ready.reason) == ("False", "WaitingForOldPods")
        assert ready.message == (
            "pods of a deleted job of the same name still exist: digits-worker-1, digits-worker-7"
        )
        assert [(news.type, news.reason) for news in world.news] == [
            (NewsType.NORMAL, "WaitingForOldPods")
        ]
        assert texts(world)["reason"] == ready.message
        assert world.row("worker-1").waiting == ""
        world.vanish("worker-1").tick()
        assert world.started == 0
        world.vanish("worker-7").settle()
        assert world.status.phase is Phase.RUNNING
        assert world.status.restarts.infrastructure == 0
        assert {row.attempt for row in world.status.tasks} == {1}

    @pytest.mark.parametrize(
        "end",
        [
            {"phase": TaskPhase.FAILED, "reason": "NodeLost"},
            {"phase": TaskPhase.FAILED, "exit_code": 1},
            {"phase": TaskPhase.SUCCEEDED, "exit_code": 0},
            {"attempt": 2},
        ],
    )
    def test_are_neither_stopped_nor_counted_in_any_state(self, end: dict[str, Any]) -> None:
        world = new()
        instance = self.old("worker-0", **end)
        world.instances[instance.uid] = instance
        assert world.tick().actions == ()
        assert world.status.restarts.infrastructure == 0

    def test_are_waited_for_if_only_their_service_is_seen(self) -> None:
        observed = Observed((), obstacle=Obstacle("WaitingForOldPods", "Service digits"))
        decided = plan(make_job(), Status(), observed, START)
        assert decided.actions == ()
        assert decided.status is not None
        (ready,) = decided.status.conditions
        assert (ready.reason, ready.message) == ("WaitingForOldPods", "Service digits")


def test_a_late_answer_about_the_pods_is_shown_and_is_no_news() -> None:
    late = Obstacle("TemplateUnchecked", "no answer yet")
    decided = plan(make_job(), Status(), Observed((), obstacle=late), START)
    assert (decided.actions, decided.news) == ((), ())
    assert decided.status is not None
    assert decided.status.summary.reason == "no answer yet"


class TestTheReasonWhyAPodWaits:
    def pending(self, world: World, name: str, reason: str, message: str = "", **more: Any) -> None:
        fields = {"phase": TaskPhase.PENDING, "ready": False, "reason": reason, "message": message}
        world.change(name, **(fields | more))

    def test_is_in_the_row_while_the_pod_waits(self) -> None:
        world = new()
        world.tick()
        message = 'Back-off pulling image\n "x"'
        self.pending(world, "worker-1", "ImagePullBackOff", message)
        world.settle()
        row = world.row("worker-1")
        assert row.waiting == 'ImagePullBackOff: Back-off pulling image "x"'
        assert (row.state.value, row.reason, row.message) == ("Pending", "", "")
        ready = condition(world, "ClusterReady")
        assert ready is not None
        assert ready.message == f"waiting for worker-1; worker-1: {row.waiting}"
        assert texts(world) == {
            "ps": "1/1",
            "workers": "1/2",
            "restarts": 0,
            "reason": ready.message,
        }
        world.change("worker-1", phase=TaskPhase.RUNNING, ready=True, reason="", message="")
        world.settle()
        assert world.row("worker-1").waiting == ""
        assert texts(world)["reason"] == ""

    def test_keeps_its_beginning_and_its_end_when_it_is_cut(self) -> None:
        world = new()
        world.tick()
        self.pending(world, "worker-1", "ErrImagePull", f"{'failed to pull: ' * 40}no such host")
        waiting = world.settle().row("worker-1").waiting
        assert waiting.startswith("ErrImagePull: failed to pull")
        assert "…" in waiting
        assert waiting.endswith("failed to pull: no such host")

    @pytest.mark.parametrize("then", ["fail", "delete", "vanish", "over"])
    def test_is_removed_when_the_pod_waits_no_longer(self, then: str) -> None:
        world = new()
        world.tick()
        self.pending(world, "worker-1", "ContainerCreating")
        world.settle()
        assert world.row("worker-1").waiting == "ContainerCreating"
        if then == "over":
            world.succeed("worker-0")
        else:
            getattr(world, then)("worker-1")
        world.tick()
        assert world.row("worker-1").waiting == ""

    def test_is_cut_if_it_is_very_long(self) -> None:
        world = new()
        world.tick()
        self.pending(world, "worker-1", "Unschedulable", "x" * 5000)
        world.settle()
        assert len(world.row("worker-1").waiting) == 256

    def test_an_unscheduled_pod_waits_for_a_node(self) -> None:
        world = new()
        world.tick()
        self.pending(world, "worker-1", "Unschedulable", "0/3 nodes", node="")
        world.settle()
        reported = condition(world, "PodsScheduled")
        assert reported is not None
        assert (reported.status, reported.reason) == ("False", "Unscheduled")
        assert reported.message == "waiting for worker-1; worker-1: Unschedulable: 0/3 nodes"
        world.wait(5).change(
            "worker-1", phase=TaskPhase.RUNNING, ready=True, node="node-2", reason="", message=""
        )
        world.settle()
        reported = condition(world, "PodsScheduled")
        assert reported is not None
        assert (reported.status, reported.last_transition_time) == (
            "True",
            START + timedelta(seconds=5),
        )

    def test_a_task_without_a_pod_waits_for_its_pod(self) -> None:
        world = new().settle().fail("worker-1").settle()
        reported = condition(world, "PodsScheduled")
        assert reported is not None
        assert (reported.status, reported.reason) == ("False", "PodsMissing")
        assert reported.message == "waiting for worker-1; worker-1: exit code 1"

    @pytest.mark.parametrize("old", [{}, {"phase": TaskPhase.RUNNING}])
    def test_a_task_waits_for_the_end_of_its_previous_pod(self, old: dict[str, Any]) -> None:
        """A finalizer or a silent node keeps the previous pod."""
        world = new().settle().fail("worker-1").settle()
        world.change("worker-1", deletion=Deletion.BEFORE_END, **old)
        world.wait(5).tick()
        row = world.row("worker-1")
        why = "the pod of attempt 1 on node-2 is still being deleted"
        assert (row.state.value, row.attempt, row.waiting) == ("BackOff", 2, why)
        for kind in ("PodsScheduled", "ClusterReady"):
            reported = condition(world, kind)
            assert reported is not None
            assert reported.message == f"waiting for worker-1; worker-1: {why}"
        assert texts(world)["reason"] == f"waiting for worker-1; worker-1: {why}"
        written = world.writes
        world.wait(100).tick()
        assert world.writes == written
        world.vanish("worker-1").tick()
        assert (world.instance("worker-1").attempt, world.row("worker-1").waiting) == (2, "")

    def test_a_task_waits_for_the_end_of_the_pod_that_the_pass_stopped(self) -> None:
        world = new().settle().fail("worker-1").settle()
        world.wait(5)
        old = world.instance("worker-1")
        world.tick(effects=2)  # the old pod is asked to stop; its successor cannot be created
        world.instances[old.uid] = dataclasses.replace(old, deletion=Deletion.BEFORE_END)
        world.tick()
        row = world.row("worker-1")
        assert (row.state.value, row.attempt) == ("Pending", 2)
        assert row.waiting == "the pod of attempt 1 on node-2 is still being deleted"

    def test_a_task_waits_for_the_end_of_its_previous_process(self) -> None:
        world = World(make_job(run=QUICK, each={"worker": {"onFailure": "RestartJob"}})).settle()
        world.fail("worker-0").tick()
        world.tick()
        world.wait(5).tick()
        assert world.row("worker-1").waiting == "attempt 1 is still stopping"


def test_processes_have_no_condition_pods_scheduled() -> None:
    world = World(make_job()).settle()
    assert [entry.type for entry in world.status.conditions] == ["ClusterReady"]


def test_a_row_names_its_pod_and_its_node() -> None:
    world = new().settle()
    row = world.row("worker-1")
    assert (row.pod, row.node) == ("digits-worker-1", "node-2")
    world.fail("worker-1").settle()
    row = world.row("worker-1")
    assert (row.pod, row.node) == ("digits-worker-1", "node-2")
    assert world.again_at is not None
    world.now = world.again_at
    decided = world.tick()
    assert StartTask(task("worker-1"), 2, 1) in decided.actions
    assert (world.row("worker-1").pod, world.row("worker-1").node) == ("", "")


def test_the_observed_generation_is_in_the_status() -> None:
    world = new()
    metadata = world.job.metadata.model_copy(update={"generation": 3})
    world.job = world.job.model_copy(update={"metadata": metadata})
    world.settle()
    assert world.status.observed_generation == 3
    world.succeed("worker-0").settle().wait(10).settle()
    metadata = metadata.model_copy(update={"generation": 4})
    world.job = world.job.model_copy(update={"metadata": metadata})
    world.settle()
    assert world.status.observed_generation == 4
    world.obstacle = Obstacle("TemplateInvalid", "no")
    assert world.decide() == Plan()


@pytest.mark.e2e
def test_the_summary_counts_a_chief_as_a_worker_and_every_restart() -> None:
    world = new(chief=1, ps=2, workers=3)
    assert world.status.summary is None
    world.settle()
    assert texts(world) == {"ps": "2/2", "workers": "4/4", "restarts": 0, "reason": ""}
    world.fail("worker-1").vanish("ps-0").settle()
    assert texts(world) == {
        "ps": "1/2",
        "workers": "3/4",
        "restarts": 2,
        "reason": "waiting for ps-0, worker-1; ps-0: Lost: it is gone, and its end was not seen",
    }
    world.wait_for_retry().wait(10).settle().succeed("chief-0").settle()
    assert texts(world) == {"ps": "2/2", "workers": "4/4", "restarts": 2, "reason": ""}
    assert not any(
        isinstance(action, StopTask) and action.task == task("chief-0") for action in world.done
    )


@pytest.mark.e2e
def test_the_summary_of_a_finished_job_counts_the_tasks_that_did_not_fail() -> None:
    ignored = {"worker": {"onFailure": "Ignore"}}
    world = new(chief=1, workers=3, each=ignored).settle()
    world.succeed("worker-2").fail("worker-1").settle()
    assert (texts(world)["ps"], texts(world)["workers"]) == ("1/1", "2/4")
    world.succeed("chief-0").tick()
    for _ in range(2):  # while the ps is being stopped, and after its end
        assert (texts(world)["ps"], texts(world)["workers"]) == ("1/1", "3/4")
        world.settle()

    world = new(workers=4, each={"ps": {"onFailure": "FailJob"}}).settle()
    world.succeed("worker-2").settle().fail("ps-0").tick()
    for _ in range(2):
        assert (world.status.phase, texts(world)["ps"]) == (Phase.FAILED, "0/1")
        assert texts(world)["workers"] == "1/4"
        world.settle()
