"""A job that cannot be run as it is written: said once, with all faults, and nothing is touched.

What already runs goes on running, and is looked at again when the job is sound: an operator that
was taken back to an older version must not end what it does not understand.
"""

from collections.abc import Iterable
from datetime import datetime

from capstan_operator.api.status import Status
from capstan_operator.errors import Fault
from capstan_operator.reconcile import summary
from capstan_operator.reconcile.actions import Announce, NewsType, Plan, changed

SPEC_INVALID = "SpecInvalid"


def plan(status: Status, faults: Iterable[Fault], generation: int | None, now: datetime) -> Plan:
    """Answer an object that is no job (`parse.admitted` raised Invalid). Never an action."""
    if status.phase.is_final:
        return Plan()
    seen = status.model_copy(update={"observed_generation": generation})
    return refused(status, seen, SPEC_INVALID, "; ".join(map(str, faults)), now)


def refused(before: Status, seen: Status, reason: str, message: str, now: datetime) -> Plan:
    """Answer a job that must not be started, for this reason."""
    after = summary.invalid(seen, reason, message, now)
    known = any(one.type == "Invalid" and one.status == "True" for one in before.conditions)
    news = () if known else (Announce(NewsType.WARNING, reason, message),)
    return Plan(changed(before, after), (), news)
