"""Every row of the table of failures in a whole job: the charged limit, and the consequences.

The world shows instances as pods: with a name, a node, and the reasons that Kubernetes gives.
"""

from typing import Any

import pytest
from reconcile.world import START, World, make_job, task, view

from capstan_operator.api.names import TaskName
from capstan_operator.api.status import Phase, Status, TaskState
from capstan_operator.reconcile.actions import StartTask, StopTask
from capstan_operator.reconcile.observe import Observed, TaskPhase
from capstan_operator.reconcile.plan import plan

QUICK = {"restartBackoff": {"initialSeconds": 1}}


def running(**kwargs: Any) -> World:
    return World(make_job(run=QUICK, **kwargs), pods=True).settle()


ENDS = {
    # observed of worker-1: exit code, reason                           charged, reason in its row
    "exit code 1": ({"code": 1, "reason": "Error"}, "application", "Error"),
    "exit code 128": ({"code": 128}, "application", ""),
    "exit code 255": ({"code": 255}, "application", ""),
    "SIGINT": ({"code": 130}, "application", ""),
    "SIGKILL": ({"code": 137}, "application", ""),
    "the user's retry me": ({"code": 138}, "application", ""),
    "SIGTERM without a request to stop": ({"code": 143}, "application", ""),
    "out of memory": ({"code": 137, "reason": "OOMKilled"}, "application", "OOMKilled"),
    "init container": ({"code": 1, "reason": "InitContainerFailed"}, "application", None),
    "disruption": ({"code": 143, "reason": "DisruptionTarget"}, "infrastructure", None),
    "evicted": ({"code": None, "reason": "Evicted"}, "infrastructure", None),
    "preempting": ({"code": None, "reason": "Preempting"}, "infrastructure", None),
    "node shutdown": ({"code": 143, "reason": "NodeShutdown"}, "infrastructure", None),
    "terminated by the node": ({"code": None, "reason": "Terminated"}, "infrastructure", None),
    "admission": ({"code": None, "reason": "UnexpectedAdmissionError"}, "infrastructure", None),
    "no room": ({"code": None, "reason": "OutOfcpu"}, "infrastructure", None),
    "lost node": ({"code": None, "reason": "NodeLost"}, "infrastructure", None),
}
PERMANENT = {"exit code 1", "exit code 128", "exit code 255", "init container"}


@pytest.mark.parametrize("end", ENDS)
def test_a_failure_is_charged_to_the_limit_of_its_class_and_the_task_restarts(end: str) -> None:
    end_fields, charged, reason = ENDS[end]
    world = running()
    world.fail("worker-1", **end_fields).settle()
    restarts = world.status.restarts
    used = {"application": restarts.application, "infrastructure": restarts.infrastructure}
    assert used == {"application": 0, "infrastructure": 0} | {charged: 1}
    row = world.row("worker-1")
    assert (row.state.value, row.attempt, row.exit_code) == ("BackOff", 2, end_fields["code"])
    assert row.reason == (end_fields["reason"] if reason is None else reason)
    world.wait_for_retry()
    assert world.states()["worker-1"] == "Running"
    assert world.instance("worker-1").attempt == 2
    assert world.status.restarts == restarts


@pytest.mark.parametrize("end", ENDS)
def test_the_policy_exit_code_retries_all_but_permanent_failures(end: str) -> None:
    world = running(each={"worker": {"restartPolicy": "ExitCode"}})
    world.fail("worker-1", **ENDS[end][0]).settle()
    failed = world.status.phase is Phase.FAILED
    assert failed == (end in PERMANENT)


@pytest.mark.parametrize("end", ENDS)
def test_the_policy_never_fails_the_job_at_any_failure(end: str) -> None:
    world = running(each={"worker": {"restartPolicy": "Never"}})
    world.fail("worker-1", **ENDS[end][0]).settle()
    assert world.status.phase is Phase.FAILED
    assert world.status.failure is not None
    assert world.status.failure.startswith("worker-1 attempt 1 on node-2: ")


@pytest.mark.parametrize("end", ENDS)
def test_fail_job_fails_the_job_at_any_failure(end: str) -> None:
    world = running(each={"worker": {"onFailure": "FailJob"}})
    world.fail("worker-1", **ENDS[end][0]).settle()
    assert world.status.phase is Phase.FAILED


@pytest.mark.parametrize("end", ENDS)
def test_a_restart_of_the_whole_job_is_charged_once(end: str) -> None:
    world = running(each={"worker": {"onFailure": "RestartJob"}})
    end_fields, charged, _ = ENDS[end]
    world.fail("worker-1", **end_fields).settle().wait_for_retry()
    assert world.status.restarts.model_dump() == {"application": 0, "infrastructure": 0} | {
        charged: 1
    }
    assert {row.attempt for row in world.status.tasks} == {2}
    assert set(world.states().values()) == {"Running"}


