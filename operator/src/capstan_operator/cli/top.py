"""`capstanctl top`: the tasks of a job, or all jobs, live on a terminal and once in a pipe."""

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from capstan_operator.cli import documents, paint, places
from capstan_operator.errors import Temporary
from capstan_operator.report import tasks
from capstan_operator.report.job import Job
from capstan_operator.report.place import Place
from capstan_operator.report.tasks import Table, Usage

PAUSE_SECONDS = 2.0

_LEAST_FIRST = (
    *("MEMORY", "CPU", "NODE", "LOSS", "STEPS/S", "REASON"),
    *("RESTARTS", "ATTEMPT", "PS", "WORKERS", "STEP"),
)
"""The columns that a narrow terminal leaves out, the first one first."""


@dataclass(frozen=True, slots=True)
class _View:
    """One look at a job with its tasks, or at all jobs (`job` is None)."""

    job: Job | None
    usage: Mapping[str, Usage]
    jobs: tuple[Job, ...] = ()

    @property
    def headline(self) -> str:
        return "" if self.job is None else tasks.headline(self.job)

    @property
    def table(self) -> Table:
        if self.job is None:
            return tasks.overview(self.jobs)
        return tasks.table(self.job, self.usage)

    @property
    def is_last(self) -> bool:
        """Whether the shown values cannot change any more. New jobs may come at any time."""
        return self.job is not None and (
            self.job.is_over or (self.job.is_local and not self.job.is_run)
        )

    def document(self) -> dict[str, Any]:
        if self.job is None:
            return {"jobs": [tasks.document(job, {}) for job in self.jobs]}
        return tasks.document(self.job, self.usage)


def top(options: argparse.Namespace) -> int:
    """Show the table and return the exit status. Raises errors.OperatorError."""
    is_live = paint.is_wanted() and not options.once and options.output is None
    asyncio.run(_live(options) if is_live else _once(options))
    return 0


async def _once(options: argparse.Namespace) -> None:
    async with places.opened(options) as place:
        view = await _look(place, options.job)
        title = place.title
    if options.output is not None:
        documents.show([view.document()], options.output)
        return
    if view.job is None and not view.jobs:
        print(f"there is no job in {title}", file=sys.stderr)
        return
    if view.headline:
        print(view.headline)
    for line in view.table.lines():
        print(line)


async def _live(options: argparse.Namespace) -> None:
    from rich.console import Console, Group, JustifyMethod
    from rich.live import Live
    from rich.text import Text

    from capstan_operator.cli import fitted

    def drawn(view: _View) -> Group:
        columns: list[tuple[str, JustifyMethod]] = [(name, "left") for name in view.table.columns]
        rows = [list(map(Text, row)) for row in view.table.rows]
        table = fitted.Fitted(columns, rows, _LEAST_FIRST)
        return Group(Text(view.headline, style="bold"), table)

    console = Console(markup=False, highlight=False, emoji=False)
    async with places.opened(options) as place:
        with Live(console=console, auto_refresh=False) as live:
            view = await _look(place, options.job)
            while True:
                live.update(drawn(view), refresh=True)
                if view.is_last:
                    return
                await asyncio.sleep(PAUSE_SECONDS)
                with contextlib.suppress(Temporary):
                    view = await _look(place, options.job)


async def _look(place: Place, name: str | None) -> _View:
    if name is None:
        return _View(None, {}, tuple(await place.jobs()))
    job = await place.get(name)
    return _View(job, await place.usage(job))
