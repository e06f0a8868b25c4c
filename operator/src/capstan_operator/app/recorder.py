"""Post news as Events, beside the passes: no pass waits for it.

Rule 1: an Event is posted at most once. Its name follows from the version of the status that it
reports. An Event that cannot be posted is lost, but the status says the same. Nobody misses the
Events of a namespace that is being deleted.
Rule 2: the memory is bounded. If more happens than can be posted, the oldest news is lost. A job
that flaps posts fewer Events than it has news (`event_budget`). The log has all news.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from capstan_operator.app.endings import Endings
from capstan_operator.app.event_budget import EventBudget
from capstan_operator.kube import events, paths
from capstan_operator.kube.errors import AlreadyExists, ApiError, NamespaceEnds, NotFound
from capstan_operator.kube.rest import Rest
from capstan_operator.reconcile.actions import Announce

MOST_WAITING = 1000

log = logging.getLogger(__name__)


class Recorder:
    """Posts Events, for one event loop. Each Event names this process as `instance`."""

    def __init__(
        self, rest: Rest, endings: Endings, clock: Callable[[], datetime], instance: str
    ) -> None:
        self._rest = rest
        self.endings = endings
        """The jobs for which nothing can be posted any more."""
        self._clock = clock
        self._instance = instance
        self._waiting: deque[dict[str, Any]] = deque()
        self._arrived = asyncio.Event()
        self._budget = EventBudget()

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
            if len(self._waiting) >= MOST_WAITING:
                _lost(self._waiting.popleft(), "too many events are waiting")
            self._waiting.append(event)
            self._arrived.set()

    async def run(self) -> None:
        """Post recorded news until cancelled."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            await self.post()

    async def post(self) -> None:
        """Post the recorded news that is not posted yet, the oldest first."""
        while self._waiting:
            event = self._waiting.popleft()
            try:
                await self._rest.create(paths.events(event["metadata"]["namespace"]), event)
            except AlreadyExists:
                pass
            except (NamespaceEnds, NotFound):
                self.endings.note(event["metadata"]["namespace"])
            except ApiError as error:
                _lost(event, str(error))


def _lost(event: Mapping[str, Any], why: str) -> None:
    regarding = event["regarding"]
    log.warning(
        "%s/%s: event %s is lost: %s",
        regarding["namespace"],
        regarding["name"],
        event["reason"],
        why,
    )