@pytest.mark.parametrize("end", ENDS)
def test_an_ignored_failure_is_not_charged(end: str) -> None:
    world = running(chief=1, each={"worker": {"onFailure": "Ignore"}})
    world.fail("worker-1", **ENDS[end][0]).settle()
    assert world.states()["worker-1"] == "Failed"
    assert world.status.phase is Phase.RUNNING
    assert (world.status.restarts.application, world.status.restarts.infrastructure) == (0, 0)


@pytest.mark.e2e
@pytest.mark.parametrize("end", ENDS)
def test_each_limit_fails_the_job_when_it_is_used_up(end: str) -> None:
    end_fields, charged, _ = ENDS[end]
    field = {"application": "backoffLimit", "infrastructure": "infrastructureBackoffLimit"}[charged]
    world = World(make_job(run=QUICK | {field: 1}), pods=True).settle()
    world.fail("worker-1", **end_fields).settle().wait_for_retry()
    assert world.status.phase is Phase.RUNNING
    world.fail("worker-1", **end_fields).settle()
    assert world.status.phase is Phase.FAILED
    (failed,) = (condition for condition in world.status.conditions if condition.type == "Failed")
    assert failed.reason == "BackoffLimitExceeded"
    of = " for each task" if charged == "infrastructure" else ""
    assert failed.message.endswith(f"(spec.runPolicy.{field} is 1{of})")


@pytest.mark.parametrize("together", [True, False], ids=["in one pass", "one after the other"])
def test_a_job_goes_on_after_a_zone_with_more_tasks_than_the_limit_is_lost(together: bool) -> None:
    limits = {"infrastructureBackoffLimit": 1, "backoffLimit": 0}
    world = World(make_job(workers=4, run=QUICK | limits), pods=True).settle()
    for name in ("ps-0", "worker-0", "worker-1", "worker-2"):
        world.lose_node(name)
        if not together:
            world.settle()
    world.settle()
    while world.status.phase is not Phase.RUNNING:
        assert world.status.phase is not Phase.FAILED
        world.wait_for_retry()
    assert world.status.restarts.infrastructure == 4
    assert world.row("worker-1").infrastructure_restarts == 1
    world.lose_node("worker-3").settle()
    assert world.status.phase is not Phase.FAILED
    world.wait_for_retry().lose_node("worker-1").settle()
    assert world.status.phase is Phase.FAILED


def test_a_restart_of_the_whole_job_is_charged_to_the_task_that_failed_first() -> None:
    limits = {"infrastructureBackoffLimit": 1}
    world = World(
        make_job(run=QUICK | limits, each={"worker": {"onFailure": "RestartJob"}}), pods=True
    ).settle()
    world.lose_node("worker-0").wait(1).lose_node("worker-1").settle().wait_for_retry()
    rows = {str(row.name): row.infrastructure_restarts for row in world.status.tasks}
    assert rows == {"ps-0": 0, "worker-0": 1, "worker-1": 0}
    assert world.status.restarts.infrastructure == 1


def test_a_failed_pod_is_described_in_one_line() -> None:
    world = World(make_job(run={"backoffLimit": 0}), pods=True).settle()
    world.fail("worker-1", 1, words="Traceback\nValueError: boom\n").settle()
    line = "worker-1 attempt 1 on node-2: exit code 1: ValueError: boom"
    assert world.status.failure == line
    assert world.status.summary is not None
    assert world.status.summary.reason == f"{line} (spec.runPolicy.backoffLimit is 0)"


def test_a_task_that_fails_twice_in_a_row_avoids_its_node_until_it_has_been_healthy() -> None:
    world = running()
    for attempt in (1, 2):
        world.fail("worker-1", 1).settle()
        assert world.row("worker-1").avoided_node == ("node-2" if attempt == 2 else "")
        world.wait_for_retry()
    assert world.done[-1] == StartTask(task("worker-1"), 3, 1, avoided_node="node-2")
    (_, second) = (news.message for news in world.news if news.reason == "Restarting")
    assert second.endswith(", on another node than node-2 if possible (restart 2 of 6)")
    healthy = world.job.spec.run_policy.restart_backoff.reset_after_seconds
    world.wait(healthy)
    world.fail("worker-1", 1).settle()
    assert world.row("worker-1").avoided_node == ""


@pytest.mark.parametrize("end", ["refused", "completed"])
def test_a_restart_of_the_whole_job_does_not_turn_one_failure_into_two(end: str) -> None:
    """The row of a task shows a restart of the whole job instead of the end before it."""
    each = {"ps": {"onFailure": "RestartJob"}, "worker": {"restartPolicy": "Always"}}
    world = World(make_job(run=QUICK, each=each, chief=1), pods=True)
    if end == "refused":
        world.refused["worker-1"] = "CreateFailed"
    world.settle()
    if end == "completed":
        world.succeed("worker-1").settle()
    world.refused.clear()
    world.wait_for_retry()
    world.fail("ps-0", 1).settle().wait_for_retry()
    assert (world.row("worker-1").reason, world.states()["worker-1"]) == ("JobRestarted", "Running")
    world.fail("worker-1", 1).settle()
    assert world.row("worker-1").avoided_node == ""
    world.wait_for_retry()
    world.fail("worker-1", 1).settle()
    assert world.row("worker-1").avoided_node == world.row("worker-1").failed_node != ""


