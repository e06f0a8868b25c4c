"""Limit how often a status is written that only reports progress: pods are scheduled, pods run.

Rule 1: a status with consequences never waits. Consequences are a failure, an action, news and
another phase.
Rule 2: the first change after a pause is written at once. Changes soon after it are written
together.
"""

from datetime import datetime, timedelta

from capstan_operator.api.status import Status
from capstan_operator.kube.cache import Key
from capstan_operator.reconcile.actions import Plan

APART = timedelta(seconds=0.25)
"""The shortest time between two writes that only report progress. Ten pods that start within a
second then cause about four writes instead of twenty. Each write is a version of the whole object
for the API server and for every watch."""


class Pace:
    """Remembers when the status of each job was last written. A forgotten time costs one write."""

    def __init__(self) -> None:
        self._last: dict[Key, datetime] = {}

    def seconds(self, key: Key, before: Status, decided: Plan, now: datetime) -> float:
        """Return the seconds to wait before the plan is carried out, or 0 if it must not wait."""
        if decided.status is None or decided.actions or decided.news:
            return 0.0
        if _weight(decided.status) != _weight(before):
            return 0.0
        # After the clock was set back, a pass must not wait until the old time.
        if key not in self._last or now < self._last[key]:
            return 0.0
        return max((self._last[key] + APART - now).total_seconds(), 0.0)

    def written(self, key: Key, now: datetime) -> None:
        """Note that a status of this job was written."""
        self._last[key] = now

    def forget(self, key: Key) -> None:
        """Forget a job."""
        self._last.pop(key, None)


def _weight(status: Status) -> object:
    """Return the part of a status that has consequences."""
    attempts = [(row.name, row.attempt, row.finished_at) for row in status.tasks]
    return status.phase, status.epoch, status.restarts, attempts
