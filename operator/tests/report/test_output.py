"""The lines of all tasks are merged, and those of a broken stream are shown once."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.jobs import NOON

from capstan_operator.api.names import TaskName
from capstan_operator.cli import logs
from capstan_operator.errors import Invalid
from capstan_operator.report import output
from capstan_operator.report.output import Line, Request, Seen, Source

PS, WORKER = TaskName.parse("ps-0"), TaskName.parse("worker-1")


def test_sources_are_in_the_order_of_tasks_and_attempts() -> None:
    sources = [Source(WORKER, 10), Source(WORKER, 2), Source(PS, 1), Source(WORKER, 1)]
    labels = [output.label(source) for source in output.chosen(sources, Request())]
    assert labels == ["ps-0", "worker-1", "worker-1.2", "worker-1.10"]
    assert output.chosen(sources, Request(tasks=(PS,))) == [Source(PS, 1)]


def test_all_attempts_of_a_task_have_its_colour() -> None:
    known = [PS, WORKER]
    assert output.colour(Source(WORKER, 1), known) == output.colour(Source(WORKER, 2), known)
    assert output.colour(Source(PS, 1), known) != output.colour(Source(WORKER, 1), known)
    assert output.prefix(Source(PS, 1), 8, 36) == "\x1b[36mps-0     | \x1b[0m"


def test_unknown_tasks_are_refused_with_the_known_ones() -> None:
    known = [TaskName.parse(f"worker-{index}") for index in range(10)]
    with pytest.raises(Invalid, match=r"no task ps-0; .* worker-7 and 2 more"):
        output.check([PS], known, "digits")


TIMES = st.none() | st.integers(0, 5)


@pytest.mark.e2e
@given(st.lists(st.lists(TIMES, max_size=6), max_size=4))
def test_a_merge_keeps_the_order_of_each_source_and_loses_nothing(
    times: list[list[int | None]],
) -> None:
    async def lines(own: list[int | None]) -> AsyncIterator[Line]:
        for number, seconds in enumerate(own):
            at = None if seconds is None else NOON + timedelta(seconds=seconds)
            yield Line(str(number), at)

    async def collect() -> list[tuple[Source, Line]]:
        sources = {Source(PS, attempt): lines(own) for attempt, own in enumerate(times, 1)}
        return [pair async for pair in logs.merged(sources)]

    found = asyncio.run(collect())
    for attempt, own in enumerate(times, 1):
        texts = [line.text for source, line in found if source.attempt == attempt]
        assert texts == [str(number) for number in range(len(own))]
    if all(own == sorted(seconds for seconds in own if seconds is not None) for own in times):
        stamps = [line.at for _, line in found if line.at is not None]
        assert stamps == sorted(stamps)


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 12), max_size=3))
def test_a_log_that_breaks_off_is_shown_once(steps: list[int], breaks: list[int]) -> None:
    """Each stream begins in the second of the last line, as `sinceTime` has it."""
    seconds, log = 0, []
    for number, step in enumerate(steps):
        seconds += step
        log.append(Line(str(number), NOON + timedelta(seconds=seconds / 4)))
    seen, shown = Seen(), []
    for end in [*sorted(breaks), len(log)]:
        last = seen.begin_again()
        first = None if last is None else last.replace(microsecond=0)
        stream = [line for line in log[:end] if first is None or (line.at or NOON) >= first]
        shown += [line for line in stream if seen.is_new(line)]
    assert shown == log
