"""When the certificate of a task is made again.

    the Secret has no readable certificate and key             make one
    it was signed by another authority                         make one
    it lacks a name of the task's server                       make one
    two thirds of its time have passed                         make one
    otherwise                                                  keep it

A third of the time, ten days, is left for an operator that is stopped or refused.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

LIFETIME = timedelta(days=30)
"""The time of the certificate of a task."""
AUTHORITY_LIFETIME = timedelta(days=3650)
"""The time of the authority of a job, which is never made again. No job is expected to last so
long."""
SKEW = timedelta(minutes=5)
"""A certificate begins this long ago, for nodes whose clocks are behind."""
CHECK_EVERY = timedelta(hours=1)
"""No watch reports Secrets. They are read again after this time."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a certificate says. `authority` is the fingerprint of the authority that signed it."""

    since: datetime
    until: datetime
    hosts: frozenset[str]
    authority: bytes


def is_due(found: Facts | None, hosts: Collection[str], authority: bytes, now: datetime) -> bool:
    """Return whether a certificate for `hosts` must be made. `found` is the present one."""
    if found is None or found.authority != authority or not found.hosts.issuperset(hosts):
        return True
    return now >= renew_at(found)


def renew_at(found: Facts) -> datetime:
    """Return when a certificate is made again."""
    return found.since + (found.until - found.since) * 2 / 3
