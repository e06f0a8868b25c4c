"""Look at nodes on which a pod is in doubt; `policies.node` judges whether they are lost.

No clock of another machine is trusted. The time for which a node has not been ready is measured by
this process, from when it first saw the node so: Kubernetes' own node controller does the same. A
process that has just started counts anew, so a restart delays the loss of a node by at most
`lost_seconds` and never hastens it.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from capstan_operator.kube import errors, paths
from capstan_operator.kube.rest import Rest
from capstan_operator.reconcile.policies import node as policy
from capstan_operator.reconcile.policies.node import Sight

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""The taint by which an administrator says that a node is off and nothing runs on it."""
FRESH_SECONDS = 5.0
"""How long an answer holds at most: the pods of one node are looked at together."""
MOST_OUTAGES = 10_000
"""Nodes whose outage is remembered. A guess. A node that is forgotten is counted anew."""

_log = logging.getLogger(__name__)


class Nodes:
    """Looks at nodes, for one event loop. Without the right to read nodes, none is ever lost."""

    def __init__(self, rest: Rest, clock: Callable[[], float], lost_seconds: float) -> None:
        """Take a clock that never goes back, in seconds, such as the event loop's."""
        self._rest = rest
        self._clock = clock
        self._lost_seconds = lost_seconds
        self._answers: dict[str, tuple[float, Sight]] = {}
        """When each answer was given."""
        self._outages: dict[str, tuple[object, float]] = {}
        """The identity of each node's outage, and when the outage was first seen."""
        self._may_look = True

    async def look(self, name: str) -> Sight:
        """Return the state of a node, which is at most `FRESH_SECONDS` old.

        Raises errors.ApiError if the API server does not answer: then nothing is known.
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
        try:
            node = await self._rest.get(paths.node(name))
        except errors.NotFound:
            self._outages.pop(name, None)
            return policy.LOST
        except errors.Forbidden as error:
            if self._may_look:
                self._may_look = False
                _log.warning(
                    "may not read nodes: pods on lost nodes wait until somebody deletes them: %s",
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
    """Return whether an answer may be used again. A caller that comes back after `again_seconds`
    must get a new answer.
    """
    again = FRESH_SECONDS if sight.again_seconds is None else sight.again_seconds
    return age < min(FRESH_SECONDS, again)


def _is_out_of_service(node: Mapping[str, Any]) -> bool:
    taints = (node.get("spec") or {}).get("taints") or ()
    return any(taint.get("key") == OUT_OF_SERVICE for taint in taints)


def _outage(node: Mapping[str, Any]) -> object | None:
    """Return what tells this outage of a node from others; None if the node is ready.

    A node without the condition counts as ready. Its time is compared, never measured from.
    """
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") != "True":
            uid = (node.get("metadata") or {}).get("uid")
            return uid, condition.get("status"), condition.get("lastTransitionTime")
    return None
