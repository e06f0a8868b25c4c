"""The progress of all jobs, which the operator asks of one task of each job, beside the passes.

Rule 1: no pass waits for a task. A pass uses the last report, and a new report wakes the job.
Rule 2: the cost is bounded. All jobs together are asked at most PER_SECOND times a second, so with
more jobs each job is asked less often. A task that does not answer is asked ever less often.
Rule 3: a report is forgotten with its process. The status of the job remembers its progress.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api import report
from capstan_operator.api.names import Uid
from capstan_operator.api.report import Report
from capstan_operator.app.queue import WORKERS, WorkQueue
from capstan_operator.app.task_client import Identity
from capstan_operator.kube.table import Key

PER_SECOND = 3.0
"""The most questions a second. Each new report also costs a pass and a write of the status."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Target:
    """The task to ask: the pod's UID, the `host:port` of its server, and certificates to use."""

    uid: Uid
    address: str
    identity: Identity | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """A report of the pod with this UID, and when it was received last."""

    uid: Uid
    report: Report
    at: datetime


class Reports:
    """The last report of each job, for one event loop.

    `ask` returns the answer of the task at an address, asked with certificates, or None. `wake` is
    called with the key of a job that has a new report. `loop_clock` returns the loop's time in
    seconds, and `clock` an aware time. A job is asked at most once in `shortest_seconds`. If this
    is 0, no job is asked.
    """

    def __init__(
        self,
        ask: Callable[[str, Identity | None], Awaitable[bytes | None]],
        wake: Callable[[Key], None],
        loop_clock: Callable[[], float],
        clock: Callable[[], datetime],
        shortest_seconds: float,
    ) -> None:
        self._shortest_seconds = shortest_seconds
        self._ask = ask
        self._wake = wake
        self._clock = clock
        self._queue = WorkQueue(loop_clock)
        self._targets: dict[Key, Target] = {}
        self._reports: dict[Key, Received] = {}

    def follow(self, key: Key, target: Target | None) -> None:
        """Ask this task for the progress of a job from now on. None asks nobody."""
        if target is None or not self._shortest_seconds:
            self._targets.pop(key, None)
        elif self._targets.get(key) != target:
            self._targets[key] = target
            self._queue.add_after(key, self._pause())

    def last(self, key: Key, uid: Uid) -> Received | None:
        """Return the last report of a job's pod, or None if the pod has not reported."""
        found = self._reports.get(key)
        return found if found is not None and found.uid == uid else None

    def forget(self, key: Key) -> None:
        """Ask nobody for the progress of a job, and forget its last report."""
        self._targets.pop(key, None)
        self._reports.pop(key, None)

    async def run(self) -> None:
        """Ask the tasks until cancelled."""
        await asyncio.gather(*(self._ask_for_ever() for _ in range(WORKERS)))

    async def _ask_for_ever(self) -> None:
        while True:
            key = await self._queue.get()
            target = self._targets.get(key)
            if target is None:
                self._queue.done(key, None)
                continue
            try:
                answer = await self._ask(target.address, target.identity)
            except Exception:  # one task that cannot be asked must not stop the operator
                log.exception("%s/%s: cannot ask %s for its progress", *key, target.address)
                answer = None
            if answer is None:
                self._queue.failed(key, self._pause())
            else:
                self._receive(key, target, answer)
                self._queue.done(key, self._pause())

    def _receive(self, key: Key, target: Target, answer: bytes) -> None:
        """Remember a report, and wake the job if the report is new."""
        found = report.parse(answer, self._clock())
        if found is None or self._targets.get(key) != target:
            return
        before = self._reports.get(key)
        self._reports[key] = Received(target.uid, found, self._clock())
        if before is None or before.report != found:
            self._wake(key)

    def _pause(self) -> float:
        return max(self._shortest_seconds, len(self._targets) / PER_SECOND)
