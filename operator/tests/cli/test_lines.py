"""In a pipe, a line is written only when something has changed."""

import io

from cli import pictures

from capstan_operator.api.status import Progress, TaskState
from capstan_operator.cli.lines import Lines
from capstan_operator.reconcile.actions import Announce, NewsType


def test_a_transition_is_one_line_and_printed_once() -> None:
    stream = io.StringIO()
    lines = Lines("digits", stream)
    for _ in range(3):
        lines.show(pictures.snapshot())
    assert stream.getvalue().splitlines() == [
        "ps-0: Running  attempt 2  pid 41  attempt 1: exit code 137",
        "worker-0: Running  attempt 1  pid 42",
        "digits: step 1234  81.2 steps/s  loss 0.250  accuracy 0.900",
    ]


def test_only_changes_are_printed() -> None:
    stream = io.StringIO()
    lines = Lines("digits", stream)
    lines.show(pictures.snapshot())
    before = stream.tell()
    status = pictures.status()
    succeeded = status.tasks[1].model_copy(update={"state": TaskState.SUCCEEDED})
    tasks = (status.tasks[0], succeeded, status.tasks[2])
    lines.show(pictures.snapshot(status.model_copy(update={"tasks": tasks})))
    assert stream.getvalue()[before:] == "worker-0: Succeeded  attempt 1  pid 42\n"


def test_progress_is_printed_every_few_seconds() -> None:
    stream = io.StringIO()
    lines = Lines("digits", stream)
    for step in range(100):
        moved = pictures.status().model_copy(update={"progress": Progress(step=step)})
        lines.show(pictures.snapshot(moved))
    assert stream.getvalue().count("digits: step") == 1


def test_news_and_notes_are_lines_of_the_job() -> None:
    stream = io.StringIO()
    lines = Lines("digits", stream)
    lines.note("ignored: image")
    lines.tell(Announce(NewsType.WARNING, "Restarting", "worker-1 attempt 1: exit code 1"))
    assert stream.getvalue() == "digits: ignored: image\ndigits: worker-1 attempt 1: exit code 1\n"


def test_endless_retries_are_reported_with_the_way_to_end_them() -> None:
    stream = io.StringIO()
    Lines("digits", stream).tell(Announce(NewsType.WARNING, "CreateFailed", "again in 5 s"))
    assert stream.getvalue() == "digits: again in 5 s; Ctrl-C ends the job\n"
