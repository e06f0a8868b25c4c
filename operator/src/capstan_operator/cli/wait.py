"""`capstanctl wait`: wait for the end of a job, for its start, or for its deletion."""

import argparse
import asyncio
import contextlib

from capstan_operator.api import status_json
from capstan_operator.cli import documents, places
from capstan_operator.errors import Temporary
from capstan_operator.report import awaited
from capstan_operator.report.awaited import Awaited, Outcome
from capstan_operator.report.job import Job
from capstan_operator.report.place import Place

POLL_SECONDS = 1.0
MISSED = 1
TIME_IS_OVER = 3
_EXIT = {Outcome.REACHED: 0, Outcome.MISSED: MISSED, Outcome.OPEN: TIME_IS_OVER}


def wait(options: argparse.Namespace) -> int:
    """Wait, print the outcome, and return the exit status. Raises errors.OperatorError."""
    return asyncio.run(_wait(options))


async def _wait(options: argparse.Namespace) -> int:
    wanted = Awaited(options.awaited)
    async with places.opened(options) as place:
        find = place.find if wanted is Awaited.DELETED else place.get
        job = await find(options.job)
        last = _Last(wanted, job)
        try:
            async with asyncio.timeout(options.timeout):
                await last.follow(place, options.job)
        except TimeoutError:
            pass
    if options.output is not None:
        documents.show([_document(options.job, last.job)], options.output)
    else:
        print(awaited.sentence(wanted, options.job, last.job, last.outcome))
    return _EXIT[last.outcome]


class _Last:
    """The job as it was last seen, and the outcome that follows from it."""

    def __init__(self, wanted: Awaited, job: Job | None) -> None:
        self._wanted = wanted
        self.job = job
        self.outcome = awaited.outcome(wanted, job)

    async def follow(self, place: Place, name: str) -> None:
        """Look again and again until the outcome is certain."""
        while self.outcome is Outcome.OPEN:
            await asyncio.sleep(POLL_SECONDS)
            # A script that waits for hours outlives a restart of the API server.
            with contextlib.suppress(Temporary):
                self.job = await place.find(name)
            self.outcome = awaited.outcome(self._wanted, self.job)


def _document(name: str, job: Job | None) -> dict[str, object]:
    if job is None:
        return {"name": name, "phase": None}
    return {"name": name, "place": job.place, "status": status_json.render(job.status)}
