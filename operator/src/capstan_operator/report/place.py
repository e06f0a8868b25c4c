"""The places that keep jobs: a folder of this machine, or a namespace of a cluster."""

from collections.abc import AsyncIterator
from typing import Protocol

from capstan_operator.report.job import Job
from capstan_operator.report.output import Line, Request, Source
from capstan_operator.report.tasks import Usage


class Place(Protocol):
    """A place with jobs. Every method may raise `errors.OperatorError`.

    If a job does not exist, `find` returns None. Other methods raise an `errors.Invalid` that names
    the place.
    """

    @property
    def title(self) -> str:
        """The words for the place in a message."""

    async def find(self, name: str) -> Job | None:
        """Return a job as it is now, or None if there is none of this name."""

    async def get(self, name: str) -> Job:
        """Return a job as it is now. Raises errors.Invalid if there is none of this name."""

    async def jobs(self) -> list[Job]:
        """Return all jobs as they are now, sorted by name."""

    async def sources(self, job: Job) -> list[Source]:
        """Return the outputs of the tasks of a job that can be read now."""

    def lines(self, source: Source, request: Request) -> AsyncIterator[Line]:
        """Yield the lines of one output. With `follow`, yield until its attempt has ended."""

    async def usage(self, job: Job) -> dict[str, Usage]:
        """Return the current use of each task, by task name; empty if it is not measured."""

    async def delete(self, job: Job) -> str:
        """Delete a job. Return a line that says what has happened."""
