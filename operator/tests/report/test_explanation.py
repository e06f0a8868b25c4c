"""An explanation fits on one screen: why a job does not run, and the next action."""

from dataclasses import replace
from datetime import datetime

import pytest
from report.jobs import NOON, ago, condition, job, row

from capstan_operator.api.spec import RunPolicy
from capstan_operator.api.status import Phase, Progress, Restarts, TaskState
from capstan_operator.report import duration, explanation
from capstan_operator.report.job import Job

LOG = "Traceback (most recent call last):\n  File x\nValueError: no\n"


def screen(shown: Job) -> list[str]:
    return list(explanation.explain(shown, NOON).lines())


def test_a_degraded_job_names_the_task_its_failure_and_the_log() -> None:
    shown = job(
        Phase.DEGRADED,
        row("ps-0"),
        row("worker-0"),
        row(
            "worker-1",
            TaskState.BACK_OFF,
            attempt=3,
            exit_code=1,
            message=LOG,
            finished_at=ago(30),
            retry_at=ago(-12),
        ),
        restarts=Restarts(application=2),
        conditions=(condition("ClusterReady", False, "Degraded", "waiting for worker-1"),),
    )
    assert screen(shown) == [
        "digits: Degraded for 1m15s (namespace team-a)",
        "Waits for",
        "  worker-1  BackOff, attempt 3: again in 12s: exit code 1: ValueError: no",
        "Last failure",
        "  worker-1 attempt 2: exit code 1: ValueError: no (30s ago)",
        "Restarts",
        "  2 after failures of the program, 0 after failures of the infrastructure",
        "What to do",
        "  Read what the task wrote: capstanctl logs digits -n team-a worker-1",
    ]


BLOCKED = (
    "  If the logs show new steps, a network policy may keep the operator from asking the task that"
    " reports them."
)


def test_a_job_that_runs_without_a_step_leads_to_the_logs() -> None:
    lines = screen(job(Phase.RUNNING, row("worker-0")))
    assert "  every task runs, and none has reported a step yet" in lines
    logs = "capstanctl logs digits -n team-a"
    assert lines[-2:] == [
        f"  If it should train by now, read what the tasks wrote: {logs}",
        BLOCKED,
    ]
    local = screen(replace(job(Phase.RUNNING, row("worker-0")), is_local=True))
    assert BLOCKED not in local


def test_a_healthy_job_needs_nothing() -> None:
    shown = job(Phase.RUNNING, row("worker-0"), progress=Progress(step=70))
    assert screen(shown) == [
        "digits: Running for 1m15s (namespace team-a)",
        "  every task runs at step 70",
        "What to do",
        "  Nothing.",
    ]


@pytest.mark.parametrize(
    ("fields", "seconds", "is_quiet"),
    [
        ({}, 299, False),
        ({}, 720, True),
        ({"steps_per_second": 0.01}, 720, False),
        ({"steps_per_second": 0.01}, 1000, True),
    ],
)
def test_a_job_that_stands_still_without_a_deadline_is_not_called_healthy(
    fields: dict[str, float], seconds: int, is_quiet: bool
) -> None:
    progress = Progress(step=70, advanced_at=ago(seconds), **fields)
    shown = job(Phase.RUNNING, row("worker-0"), progress=progress)
    shown = replace(
        shown, status=shown.status.model_copy(update={"last_transition_time": ago(4000)})
    )
    lines = screen(shown)
    if not is_quiet:
        assert lines[-1] == "  Nothing."
        return
    again = "To restart a job that stands still, set spec.runPolicy.progressDeadlineSeconds. It may"
    assert lines[1:] == [
        f"  every task runs at step 70, and there is no new step for {duration.show(seconds)}",
        "What to do",
        "  If it should train, read what the tasks wrote: capstanctl logs digits -n team-a",
        BLOCKED,
        f"  {again} be set while the job runs.",
    ]
    limited = replace(shown, run_policy=RunPolicy(progress_deadline_seconds=3600))
    assert screen(limited) == lines[:-1]
    assert screen(replace(shown, is_local=True)) == lines[:-2]


def test_the_time_before_all_tasks_ran_again_is_no_silence() -> None:
    progress = Progress(step=70, advanced_at=ago(5000))
    assert screen(job(Phase.RUNNING, row("worker-0"), progress=progress))[-1] == "  Nothing."


BOTH = RunPolicy(active_deadline_seconds=3600, pending_deadline_seconds=600)


