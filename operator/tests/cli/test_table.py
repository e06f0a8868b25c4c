"""On a terminal, a table has a row for every task and fits the width."""

import io

import pytest
from cli import pictures
from rich.console import Console

from capstan_operator.cli import table
from capstan_operator.cli.table import Table
from capstan_operator.reconcile.actions import Announce, NewsType


def drawn(width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    console.print(table.draw("digits", pictures.snapshot(), pictures.NOON))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_table_shows_every_task_with_its_known_values() -> None:
    lines = drawn(120)
    words = [line.split() for line in lines if line]
    assert lines[0] == (
        "digits: Degraded  step 1234  81.2 steps/s  loss 0.250  accuracy 0.900  restarts 3"
    )
    assert words[1] == ["TASK", "STATE", "ATTEMPT", "PID", "STEP", "STEPS/S", "REASON"]
    assert words[3] == ["ps-0", "Running", "2", "41", "attempt", "1:", "exit", "code", "137"]
    assert words[4] == ["worker-0", "Running", "1", "42", "1234", "40.5"]
    assert words[5][:4] == ["worker-1", "BackOff", "3", "1200"]
    assert "again in 7 s: exit code 1: ValueError: [bold]no[/bold]" in lines[-1] or any(
        "again in 7 s: exit code 1: ValueError: [bold]no[/bold]" in line for line in lines
    )


@pytest.mark.e2e
@pytest.mark.parametrize("width", [66, 80])
def test_a_narrow_terminal_cuts_the_reason_and_nothing_else(width: int) -> None:
    lines = drawn(width)
    assert max(map(len, lines)) <= width
    assert len(lines) == len(drawn(120))
    assert [line[:44] for line in lines[2:]] == [line[:44] for line in drawn(120)[2:]]


COLUMNS = ["TASK", "STATE", "ATTEMPT", "PID", "STEP", "STEPS/S", "REASON"]


@pytest.mark.parametrize(
    "width, gone",
    [
        (120, []),
        (66, []),
        (60, ["PID"]),
        (50, ["PID", "STEPS/S"]),
        (40, ["PID", "STEPS/S", "REASON"]),
        (30, ["PID", "STEPS/S", "REASON", "ATTEMPT"]),
        (20, ["PID", "STEPS/S", "REASON", "ATTEMPT", "STEP"]),
    ],
)
def test_a_narrow_terminal_leaves_out_the_least_important_columns(
    width: int, gone: list[str]
) -> None:
    lines = drawn(width)
    assert max(map(len, lines)) <= width
    assert lines[2].split() == [name for name in COLUMNS if name not in gone]


@pytest.mark.e2e
@pytest.mark.parametrize("width", range(20, 67))
def test_only_the_reason_is_ever_cut(width: int) -> None:
    _, _, heads, *lines = drawn(width)
    reason = heads.index("REASON") if "REASON" in heads else width
    assert not [line for line in (heads, *lines) if "…" in line[:reason]]


def test_news_is_printed_unchanged_above_the_table() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=100, markup=False, highlight=False, emoji=False)
    with Table("digits", console) as shown:
        shown.note("ignored: image")
        shown.show(pictures.snapshot())
        shown.tell(Announce(NewsType.WARNING, "Restarting", "exit code 1: [red] :smile:"))
    output = stream.getvalue()
    assert "digits: ignored: image\n" in output
    assert "digits: exit code 1: [red] :smile:\n" in output
