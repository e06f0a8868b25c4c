"""Post news as Events, beside the passes: no pass waits for it.

Rule 1: an Event exists at most once. Its name follows from the version of the status that it
reports, so that a POST that is tried again finds the Event that an earlier one has made.
Rule 2: a POST that fails for a while, for example with 429, is tried again for some two minutes. A
POST that is refused is not. When the process ends, it posts what is left (`finish`). A lost Event
is logged, and the status says the same as the Event. Nobody misses the Events of a namespace that
is being deleted.
Rule 3: Events are posted side by side, and namespaces take turns, so that Events are on time
although the API server, or a webhook of one namespace, answers slowly.
Rule 4: the memory is bounded. If more happens than can be posted, the oldest news is lost. A job
that flaps posts fewer Events than it has news (`event_budget`). The log has all news.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from capstan_operator.app.endings import Endings
from capstan_operator.app.event_budget import EventBudget
from capstan_operator.app.queue import WORKERS, WorkQueue
from capstan_operator.errors import Temporary
from capstan_operator.kube import events, paths
from capstan_operator.kube.errors import AlreadyExists, ApiError, Conflict, NamespaceEnds, NotFound
from capstan_operator.kube.rest import Rest
from capstan_operator.kube.table import Key
from capstan_operator.reconcile.actions import Announce

MOST_WAITING = 1000
LAST_SECONDS = 5.0
"""The longest time for the last Events of a process. A pod has 30 seconds to end."""

log = logging.getLogger(__name__)


class Recorder:
    """Posts Events, for one event loop. Each Event names this process as `instance`.

    `rest` is for Events alone. Slow Events would take places from the requests of passes.
    """

    def __init__(
        self, rest: Rest, endings: Endings, clock: Callable[[], datetime], instance: str
    ) -> None:
        """Must be called in the event loop of the recorder."""
        self._rest = rest
        self.endings = endings
        """The jobs for which nothing can be posted any more."""
        self._clock = clock
        self._instance = instance
        self._queue = WorkQueue(asyncio.get_running_loop().time)
        self._events: dict[Key, dict[str, Any]] = {}
        """The Events that are not posted yet, the oldest first."""
        self._budget = EventBudget()

    @property
    def waiting(self) -> int:
        """The number of Events that are neither posted nor lost yet."""
        return len(self._events)

    def record(
        self, manifest: Mapping[str, Any], news: Sequence[Announce], *, mark: str = ""
    ) -> None:
        """Queue an Event for each piece of news, and return at once.

        `manifest` is the job, with the status that the news is about. News that no status contains
        needs a `mark`, because the news of the status has names with this version already.
        """
        metadata = manifest["metadata"]
        for index, announced in enumerate(news):
            if not self._budget.allows(metadata["uid"], announced, self._clock()):
                continue
            # Every written status has its own version, so that no event is posted twice.
            name = f"{metadata['name']}.{int(metadata['resourceVersion']):x}.{mark}{index}"
            event = events.event(
                manifest, announced, name=name, now=self._clock(), instance=self._instance
            )
            if len(self._events) >= MOST_WAITING:
                self._lose(next(iter(self._events)), "too many events are waiting")
            key = Key(metadata["namespace"], name)
            self._events[key] = event
            self._queue.add(key)

    async def run(self) -> None:
        """Post recorded news until cancelled."""
        await asyncio.gather(*(self._post_for_ever() for _ in range(WORKERS)))

    async def finish(self) -> None:
        """Post the recorded news that is not posted yet, when `run` has ended.

        Each Event is tried once more, and `LAST_SECONDS` is the time for all of them.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await asyncio.gather(*map(self._post_last, list(self._events)))
        for key in list(self._events):
            self._lose(key, "the process ends")

    async def _post_last(self, key: Key) -> None:
        if await self._post(self._events[key]) is None:
            del self._events[key]

    async def _post_for_ever(self) -> None:
        while True:
            key = await self._queue.get()
            event = self._events.get(key)
            failed = None if event is None else await self._post(event)
            if failed is None:
                self._events.pop(key, None)
                self._queue.done(key, None)
                continue
            self._queue.failed(key, failed.retry_after)
            if self._queue.has_failed_for_long(key):
                self._lose(key, str(failed))

    async def _post(self, event: Mapping[str, Any]) -> ApiError | None:
        """Post an Event. Return the error if the POST must be tried again."""
        namespace = event["metadata"]["namespace"]
        try:
            await self._rest.create(paths.events(namespace), dict(event))
        except AlreadyExists:
            pass
        except (NamespaceEnds, NotFound):
            self.endings.note(namespace)
        except ApiError as error:
            if isinstance(error, Conflict | Temporary):
                return error
            _log_lost(event, str(error))
        return None

    def _lose(self, key: Key, why: str) -> None:
        """Give up an Event that is not posted. Its key in the queue has no effect any more."""
        if (event := self._events.pop(key, None)) is not None:
            _log_lost(event, why)


def _log_lost(event: Mapping[str, Any], why: str) -> None:
    regarding = event["regarding"]
    log.warning(
        "%s/%s: event %s is lost: %s",
        regarding["namespace"],
        regarding["name"],
        event["reason"],
        why,
    )
