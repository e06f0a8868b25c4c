"""Table of the instances of a finished job that may still end by themselves."""

from datetime import timedelta

import pytest
from reconcile.world import START, make_job, view

from capstan_operator.api.status import Phase, Status
from capstan_operator.reconcile.observe import Deletion, TaskPhase, TaskView
from capstan_operator.reconcile.policies import sparing

JOB = make_job(evaluator=1, run={"evaluatorGracePeriodSeconds": 60})
PS = view("ps-0", pod="digits-ps-0")
WORKER = view("worker-1", pod="digits-worker-1")
EVALUATOR = view("evaluator-0", pod="digits-evaluator-0")
PENDING = view("evaluator-0", TaskPhase.PENDING, pod="digits-evaluator-0")
PROCESS = view("worker-1")
SIDECAR = view("worker-0", TaskPhase.SUCCEEDED, pod="digits-worker-0", sidecars_run=True)
BESIDE_FAILURE = view("worker-0", TaskPhase.FAILED, pod="digits-worker-0", sidecars_run=True)


def beside_evaluator(ended: float) -> TaskView:
    """Return an evaluator that ended this many seconds after the job. Its sidecars run."""
    end = START + timedelta(seconds=ended)
    given = {"pod": "digits-evaluator-0", "sidecars_run": True, "finished_at": end}
    return view("evaluator-0", TaskPhase.SUCCEEDED, **given)


def finished(phase: Phase) -> Status:
    return Status(phase=phase, completion_time=START)


@pytest.mark.parametrize(
    "phase, remaining, spared",
    [
        (Phase.SUCCEEDED, [], []),
        (Phase.SUCCEEDED, [PS], []),
        (Phase.SUCCEEDED, [PS, WORKER], [(PS, 5), (WORKER, 5)]),
        (Phase.SUCCEEDED, [PS, EVALUATOR], [(EVALUATOR, 60)]),
        (Phase.SUCCEEDED, [PS, WORKER, EVALUATOR], [(PS, 5), (WORKER, 5), (EVALUATOR, 60)]),
        (Phase.SUCCEEDED, [PS, PENDING], []),
        (Phase.SUCCEEDED, [PS, SIDECAR], [(SIDECAR, 5)]),
        (Phase.SUCCEEDED, [PS, WORKER, SIDECAR], [(PS, 5), (WORKER, 5), (SIDECAR, 5)]),
        (Phase.SUCCEEDED, [PROCESS], []),
        (Phase.SUCCEEDED, [view("ps-0"), view("evaluator-0")], [(view("evaluator-0"), 60)]),
        (Phase.FAILED, [PS, WORKER, EVALUATOR], []),
        (Phase.FAILED, [PS, WORKER, BESIDE_FAILURE], [(BESIDE_FAILURE, 5)]),
        *(
            (Phase.SUCCEEDED, [beside_evaluator(ended)], [(beside_evaluator(ended), limit)])
            for ended, limit in ((-9, 5), (0, 5), (40, 45), (9000, 65))
        ),
    ],
)
def test_sparing_depends_on_the_job_and_on_the_tasks_that_still_run(
    phase: Phase, remaining: list[TaskView], spared: list[tuple[TaskView, float]]
) -> None:
    found = sparing.spared(JOB, finished(phase), remaining, START)
    assert found == {view.uid: START + timedelta(seconds=limit) for view, limit in spared}


@pytest.mark.parametrize(
    "instance, seconds, spared",
    [
        *((WORKER, seconds, True) for seconds in (0, 4.999)),
        *((WORKER, seconds, False) for seconds in (5, 3600)),
        *((EVALUATOR, seconds, True) for seconds in (0, 59.999)),
        *((EVALUATOR, seconds, False) for seconds in (60, 3600)),
    ],
)
def test_sparing_ends_with_its_time(instance: TaskView, seconds: float, spared: bool) -> None:
    now = START + timedelta(seconds=seconds)
    assert bool(sparing.spared(JOB, finished(Phase.SUCCEEDED), [instance], now)) is spared


def test_no_pod_of_an_unfinished_job_is_spared() -> None:
    running = Status(phase=Phase.RUNNING)
    assert sparing.spared(JOB, running, [WORKER, EVALUATOR], START) == {}


def test_an_evaluator_that_was_asked_to_end_does_not_evaluate() -> None:
    asked = view("evaluator-0", deletion=Deletion.BEFORE_END)
    assert [sparing.evaluates(instance) for instance in (EVALUATOR, asked, PENDING, WORKER)] == [
        True, False, False, False,
    ]  # fmt: skip
