"""The operator while it leads: workers make passes; watches and comparisons wake them."""

import asyncio
import logging
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

from capstan_operator.app import task_client
from capstan_operator.app.controller import Controller
from capstan_operator.app.endings import Endings
from capstan_operator.app.health import Health
from capstan_operator.app.informer import Informer
from capstan_operator.app.metrics import Metrics
from capstan_operator.app.queue import LONG, OFTEN, WORKERS, WorkQueue
from capstan_operator.app.recorder import Recorder
from capstan_operator.app.reports import Reports
from capstan_operator.app.resync import Resync
from capstan_operator.app.settings import Settings
from capstan_operator.app.watches import Watches
from capstan_operator.errors import OperatorError
from capstan_operator.kube.cache import Cache
from capstan_operator.kube.errors import ApiError, Forbidden, NotFound, Refused
from capstan_operator.kube.nodes import Nodes
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.reconcile.actions import Announce, NewsType

AGAIN_SECONDS = 2.0
"""The pause after a comparison that failed. It doubles while only some namespaces fail, because
every comparison also reads the other namespaces."""
LONGEST_AGAIN_SECONDS = 60.0
PASSES_FAIL = "PassesFail"

log = logging.getLogger(__name__)


class Operator:
    """Serves the namespaces of the settings. `lead` may be called once."""

    def __init__(
        self, settings: Settings, rest: Rest, events: Rest, queue: WorkQueue, metrics: Metrics,
        health: Health,
    ) -> None:  # fmt: skip
        """Build the parts that serve jobs. Must be called in the event loop of the process.

        `events` is another client, for Events alone.
        """
        clock = asyncio.get_running_loop().time
        cache = self._cache = Cache()
        nodes = Nodes(rest, clock, settings.node_lost_seconds)
        self._settings = settings
        self._rest = rest
        self._queue = queue
        self._metrics = metrics
        self._health = health
        self._recorder = Recorder(events, Endings(cache), now, settings.identity)
        self._reports = Reports(
            task_client.progress, queue.add, clock, now, settings.progress_seconds
        )
        self._controller = Controller(
            rest, cache, nodes, metrics, self._recorder, self._reports, now
        )
        watches = Watches(settings.namespaces, clock)
        self._resync = Resync(
            rest, cache, self._controller.preparations, metrics, settings.namespaces, queue.add,
            watches,
        )  # fmt: skip
        self._informer = Informer(
            cache,
            queue.add,
            queue.add_soon,
            self._resync.ask,
            self._controller.preparations.service_event,
            watches,
        )
        health.stuck = watches.stuck

    async def lead(self) -> None:
        """Make passes until cancelled. Returns when the API server no longer knows TrainingJobs."""
        await first_of(
            *(self._work() for _ in range(WORKERS)),
            self._compare_after_watches(),
            self._recorder.run(),
            self._reports.run(),
            self._informer.watch(self._rest.connection, self._settings.namespaces),
        )

    async def finish(self) -> None:
        """Post the events that are not posted yet. Call it when `lead` has ended."""
        await self._recorder.finish()

    async def _compare_after_watches(self) -> None:
        await self._resync.wait_for_watches()
        await self._compare_for_ever()

    async def _compare_for_ever(self) -> None:
        """Compare until the API server no longer knows TrainingJobs."""
        failures = 0
        while True:
            try:
                faults = await self._compare_until_done()
            except NotFound as gone:
                # kopf never watches a kind that was missing when it started, or at any time since.
                log.critical(
                    "the CRD is gone, so this process exits; the next one waits for the CRD: %s",
                    gone,
                )
                return
            self._health.waiting_for = ""
            self._tell("; ".join(map(str, faults.values())))
            seconds = self._settings.resync_seconds
            if faults:
                again = AGAIN_SECONDS * 2.0 ** min(failures, 16)
                seconds = min(seconds, again, LONGEST_AGAIN_SECONDS)
                seconds = max(seconds, *map(_later, faults.values()))
            failures = failures + 1 if faults else 0
            await self._resync.wait(seconds)

    def _tell(self, unread: str) -> None:
        """Log which of the served namespaces cannot be read, each time that this changes."""
        if unread and unread != self._health.unread:
            log.warning("serves the other namespaces, and tries again: %s", unread)
        if self._health.unread and not unread:
            log.info("serves all its namespaces again")
        self._health.unread = unread

    async def _compare_until_done(self) -> dict[str | None, ApiError]:
        logged = ""
        while True:
            try:
                return await self._resync.compare()
            except NotFound:
                raise
            except ApiError as error:
                if str(error) != logged:
                    logged = str(error)
                    log.warning("cannot compare with the cluster, and tries again: %s", logged)
                await asyncio.sleep(max(_later(error), AGAIN_SECONDS))

    async def _work(self) -> None:
        """Make passes over the keys of the queue, one after the other, until cancelled."""
        while True:
            key = await self._queue.get()
            if self._resync.knows(key.namespace):
                await self._pass(key)
            else:
                # A job may seem to have no pods yet. The first comparison wakes the job.
                self._queue.done(key, None)

    async def _pass(self, key: Key) -> None:
        """Make one pass, set when the key comes back, and measure the pass."""
        clock = asyncio.get_running_loop().time
        started, result = clock(), "ok"
        try:
            again = await self._controller.reconcile(key)
        except OperatorError as error:
            result = "error"
            seconds = self._queue.failed(key, _later(error))
            log.warning("%s/%s: %s; again in %.1f s", *key, error, seconds)
            self._report_failures(key, str(error), _patience(error))
        except Exception:  # one job that cannot be handled must not stop the others
            result = "error"
            seconds = self._queue.failed(key)
            log.exception("%s/%s: the pass failed; again in %.1f s", *key, seconds)
            self._report_failures(key, "the log of the operator has the cause")
        else:
            self._queue.done(key, again)
            log.debug("%s/%s: pass done, again in %s s", *key, again)
        self._metrics.pass_seconds.labels(result).observe(clock() - started)

    def _report_failures(self, key: Key, why: str, patience: int = LONG) -> None:
        """Report the failures of a job's passes by an event, after so many failures in a row.

        The status of the job cannot report them. A new job may not even have a status.
        """
        manifest = self._cache.job(key)
        # The first failures may have had another cause, with more patience.
        if manifest is not None and self._queue.failures(key) in (patience, LONG):
            line = f"the operator cannot handle the job, and tries again: {why}"
            news = Announce(NewsType.WARNING, PASSES_FAIL, line)
            self._recorder.record(manifest, [news], mark="failing-")


def _patience(error: OperatorError) -> int:
    """Return after how many failures in a row an event reports them."""
    if not isinstance(error, ApiError):
        return 1  # A status that cannot be read stays as it is.
    # A policy or a missing right lasts, but both may be changed at this moment.
    return OFTEN if isinstance(error, Forbidden | Refused) else LONG


def _later(error: OperatorError) -> float:
    """Return the seconds that the API server asked to wait, or 0 if it named no time."""
    return error.retry_after if isinstance(error, ApiError) else 0.0


async def first_of(*coroutines: Coroutine[Any, Any, object]) -> None:
    """Run all coroutines until one ends, and cancel the others.

    Raises the error of a coroutine that ended first.
    """
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def now() -> datetime:
    """Return the current time in UTC, as an aware datetime."""
    return datetime.now(UTC)
