"""How long a failed task waits: exponentially longer with each failure in a row, never more than
`maxSeconds`, and spread so that tasks which failed together do not return together.

The spread is derived from the job's identity, the task and the count, not from chance: the same
question has the same answer after a crash.
"""

import hashlib
import math
from datetime import datetime, timedelta

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.spec import RestartBackoff
from capstan_operator.api.status import TaskStatus

SPREAD = 0.2
"""The part of the delay that the spread may take off. A guess."""

REFUSED_SECONDS = 1.0
"""The least wait after a start that was refused, before the spread. A guess."""


def delay(policy: RestartBackoff, *, failures: int, job: Uid, task: TaskName) -> timedelta:
    """Return the wait before the next attempt, after `failures` (at least 1) in a row."""
    full = _exponential(policy, failures - 1)
    return timedelta(seconds=full * (1 - SPREAD * _fraction(f"{job}/{task}/{failures}")))


def patient(policy: RestartBackoff) -> RestartBackoff:
    """Return how to wait for a start that was refused: nothing but time makes it succeed, so that
    who wants restarts at once does not want it tried all the time."""
    least = REFUSED_SECONDS
    return policy.model_copy(
        update={
            "initial_seconds": max(policy.initial_seconds, least),
            "max_seconds": max(policy.max_seconds, least),
        }
    )


def failures_in_a_row(policy: RestartBackoff, row: TaskStatus, ended: datetime) -> int:
    """Count the failure of the attempt that `row` shows: anew, if it was healthy long enough."""
    if row.started_at is not None:
        healthy = (ended - row.started_at).total_seconds()
        if healthy >= policy.reset_after_seconds:
            return 1
    return row.failures_in_a_row + 1


def _exponential(policy: RestartBackoff, exponent: int) -> float:
    if policy.initial_seconds == 0 or policy.max_seconds == 0:
        return 0.0
    # In logarithms: the power itself overflows after long trouble.
    grown = math.log(policy.initial_seconds) + exponent * math.log(policy.factor)
    return math.exp(min(grown, math.log(policy.max_seconds)))


def _fraction(seed: str) -> float:
    """Map a text to [0, 1), evenly."""
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8]) / 2**64
