"""The table of tasks shows reported values, and leaves out empty columns."""

from report.jobs import job, row

from capstan_operator.api.status import Phase, Progress, Summary, TaskState
from capstan_operator.report import tasks
from capstan_operator.report.tasks import Usage

SHOWN = job(
    Phase.DEGRADED,
    row("ps-0", node="node-a", pod="digits-ps-0"),
    row("worker-0", TaskState.PENDING, attempt=2, step=40, waiting="ImagePullBackOff: no"),
    progress=Progress(step=41, steps_per_second=2.5, metrics={"loss": 0.5}),
)
USAGE = {"ps-0": Usage(cpu=0.25, memory=64 * 1024**2, step=41, steps_per_second=2.5)}


def test_a_task_has_a_row_with_all_that_is_known() -> None:
    assert [line.split() for line in tasks.table(SHOWN, USAGE).lines()] == [
        ["TASK", "STATE", "ATTEMPT", "NODE", "STEP", "STEPS/S", "CPU", "MEMORY", "REASON"],
        ["ps-0", "Running", "1", "node-a", "41", "2.5", "250m", "64Mi", "-"],
        ["worker-0", "Pending", "2", "-", "40", "-", "-", "-", "ImagePullBackOff"],
    ]


def test_columns_that_nobody_fills_are_left_out() -> None:
    bare = job(Phase.RUNNING, row("worker-0"))
    assert tasks.table(bare, {}).columns == ("TASK", "STATE", "ATTEMPT", "STEP")


def test_the_headline_has_phase_progress_and_restarts() -> None:
    assert tasks.headline(SHOWN) == (
        "digits: Degraded  step 41  2.5 steps/s  loss 0.500  restarts 0"
    )


def test_jobs_have_a_row_each() -> None:
    counted = Summary(ps="1/1", workers="1/2", reason="waiting for worker-1")
    shown = job(Phase.DEGRADED, progress=Progress(step=9, metrics={"loss": 0.5}), summary=counted)
    lines = tasks.overview([shown, job(is_observed=False)]).lines()
    assert lines[1].split(maxsplit=8) == [
        *("digits", "Degraded", "1/1", "1/2", "0", "9", "-", "0.500", "waiting for worker-1"),
    ]
    assert lines[2].split()[1] == "Unobserved"


def test_the_document_leaves_out_what_nobody_reports() -> None:
    document = tasks.document(SHOWN, USAGE)
    assert document["metrics"] == {"loss": 0.5}
    assert document["tasks"][0] == {
        "name": "ps-0",
        "state": "Running",
        "attempt": 1,
        "pod": "digits-ps-0",
        "node": "node-a",
        "step": 41,
        "stepsPerSecond": 2.5,
        "cpu": 0.25,
        "memoryBytes": 64 * 1024**2,
    }
    assert "cpu" not in document["tasks"][1]


def test_the_reason_of_an_earlier_attempt_names_that_attempt() -> None:
    rows = (
        row("ps-0", attempt=3, reason="OOMKilled"),
        row("worker-0", TaskState.BACK_OFF, attempt=3, reason="OOMKilled"),
    )
    reasons = [cells[-1] for cells in tasks.table(job(Phase.RUNNING, *rows), {}).rows]
    assert reasons == ["attempt 2: OOMKilled", "OOMKilled"]
