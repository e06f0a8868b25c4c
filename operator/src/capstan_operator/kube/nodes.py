"""Whether a node is lost: gone, declared out of service, or not ready for too long."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from capstan_operator.kube import errors, paths
from capstan_operator.kube.rest import Rest

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""The taint by which an administrator says that a node is off and nothing runs on it."""
FRESH_SECONDS = 5.0
"""How long an answer holds at most: the pods of one node are looked at together."""
RECHECK_SECONDS = 30.0
"""When to look again at a node that is ready; the control plane takes 40 s and more to notice."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sight:
    """What a look at a node showed. When it is not lost, `look_again` says when it may be; None:
    nobody may look.
    """

    lost: bool
    look_again: datetime | None = None


class Nodes:
    """Looks at nodes, for one event loop. Without the right to read nodes none is ever lost."""

    def __init__(self, rest: Rest, clock: Callable[[], datetime], lost_seconds: float) -> None:
        self._rest = rest
        self._clock = clock
        self._lost_after = timedelta(seconds=lost_seconds)
        self._seen: dict[str, tuple[datetime, Sight]] = {}
        """Until when each answer holds."""
        self._may_look = True

    async def look(self, name: str) -> Sight:
        """Say how a node is, as of at most `FRESH_SECONDS` ago; `look_again` is later than now.

        Raises errors.ApiError when the API cannot tell: then nothing is known, and nothing lost.
        """
        now = self._clock()
        self._seen = {node: seen for node, seen in self._seen.items() if now < seen[0]}
        if name not in self._seen:
            sight = await self._ask(name, now)
            # Who comes back as told must not hear the same again, and come back at once.
            until = now + timedelta(seconds=FRESH_SECONDS)
            self._seen[name] = min(until, sight.look_again or until), sight
        return self._seen[name][1]

    async def _ask(self, name: str, now: datetime) -> Sight:
        try:
            node = await self._rest.get(paths.node(name))
        except errors.NotFound:
            return Sight(lost=True)
        except errors.Forbidden as error:
            if self._may_look:
                self._may_look = False
                _log.warning("pods on lost nodes will wait until somebody deletes them: %s", error)
            return Sight(lost=False)
        return judge(node, now, self._lost_after)


def judge(node: Mapping[str, Any], now: datetime, lost_after: timedelta) -> Sight:
    """Read what a Node says of itself, and what its controller says of it."""
    taints = node.get("spec", {}).get("taints") or ()
    if any(taint["key"] == OUT_OF_SERVICE for taint in taints):
        return Sight(lost=True)
    for condition in node.get("status", {}).get("conditions") or ():
        if condition["type"] == "Ready" and condition["status"] != "True":
            lost_at = datetime.fromisoformat(condition["lastTransitionTime"]) + lost_after
            return Sight(lost=True) if now >= lost_at else Sight(lost=False, look_again=lost_at)
    return Sight(lost=False, look_again=now + timedelta(seconds=RECHECK_SECONDS))
