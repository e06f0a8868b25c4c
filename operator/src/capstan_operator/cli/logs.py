"""`capstanctl logs`: the output of a job's tasks, merged."""

import argparse
import asyncio
import dataclasses
import heapq
import sys
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime

from capstan_operator.api.names import TaskName
from capstan_operator.cli import paint, places
from capstan_operator.errors import Temporary
from capstan_operator.report import output
from capstan_operator.report.output import Line, Request, Source
from capstan_operator.report.place import Place

UNREADABLE = 1
"""The exit status if some of the output could not be read."""
POLL_SECONDS = 1.0
"""The pause between two looks for new attempts."""
_NEVER = datetime.min.replace(tzinfo=UTC)


def logs(options: argparse.Namespace) -> int:
    """Print the output and return the exit status. Raises errors.OperatorError."""
    request = Request(
        tasks=output.tasks(options.tasks),
        follow=options.follow,
        tail=options.tail,
        since_seconds=options.since,
    )
    return asyncio.run(_logs(options, request))


async def _logs(options: argparse.Namespace, request: Request) -> int:
    async with places.opened(options) as place:
        job = await place.get(options.job)
        known = [row.name for row in job.status.tasks]
        if job.is_observed:
            output.check(request.tasks, known, job.name)
        printer = _Printer(known, with_prefix=not options.no_prefix)
        reading = _Reading(place)
        if request.follow:
            await _Following(reading, job.name, request, printer).to_the_end()
        else:
            sources = output.chosen(await place.sources(job), request)
            lines = {source: reading.lines(source, request) for source in sources}
            async for source, line in merged(lines):
                printer.show(source, line)
        return UNREADABLE if reading.has_failed else 0


async def merged(
    sources: Mapping[Source, AsyncIterator[Line]],
) -> AsyncIterator[tuple[Source, Line]]:
    """Yield the lines of all sources by their times. Hold one line of each source in memory.

    Lines of a source keep their order. Lines without a time come before lines with a time. Sources
    without times come one after the other.
    """
    order = {source: number for number, source in enumerate(sources)}
    first: list[tuple[datetime, int, Source, Line]] = []

    async def push(source: Source) -> None:
        line = await anext(sources[source], None)
        if line is not None:
            heapq.heappush(first, (line.at or _NEVER, order[source], source, line))

    for source in sources:
        await push(source)
    while first:
        _, _, source, line = heapq.heappop(first)
        yield source, line
        await push(source)


class _Reading:
    """Reads sources. One that cannot be read, because its node is down, does not hide the others.

    It gets a line on stderr.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.has_failed = False

    async def lines(self, source: Source, request: Request) -> AsyncIterator[Line]:
        """Yield the lines of a source that can be read."""
        try:
            async for line in self.place.lines(source, request):
                yield line
        except Temporary as error:
            self.has_failed = True
            why = " ".join(str(error).split())
            name = output.label(source)
            print(f"capstanctl: the output of {name} could not be read: {why}", file=sys.stderr)


class _Printer:
    """Prints lines with the names of their tasks. Raises BrokenPipeError."""

    def __init__(self, known: list[TaskName], *, with_prefix: bool) -> None:
        self._known = known
        self._with_prefix = with_prefix
        self._with_colours = paint.is_wanted()
        self._width = max((len(f"{name}.2") for name in known), default=0)

    def show(self, source: Source, line: Line) -> None:
        head = ""
        if self._with_prefix:
            colour = output.colour(source, self._known) if self._with_colours else None
            head = output.prefix(source, self._width, colour)
        print(f"{head}{line.text}", flush=True)


class _Following:
    """Reads every attempt of a job until the job is over and all its output is read."""

    def __init__(self, reading: _Reading, name: str, request: Request, printer: _Printer) -> None:
        self._reading = reading
        self._place = reading.place
        self._name = name
        self._request = request
        self._printer = printer
        self._known: set[tuple[TaskName, int]] = set()

    async def to_the_end(self) -> None:
        """Print until the end. Raises errors.OperatorError and BrokenPipeError."""
        try:
            async with asyncio.TaskGroup() as readers:
                is_over = await self._look(readers)
                while not is_over:
                    await asyncio.sleep(POLL_SECONDS)
                    is_over = await self._look(readers)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    async def _look(self, readers: asyncio.TaskGroup) -> bool:
        """Begin to read new attempts. Return whether no further attempts will begin."""
        try:
            job = await self._place.find(self._name)
            sources = [] if job is None else await self._place.sources(job)
        except Temporary:
            return False
        for source in output.chosen(sources, self._request):
            key = (source.task, source.attempt)
            if key not in self._known:
                self._known.add(key)
                readers.create_task(self._read(source, self._request))
        # An attempt that begins later is new to the reader, so its whole output is shown.
        self._request = dataclasses.replace(self._request, tail=None, since_seconds=None)
        return job is None or job.is_over or (job.is_local and not job.is_run)

    async def _read(self, source: Source, request: Request) -> None:
        async for line in self._reading.lines(source, request):
            self._printer.show(source, line)
