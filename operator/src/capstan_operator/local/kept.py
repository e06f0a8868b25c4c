"""The jobs that `capstanctl run` keeps in a folder, usually `.capstan`. Implements `report.Place`.

Reads the folders and never holds the lock of a job for longer than a moment.
"""

import asyncio
import collections
import contextlib
import json
import os
import re
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import BinaryIO

import pydantic

from capstan_operator.api import status_json
from capstan_operator.api.names import DNS_LABEL, TaskName
from capstan_operator.api.status import Status
from capstan_operator.errors import Fault, Invalid, OperatorError
from capstan_operator.local import folder, progress
from capstan_operator.report.job import Job
from capstan_operator.report.output import Line, Request, Source
from capstan_operator.report.tasks import Usage

POLL_SECONDS = 0.2
"""The pause between two looks at the end of a log."""
_LOG = re.compile(r"(?P<task>[a-z]+-\d+)\.(?P<attempt>[1-9]\d*)\.log", re.ASCII)


class Kept:
    """The jobs below one folder."""

    def __init__(self, states: Path) -> None:
        self._states = states

    @property
    def title(self) -> str:
        return os.path.relpath(self._states)

    def has(self, name: str) -> bool:
        """Say whether the folder holds a job of this name that has run or runs now."""
        path = self._states / name
        return re.fullmatch(DNS_LABEL, name) is not None and (
            (path / "status.json").is_file() or folder.is_held(path)
        )

    def names(self) -> list[str]:
        """Return the names of all jobs, sorted. Empty if there is no folder."""
        try:
            return sorted(path.name for path in self._states.iterdir() if self.has(path.name))
        except OSError:
            return []

    def look(self, name: str) -> Job | None:
        """Return a job as it is now, or None if there is none of this name."""
        if not self.has(name):
            return None
        path = self._states / name
        # Check the lock first. If a run ends in between, its last status is then read.
        is_run = folder.is_held(path)
        status = _status(path)
        return Job(
            name=name,
            place=os.path.relpath(path),
            is_local=True,
            is_run=is_run,
            is_observed=status is not None,
            status=status or Status(),
        )

    async def find(self, name: str) -> Job | None:
        return self.look(name)

    async def get(self, name: str) -> Job:
        job = await self.find(name)
        if job is None:
            raise Invalid((Fault("", f"there is no job {name!r} in {self._states}"),))
        return job

    async def jobs(self) -> list[Job]:
        return [job for name in self.names() if (job := self.look(name)) is not None]

    async def sources(self, job: Job) -> list[Source]:
        path = self._states / job.name
        sources = []
        for log in path.glob("*.log"):
            named = _LOG.fullmatch(log.name)
            with contextlib.suppress(ValueError):
                if named is not None:
                    task = TaskName.parse(named["task"])
                    sources.append(Source(task, int(named["attempt"]), str(log)))
        return sources

    async def lines(self, source: Source, request: Request) -> AsyncIterator[Line]:
        log = _Log(Path(source.address), request)
        while True:
            # In this order, the last lines of an attempt are read after its end.
            is_over = not request.follow or self._is_over(source)
            for line in log.read(at_end=is_over):
                yield line
            if is_over:
                return
            await asyncio.sleep(POLL_SECONDS)

    async def usage(self, job: Job) -> dict[str, Usage]:
        path = self._states / job.name
        reports = {
            str(row.name): progress.read(path / f"{row.name}.progress.json")
            for row in job.status.tasks
        }
        return {
            task: Usage(step=report.step, steps_per_second=report.steps_per_second)
            for task, report in reports.items()
            if report is not None
        }

    async def delete(self, job: Job) -> str:
        try:
            locked = folder.claim(self._states / job.name)
        except Invalid as refused:
            raise OperatorError(f"{job.name} {refused}") from refused
        try:
            locked.clear()
        finally:
            locked.close()
        return f"{job.name}: its status and logs are deleted; checkpoints stay in {job.place}"

    def _is_over(self, source: Source) -> bool:
        """Say whether an attempt has stopped writing."""
        job = self.look(Path(source.address).parent.name)
        if job is None or not job.is_run:
            return True
        rows = {row.name: row for row in job.status.tasks}
        row = rows.get(source.task)
        return row is not None and row.attempt > source.attempt


class _Log:
    """A log that is read first from its beginning or near its end, and then as it grows."""

    def __init__(self, path: Path, request: Request) -> None:
        self._path = path
        self._at = 0
        self._rest = b""
        with contextlib.suppress(OSError), path.open("rb") as log:
            old = request.since_seconds
            if old is not None and path.stat().st_mtime < time.time() - old:
                self._at = path.stat().st_size
            elif request.tail is not None:
                self._at = _beginning_of_tail(log, request.tail)

    def read(self, *, at_end: bool) -> Iterator[Line]:
        """Yield the complete lines since the last read; with `at_end`, an incomplete one too."""
        with contextlib.suppress(OSError), self._path.open("rb") as log:
            log.seek(self._at)
            for raw in log:
                self._at += len(raw)
                self._rest += raw
                if self._rest.endswith(b"\n"):
                    yield _line(self._rest)
                    self._rest = b""
        if at_end and self._rest:
            yield _line(self._rest)
            self._rest = b""


def _status(path: Path) -> Status | None:
    try:
        return status_json.load(json.loads((path / "status.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, pydantic.ValidationError):
        return None


def _line(raw: bytes) -> Line:
    return Line(raw.removesuffix(b"\n").removesuffix(b"\r").decode(errors="replace"))


def _beginning_of_tail(log: BinaryIO, count: int) -> int:
    """Return where the last `count` lines begin."""
    starts: collections.deque[int] = collections.deque(maxlen=count)
    at = 0
    for line in log:
        starts.append(at)
        at += len(line)
    return starts[0] if starts else at