def test_a_failure_before_a_restart_of_the_whole_job_still_counts() -> None:
    world = running(each={"ps": {"onFailure": "RestartJob"}})
    world.fail("worker-1", 1).settle().wait_for_retry()
    world.fail("ps-0", 1).settle().wait_for_retry()
    world.fail("worker-1", 1).settle()
    assert world.row("worker-1").avoided_node == "node-2"


@pytest.mark.parametrize("code", [0, 143])
def test_a_deleted_pod_is_counted_once_however_it_ends(code: int) -> None:
    world = running()
    world.delete("worker-0").tick()
    assert world.states()["worker-0"] == "Stopping"
    world.change(
        "worker-0",
        phase=TaskPhase.FAILED if code else TaskPhase.SUCCEEDED,
        exit_code=code,
        reason="Error" if code else "Completed",
    )
    world.tick()
    assert (world.row("worker-0").reason, world.row("worker-0").attempt) == ("Deleted", 2)
    world.vanish("worker-0").settle()
    assert world.status.restarts.infrastructure == 1
    assert world.status.restarts.application == 0
    world.wait_for_retry()
    assert world.states()["worker-0"] == "Running"
    assert world.status.restarts.infrastructure == 1


def test_a_deleted_pod_that_is_gone_ends_with_the_reason_deleted() -> None:
    world = running()
    world.delete("worker-1").tick()
    world.vanish("worker-1").settle()
    assert world.row("worker-1").reason == "Deleted"
    assert world.news[-1].message.startswith(
        "worker-1 attempt 1 on node-2: Deleted: it was deleted, and not by the operator"
    )
    assert world.status.restarts.infrastructure == 1


def test_a_pod_that_vanishes_is_counted_as_lost_once() -> None:
    world = running().vanish("worker-1").settle()
    assert (world.row("worker-1").reason, world.row("worker-1").node) == ("Lost", "node-2")
    assert world.status.restarts.infrastructure == 1


def test_a_succeeded_task_keeps_its_state_when_its_pod_is_deleted() -> None:
    world = running(chief=1).succeed("worker-1").settle()
    world.delete("worker-1").settle()
    assert world.states()["worker-1"] == "Succeeded"
    assert world.status.restarts.infrastructure == 0
    assert world.status.phase is Phase.RUNNING


@pytest.mark.e2e
@pytest.mark.parametrize("reason", ["Evicted", "CreateFailed"])
def test_the_work_for_a_failure_does_not_grow_with_the_number_of_failures(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass does not yield to the event loop, so a long pass delays the renewal of the Lease."""
    looks = 0

    def counted(name: TaskName) -> int:
        nonlocal looks
        looks += 1
        return hash((name.type, name.index))

    def compared(name: TaskName, other: object) -> bool:
        nonlocal looks
        looks += 1
        return str(name) == str(other)

    monkeypatch.setattr(TaskName, "__hash__", counted)
    monkeypatch.setattr(TaskName, "__eq__", compared)
    work = []
    for many in (10, 50):
        job = make_job(ps=many, workers=many)
        ends = [view(str(name), TaskPhase.FAILED, reason=reason) for name in job.tasks()]
        status = plan(job, Status(), Observed(), START).status
        assert status is not None
        looks = 0
        plan(job, status, Observed(tuple(ends)), START)
        work.append(looks)
    assert work[1] < 6 * work[0]


@pytest.mark.parametrize("end", ["refused", "withdrawn at its gate"])
def test_an_attempt_that_has_not_run_is_not_restarted_with_the_whole_job(end: str) -> None:
    world = running(each={"worker": {"onFailure": "RestartJob"}})
    if end == "refused":
        world.change("worker-1", phase=TaskPhase.FAILED, reason="CreateFailed")
    else:
        world.change("worker-1", phase=TaskPhase.PENDING, reason="SchedulingGated").settle()
        world.vanish("worker-1")
    world.fail("worker-0").settle()
    assert {str(row.name): row.attempt - 1 - row.refused for row in world.status.tasks} == {
        "ps-0": 1,
        "worker-0": 1,
        "worker-1": 0,
    }


def test_a_grace_period_of_0_in_a_template_does_not_force_the_deletion() -> None:
    template = {"spec": {"containers": [{"name": "trainer"}], "terminationGracePeriodSeconds": 0}}
    each = {"ps": {"template": template}, "worker": {"template": template}}
    world = World(make_job(run={"psGracePeriodSeconds": 0}, each=each), pods=True).settle()
    decided = world.succeed("worker-0").settle().wait(10).tick()
    stops = [action.grace_seconds for action in decided.actions if isinstance(action, StopTask)]
    assert stops == [1, 1]


def test_a_task_does_not_wait_for_a_time_of_a_clock_that_was_ahead() -> None:
    """Another operator takes over, on a node whose clock is right."""
    world = World(make_job()).settle().wait(7200).fail("worker-1").settle()
    assert world.row("worker-1").state is TaskState.BACK_OFF
    world.wait(-7200).settle()
    assert world.row("worker-1").state is TaskState.RUNNING
