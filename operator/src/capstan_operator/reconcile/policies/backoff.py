"""The wait of a failed task before its next attempt.

The wait grows exponentially with each failure in a row, up to `maxSeconds`. It is spread, so that
tasks that failed together do not restart together. The spread is computed from the job's uid, the
task and the count, and is not random, so that it is the same after a crash.

Refused starts have a count of their own: after hours without a quota, the first failure of the
program is still the first one. This count ends as soon as the task runs.

A task that the infrastructure ended before it ran, for example because its node is missing, waits
as patiently as after a refused start: each attempt is charged, and fails as fast as it is made.
"""

import hashlib
import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.spec import RestartBackoff
from capstan_operator.api.status import TaskStatus
from capstan_operator.reconcile.policies.failure import HAS_NOT_RUN, Failure, FailureClass

SPREAD = 0.2
"""The largest part of the delay that the spread takes off. The number is a guess."""

PATIENT_SECONDS = 1.0
"""The shortest wait of a task that has not run, before the spread. The number is a guess."""


@dataclass(frozen=True, slots=True)
class InARow:
    """How often in a row a task has failed, and how often its start was refused since it ran."""

    failures: int
    refusals: int


def count(policy: RestartBackoff, row: TaskStatus, failed: Failure, now: datetime) -> InARow:
    """Return the counts with this failure. `row` has the counts before it."""
    if failed.kind in HAS_NOT_RUN:
        return InARow(row.failures_in_a_row, row.refusals_in_a_row + 1)
    # The silence of a node says nothing about the health of its tasks.
    last_known = failed.silent_since or failed.at or now
    return InARow(failures_in_a_row(policy, row, last_known), 0)


def wait(
    policy: RestartBackoff, counts: InARow, row: TaskStatus, failed: Failure, job: Uid
) -> timedelta:
    """Return the wait before the next attempt. `row` is the row of the attempt that failed, and
    `counts` include the failure.
    """
    if counts.refusals:
        return delay(patient(policy), failures=counts.refusals, job=job, task=row.name)
    own = delay(policy, failures=counts.failures, job=job, task=row.name)
    if row.started_at is not None or failed.kind is not FailureClass.INFRASTRUCTURE:
        return own
    # The failures in a row may be of the program, after which a policy without waits has none.
    losses = min(counts.failures, row.infrastructure_restarts + 1)
    return max(own, delay(patient(policy), failures=losses, job=job, task=row.name))


def delay(policy: RestartBackoff, *, failures: int, job: Uid, task: TaskName) -> timedelta:
    """Return the wait before the next attempt, after `failures` (at least 1) in a row."""
    full = _exponential(policy, failures - 1)
    return timedelta(seconds=full * (1 - SPREAD * _fraction(f"{job}/{task}/{failures}")))


def patient(policy: RestartBackoff) -> RestartBackoff:
    """Return the policy for tasks that have not run: as given, but with waits of at least
    PATIENT_SECONDS.

    Such a start can only succeed later. A policy without waits is meant for restarts after failures
    of the program. It must not make the operator try such starts all the time.
    """
    least = PATIENT_SECONDS
    return policy.model_copy(
        update={
            "initial_seconds": max(policy.initial_seconds, least),
            "max_seconds": max(policy.max_seconds, least),
        }
    )


def is_over(policy: RestartBackoff, retry_at: datetime, now: datetime) -> bool:
    """Return whether a wait is over that ends at `retry_at`.

    A time that is further away than the longest wait comes from a clock that was ahead, for example
    of the node on which another operator ran. Nobody waits for it.
    """
    longest = timedelta(seconds=patient(policy).max_seconds)
    return not now < retry_at <= now + longest


def failures_in_a_row(policy: RestartBackoff, row: TaskStatus, last_known: datetime) -> int:
    """Return the number of failures in a row, including the failure of this attempt.

    It is 1 if the attempt had run for at least `resetAfterSeconds` when it was `last_known` to run.
    """
    if row.started_at is not None:
        healthy = (last_known - row.started_at).total_seconds()
        if healthy >= policy.reset_after_seconds:
            return 1
    return row.failures_in_a_row + 1


def _exponential(policy: RestartBackoff, exponent: int) -> float:
    if policy.initial_seconds == 0 or policy.max_seconds == 0:
        return 0.0
    # Compute with logarithms, because the power overflows after many failures.
    grown = math.log(policy.initial_seconds) + exponent * math.log(policy.factor)
    return math.exp(min(grown, math.log(policy.max_seconds)))


def _fraction(seed: str) -> float:
    """Map a text to [0, 1), uniformly."""
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8]) / 2**64
