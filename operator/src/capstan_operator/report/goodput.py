"""The share of a job's time in which all its tasks ran.

Time counts from `startTime`, which a suspension sets anew, until the end of the job. A job that
waits for nodes or for a restart loses time. A job that repeats steps after a restart, or that makes
no step, loses none: the operator does not know in time which step a task is at.
"""

import math
from dataclasses import dataclass
from datetime import datetime

from capstan_operator.api.status import Phase, Status
from capstan_operator.report import duration


@dataclass(frozen=True, slots=True)
class Account:
    """The times of a job. `seconds` is for how long all tasks ran before `running_since`, the time
    since which all tasks run, None if not all run. `ended` is None before the end of the job.
    """

    started: datetime | None
    seconds: float
    running_since: datetime | None
    ended: datetime | None

    def share(self, now: datetime) -> float | None:
        """Return the share from 0 to 1, or None if no time has passed or the job is suspended."""
        if self.started is None:
            return None
        until = self.ended or now
        passed = (until - self.started).total_seconds()
        if passed <= 0:
            return None
        still = 0.0
        if self.running_since is not None:
            still = max((until - self.running_since).total_seconds(), 0.0)
        return min((self.seconds + still) / passed, 1.0)

    def line(self, now: datetime) -> str:
        """Return the share in a sentence, or "" if there is none. It is not rounded up."""
        share = self.share(now)
        if share is None or self.started is None:
            return ""
        passed = duration.show(((self.ended or now) - self.started).total_seconds())
        return f"all tasks ran for {math.floor(share * 1000) / 10:g} % of {passed}"


def account(status: Status) -> Account:
    """Return the times of a job with this status."""
    runs = status.phase is Phase.RUNNING
    return Account(
        started=status.start_time,
        seconds=status.running_seconds,
        running_since=status.last_transition_time if runs else None,
        ended=status.completion_time,
    )
