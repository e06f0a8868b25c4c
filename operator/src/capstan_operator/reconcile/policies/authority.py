"""How the authority of a job is replaced while its tasks train.

    stage        condition                                             step
    any          the authority that signs has ended                    begin again with a new one
    Alone        two thirds of its time have passed                    make the next authority
    Introduced   all tasks have trusted both for SETTLE                the next authority signs
    Promoted     all tasks have had its certificates for SETTLE        forget the old authority

A step changes the Secret of the authority first. The files of the tasks then no longer fit, so they
are made again (`policies.certificates`). A task thus always trusts each authority by which another
task may be known. A third of the time, four months, is left for an operator that is stopped.
"""

import enum
from collections.abc import Collection
from datetime import datetime, timedelta

from capstan_operator.reconcile.policies import certificates

LIFETIME = timedelta(days=365)
"""The time of the authority of a job."""
SETTLE = timedelta(hours=1)
"""The time in which all tasks use new files. A kubelet needs a minute or two to show them."""


class Stage(enum.Enum):
    """How far the replacement of an authority is."""

    ALONE = enum.auto()
    """One authority signs, and the tasks trust only this one."""
    INTRODUCED = enum.auto()
    """The old authority signs, and the tasks trust it and the next one."""
    PROMOTED = enum.auto()
    """The new authority signs, and the tasks trust it and the old one."""


class Step(enum.Enum):
    """A change of the authorities."""

    BEGIN_AGAIN = "it has ended, so a new one signs, and the tasks trust only that one"
    INTRODUCE = "it ends soon, so the tasks also trust the next one"
    PROMOTE = "the next one signs, and the tasks still trust the old one"
    FORGET = "the tasks no longer trust the old one"


def step(
    stage: Stage,
    since: datetime,
    until: datetime,
    made: Collection[datetime] | None,
    now: datetime,
) -> Step | None:
    """Return the step that is due, or None.

    The authority that signs begins at `since` and ends at `until`. `made` has the times at which
    the present files of all tasks were made, or is None if some files do not fit the stage.
    """
    if now >= until:
        return Step.PROMOTE if stage is Stage.INTRODUCED else Step.BEGIN_AGAIN
    if stage is Stage.ALONE:
        return Step.INTRODUCE if now >= certificates.renew_at(since, until) else None
    if made is None or any(now < each + SETTLE for each in made):
        return None
    return Step.PROMOTE if stage is Stage.INTRODUCED else Step.FORGET
