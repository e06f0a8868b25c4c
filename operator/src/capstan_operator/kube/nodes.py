"""Read the nodes of doubtful pods; `policies.node` decides whether the nodes are lost.

The operator trusts no clock of another machine. Like Kubernetes' own node controller, this process
measures how long a node is not ready. It measures from the moment at which it first saw that the
node is not ready. A new process starts a new count. A restart therefore delays the loss of a node
by at most `lost_seconds`, and never hastens it.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from capstan_operator.kube import errors, paths
from capstan_operator.kube.rest import Rest
from capstan_operator.reconcile.policies import node as policy
from capstan_operator.reconcile.policies.node import Sight

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""The taint with which an administrator declares that a node is off and runs nothing."""
FRESH_SECONDS = 5.0
"""The longest time for which an answer is reused, so that the pods of a node share one request."""
MOST_OUTAGES = 10_000
"""The most nodes whose outages are remembered. The number is a guess. The count of a forgotten node
starts again at 0."""

_log = logging.getLogger(__name__)


class Nodes:
    """Reads nodes, for one event loop. Without the right to read nodes, it reports none as lost."""

    def __init__(self, rest: Rest, clock: Callable[[], float], lost_seconds: float) -> None:
        """Take a clock that never goes back, in seconds, such as the event loop's."""
        self._rest = rest
        self._clock = clock
        self._lost_seconds = lost_seconds
        self._answers: dict[str, tuple[float, Sight]] = {}
        """The answer for each node, and the time of its request."""
        self._outages: dict[str, tuple[object, float]] = {}
        """The identity of each node's outage, and when the outage was first seen."""
        self._may_look = True

    async def look(self, name: str) -> Sight:
        """Return the state of a node, at most `FRESH_SECONDS` old.

        Raises errors.ApiError if the API server does not answer. The state of the node is then
        unknown.
        """
        now = self._clock()
        self._answers = {
            node: (at, sight)
            for node, (at, sight) in self._answers.items()
            if _holds(sight, now - at)
        }
        if name not in self._answers:
            self._answers[name] = now, await self._ask(name)
        at, sight = self._answers[name]
        if sight.again_seconds is None:
            return sight
        return Sight(sight.lost, sight.again_seconds - (now - at))

    async def _ask(self, name: str) -> Sight:
        """Read a node from the API server, and judge whether it is lost."""
        try:
            node = await self._rest.get(paths.node(name))
        except errors.NotFound:
            self._outages.pop(name, None)
            return policy.LOST
        except errors.Forbidden as error:
            if self._may_look:
                self._may_look = False
                _log.warning(
                    "may not read nodes: pods on lost nodes wait until a user deletes them: %s",
                    error,
                )
            return Sight(lost=False)
        return policy.judge(
            out_of_service=_is_out_of_service(node),
            unready_seconds=self._unready_seconds(name, node),
            lost_after=self._lost_seconds,
        )

    def _unready_seconds(self, name: str, node: Mapping[str, Any]) -> float | None:
        outage = _outage(node)
        if outage is None:
            self._outages.pop(name, None)
            return None
        if self._outages.get(name, (None, 0.0))[0] != outage:
            self._outages[name] = outage, self._clock()
            if len(self._outages) > MOST_OUTAGES:
                del self._outages[next(iter(self._outages))]
        return self._clock() - self._outages[name][1]


def _holds(sight: Sight, age: float) -> bool:
    """Return True if an answer may be reused.

    A caller that comes back after `again_seconds` must get a new answer. So must a caller after a
    loss, because a node of the same name may have joined meanwhile and have got a new pod.
    """
    if sight.lost:
        return False
    again = FRESH_SECONDS if sight.again_seconds is None else sight.again_seconds
    return age < min(FRESH_SECONDS, again)


def _is_out_of_service(node: Mapping[str, Any]) -> bool:
    taints = (node.get("spec") or {}).get("taints") or ()
    return any(taint.get("key") == OUT_OF_SERVICE for taint in taints)


def _outage(node: Mapping[str, Any]) -> object | None:
    """Return the identity of the current outage of a node, or None if the node is ready.

    A node without the condition `Ready` counts as ready. The time of the condition is part of the
    identity only. No duration is measured from that time.
    """
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") != "True":
            uid = (node.get("metadata") or {}).get("uid")
            return uid, condition.get("status"), condition.get("lastTransitionTime")
    return None
