"""When the certificate of a task is made again.

    the Secret has no readable certificate and key             make one
    another authority has signed it                            make one
    the task trusts other authorities than the job has         make one
    it lacks a name of the task's server                       make one
    two thirds of its time have passed                         make one
    otherwise                                                  keep it

A third of the time, ten days, is left for an operator that is stopped or refused.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from capstan_operator.api.status import TaskState, TaskStatus

LIFETIME = timedelta(days=30)
"""The time of the certificate of a task."""
SKEW = timedelta(minutes=5)
"""A certificate begins this long ago, for nodes whose clocks are behind."""
CHECK_EVERY = timedelta(hours=1)
"""No watch reports Secrets. They are read again after this time."""
FRESH = timedelta(seconds=10)
"""A Secret that was read within this time is not read again before its task starts."""
TRUSTED = timedelta(minutes=4)
"""While a pod waits on its node, perhaps for its Secret, the Secret is read again after this time.
The comparisons come a little less often by default."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the files of a task say. `authority` is the fingerprint of the authority that signed the
    certificate, and `trusted` has the authorities that the task trusts, as PEM.
    """

    since: datetime
    until: datetime
    hosts: frozenset[str]
    authority: bytes
    trusted: bytes

    @property
    def made(self) -> datetime:
        """The time at which the files were written."""
        return self.since + SKEW


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the files of a task must say, in the terms of `Facts`."""

    hosts: Collection[str]
    authority: bytes
    trusted: bytes


def waits_on_node(row: TaskStatus) -> bool:
    """Return whether the pod of a task has a node, and none of its containers has started."""
    return row.state is TaskState.PENDING and bool(row.node)


def is_due(found: Facts, wanted: Wanted, now: datetime) -> bool:
    """Return whether the certificate of a task must be made again."""
    fits = found.authority == wanted.authority and found.trusted == wanted.trusted
    if not fits or not found.hosts.issuperset(wanted.hosts):
        return True
    return now >= renew_at(found.since, found.until)


def renew_at(since: datetime, until: datetime) -> datetime:
    """Return when two thirds of the time between `since` and `until` have passed."""
    return since + (until - since) * 2 / 3
