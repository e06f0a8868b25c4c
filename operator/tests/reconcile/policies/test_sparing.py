"""Table of the pods of a finished job that may still end by themselves."""

from datetime import timedelta

import pytest
from reconcile.world import START, view

from capstan_operator.api.status import Phase, Status
from capstan_operator.reconcile.observe import TaskPhase, TaskView
from capstan_operator.reconcile.policies import sparing

PS = view("ps-0", pod="digits-ps-0")
WORKER = view("worker-1", pod="digits-worker-1")
EVALUATOR = view("evaluator-0", pod="digits-evaluator-0")
PROCESS = view("worker-1")
SIDECAR = view("worker-0", TaskPhase.SUCCEEDED, pod="digits-worker-0", sidecars_run=True)
BESIDE_FAILURE = view("worker-0", TaskPhase.FAILED, pod="digits-worker-0", sidecars_run=True)


def finished(phase: Phase) -> Status:
    return Status(phase=phase, completion_time=START)


@pytest.mark.parametrize(
    "phase, remaining, spared",
    [
        (Phase.SUCCEEDED, [], []),
        (Phase.SUCCEEDED, [PS], []),
        (Phase.SUCCEEDED, [PS, WORKER], [PS, WORKER]),
        (Phase.SUCCEEDED, [PS, EVALUATOR], [PS, EVALUATOR]),
        (Phase.SUCCEEDED, [PS, SIDECAR], [SIDECAR]),
        (Phase.SUCCEEDED, [PS, WORKER, SIDECAR], [PS, WORKER, SIDECAR]),
        (Phase.SUCCEEDED, [PROCESS], []),
        (Phase.FAILED, [PS, WORKER], []),
        (Phase.FAILED, [PS, WORKER, BESIDE_FAILURE], [BESIDE_FAILURE]),
    ],
)
def test_sparing_depends_on_the_job_and_on_the_tasks_that_still_run(
    phase: Phase, remaining: list[TaskView], spared: list[TaskView]
) -> None:
    found = sparing.spared(finished(phase), remaining, START)
    assert found == {view.uid for view in spared}


@pytest.mark.parametrize(
    "seconds, spared", [(-3600, False), (-0.001, False), (0, True), (4.999, True), (5, False)]
)
def test_sparing_lasts_five_seconds_and_ends_if_the_clock_was_set_back(
    seconds: float, spared: bool
) -> None:
    now = START + timedelta(seconds=seconds)
    assert bool(sparing.spared(finished(Phase.SUCCEEDED), [WORKER], now)) is spared


def test_no_pod_of_an_unfinished_job_is_spared() -> None:
    assert sparing.spared(Status(phase=Phase.RUNNING), [WORKER], START) == frozenset()
    assert sparing.until(Status(phase=Phase.RUNNING)) is None
    assert sparing.until(finished(Phase.FAILED)) == START + timedelta(seconds=5)
