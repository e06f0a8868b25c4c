"""The sentences about a job, which users read and scripts search for."""

import pytest
from cli import pictures
from hypothesis import given
from hypothesis import strategies as st

from capstan_operator.api.status import Phase, Progress, Restarts, Status, TaskState
from capstan_operator.cli import summary

SUCCEEDED = Status(
    phase=Phase.SUCCEEDED,
    progress=Progress(step=20000, metrics={"accuracy": 0.97249}),
    restarts=Restarts(application=1, infrastructure=1),
)


def test_the_last_line_of_a_success_has_the_results() -> None:
    line = summary.last_line("digits", SUCCEEDED)
    assert line == "digits: Succeeded  accuracy 0.972  steps 20000  restarts 2"


def test_a_success_without_progress_has_taken_no_step() -> None:
    line = summary.last_line("digits", Status(phase=Phase.SUCCEEDED))
    assert line == "digits: Succeeded  steps 0  restarts 0"


def test_the_last_line_of_a_failure_says_why() -> None:
    why = "worker-1 attempt 7: exit code 1: ValueError: no"
    failed = Status(phase=Phase.FAILED, failure=why)
    assert summary.last_line("digits", failed) == f"digits: Failed  {why}"


@given(st.dictionaries(st.sampled_from("abc"), st.floats(allow_nan=False, allow_infinity=False)))
def test_metrics_keep_their_order_and_have_three_decimals(metrics: dict[str, float]) -> None:
    line = summary.last_line(
        "digits", SUCCEEDED.model_copy(update={"progress": Progress(step=1, metrics=metrics)})
    )
    parts = [f"{name} {value:.3f}" for name, value in metrics.items()]
    assert line == "  ".join(["digits: Succeeded", *parts, "steps 1", "restarts 2"])


def test_progress_is_step_rate_and_metrics() -> None:
    line = summary.progress_line(pictures.status())
    assert line == "step 1234  81.2 steps/s  loss 0.250  accuracy 0.900"
    assert summary.progress_line(Status()) == ""


@pytest.mark.parametrize(
    "task, reason",
    [
        (pictures.PS, "attempt 1: exit code 137"),
        (pictures.WORKER_0, ""),
        (pictures.WORKER_1, "again in 7 s: exit code 1: ValueError: [bold]no[/bold]"),
    ],
)
def test_a_reason_says_why_the_task_does_not_run_or_failed(task: object, reason: str) -> None:
    (row,) = (row for row in pictures.status().tasks if row.name == task)
    assert summary.reason(row, pictures.NOON) == reason


@pytest.mark.parametrize("state", [TaskState.SUCCEEDED, TaskState.STOPPING, TaskState.STOPPED])
def test_a_task_that_ended_as_planned_has_no_reason(state: TaskState) -> None:
    row = pictures.status().tasks[2].model_copy(update={"state": state})
    assert summary.reason(row, pictures.NOON) == ""


def test_a_failed_task_has_its_reason() -> None:
    row = pictures.status().tasks[2].model_copy(update={"state": TaskState.FAILED})
    assert summary.reason(row, pictures.NOON) == "exit code 1: ValueError: [bold]no[/bold]"
