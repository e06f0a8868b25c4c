"""Limit how often the operator writes a status that only reports progress.

Such a status reports, for example, that further pods are scheduled or run.

Rule 1: a status with consequences never waits. Consequences are a failure, an action, news and
another phase, except that a job is Starting instead of Pending: most such jobs run a moment later.
Rule 2: the first change after a pause is written at once. Changes soon after it are written
together.
"""

from datetime import datetime, timedelta

from capstan_operator.api.status import Phase, Status
from capstan_operator.kube.table import Key
from capstan_operator.reconcile.actions import Plan

APART = timedelta(seconds=0.5)
"""The shortest time between two writes that only report progress. With this pause, ten pods that
start within a second cause about three writes instead of twenty. After each write, the API server
stores the whole object again and sends it to every watch. A replaced task often runs within this
time, so that its start costs one write."""


class Pace:
    """Remembers when the status of each job was last written.

    If the time of a job is forgotten, the next status of the job is written without a pause.
    """

    def __init__(self) -> None:
        self._last: dict[Key, datetime] = {}

    def seconds(self, key: Key, before: Status, decided: Plan, now: datetime) -> float:
        """Return the seconds to wait before the plan is carried out, or 0 if it must not wait."""
        if decided.status is None or decided.actions or decided.news:
            return 0.0
        if _weight(decided.status) != _weight(before):
            return 0.0
        # If the clock was set back, the last write has a time in the future. Do not wait for it.
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
    phase = Phase.STARTING if status.phase is Phase.PENDING else status.phase
    return phase, status.epoch, status.restarts, attempts
