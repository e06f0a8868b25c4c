"""How many Events of one kind a job may post, as Kubernetes' own controllers limit theirs.

A task that becomes ready and unready all the time would otherwise post an Event each time. A start
that is refused, for each of hundreds of tasks, is tried for ever. Other warnings have no limit
here, because the limits of the job bound what they report.
"""

from datetime import datetime, timedelta

from capstan_operator.api.names import Uid
from capstan_operator.reconcile.actions import Announce, NewsType
from capstan_operator.reconcile.policies.failure import REFUSED

AT_ONCE = 10
"""The most Events of one job with one reason that are posted without a pause."""
REFILL = timedelta(minutes=5)
"""After this time, one more Event may be posted. Both numbers are guesses."""
MOST_REMEMBERED = 10_000


class EventBudget:
    """The Events that jobs may still post. A forgotten job has the whole budget again."""

    def __init__(self) -> None:
        self._spent: dict[tuple[Uid, str], tuple[float, datetime]] = {}
        """For each job and reason, how many Events are spent, and at what time."""

    def allows(self, job: Uid, news: Announce, now: datetime) -> bool:
        """Spend one Event, and return True. Return False if the budget is used up."""
        if news.type is NewsType.WARNING and news.reason not in REFUSED:
            return True
        key = job, news.reason
        spent = self._left_over(key, now)
        allowed = spent <= AT_ONCE - 1
        self._spent.pop(key, None)
        # A refusal sets the time, too, because an old time may lie in the future.
        self._spent[key] = spent + allowed, now
        if len(self._spent) > MOST_REMEMBERED:
            del self._spent[next(iter(self._spent))]
        return allowed

    def _left_over(self, key: tuple[Uid, str], now: datetime) -> float:
        """Return how much of the budget is still spent."""
        spent, at = self._spent.get(key, (0.0, now))
        return max(spent - max(now - at, timedelta()) / REFILL, 0.0)