@pytest.mark.parametrize(
    ("policy", "phase", "pending", "line"),
    [
        (BOTH, Phase.PENDING, ago(540), "the job fails in 1m, unless all its tasks run by then "
         "(spec.runPolicy.pendingDeadlineSeconds)"),
        (BOTH, Phase.RUNNING, None, "the job fails in 30m, unless it is done by then "
         "(spec.runPolicy.activeDeadlineSeconds)"),
        (RunPolicy(), Phase.PENDING, ago(540), ""),
        (BOTH, Phase.SUSPENDED, None, ""),
        (BOTH, Phase.SUCCEEDED, None, ""),
    ],
)  # fmt: skip
def test_an_unfinished_job_says_when_its_next_deadline_ends_it(
    policy: RunPolicy, phase: Phase, pending: datetime | None, line: str
) -> None:
    shown = job(phase, run_policy=policy, start_time=ago(1800), pending_since=pending)
    assert explanation.explain(shown, NOON).deadline == line
    lines = screen(shown)
    assert ("Deadline" in lines) == bool(line)
    assert not line or lines[lines.index("Deadline") + 1] == f"  {line}"


def test_a_refusal_that_tasks_share_is_shown_once() -> None:
    refused = {"reason": "CreateFailed", "message": "exceeded quota: pods", "retry_at": ago(-5)}
    rows = (row(f"worker-{index}", TaskState.CREATE_FAILED, **refused) for index in range(2))
    lines = screen(job(Phase.PENDING, *rows))
    assert lines[2:4] == [
        "  worker-0  CreateFailed, attempt 1: again in 5s: CreateFailed: exceeded quota: pods",
        "  worker-1  CreateFailed, attempt 1: again in 5s: refused as worker-0",
    ]


def test_a_task_that_never_started_has_written_nothing() -> None:
    refused = row("ps-0", TaskState.CREATE_FAILED, attempt=2, reason="CreateFailed", message="no")
    assert "logs" not in "\n".join(screen(job(Phase.PENDING, refused)))


def test_workers_that_have_ended_are_named() -> None:
    ended = row("worker-1", TaskState.SUCCEEDED, exit_code=0)
    shown = job(Phase.RUNNING, row("worker-0"), ended, progress=Progress(step=70))
    assert screen(shown)[1:] == [
        "  worker-1 ended, and every other task runs at step 70",
        "What to do",
        "  Nothing.",
    ]


def test_the_last_failure_is_the_latest_of_all_tasks() -> None:
    shown = job(
        Phase.RUNNING,
        row("ps-0", attempt=2, exit_code=137, reason="Error", finished_at=ago(500)),
        row("worker-0", attempt=3, exit_code=2, finished_at=ago(100)),
        row("worker-1", TaskState.SUCCEEDED, exit_code=0, reason="Completed", finished_at=ago(1)),
    )
    explained = explanation.explain(shown, NOON)
    assert explained.last_failure == "worker-0 attempt 2: exit code 2"
    assert explained.ago == 100


def test_a_large_job_fits_on_a_screen() -> None:
    rows = [row(f"worker-{index}", TaskState.PENDING) for index in range(1000)]
    lines = screen(job(Phase.PENDING, *rows))
    assert "  and 992 more" in lines
    assert len(lines) < 24


def test_a_job_that_is_over_waits_for_nothing() -> None:
    over = job(Phase.SUCCEEDED, row("ps-0", TaskState.STOPPING), progress=Progress(step=5))
    assert screen(over)[1] == "  the training has ended; the last report was of step 5"
    assert "Waits for" not in screen(over)


def test_a_success_names_the_workers_that_it_did_not_wait_for() -> None:
    over = job(
        Phase.SUCCEEDED,
        row("ps-0", TaskState.STOPPED),
        row("worker-0", TaskState.SUCCEEDED),
        row("worker-1", TaskState.STOPPED),
    )
    line = "  the training has ended; spec.successPolicy did not wait for worker-1"
    assert screen(over)[1] == line


def test_a_job_shows_the_share_of_its_time_in_which_all_tasks_ran() -> None:
    shown = job(Phase.RUNNING, row("worker-0"), start_time=ago(1000), running_seconds=858.9)
    lines = screen(shown)
    assert lines[lines.index("Goodput") + 1] == "  all tasks ran for 93.3 % of 16m40s"
    assert explanation.explain(shown, NOON).document()["goodput"] == 0.9339
    assert "Goodput" not in screen(job(Phase.SUSPENDED))
