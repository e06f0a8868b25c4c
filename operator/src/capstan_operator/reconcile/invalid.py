"""A job that cannot be run as it is written: its faults are reported once, all together.

Tasks that already run are left alone until the job is valid again. An operator that was downgraded
must not stop tasks of a job that it does not understand.
"""

from collections.abc import Iterable
from datetime import datetime

from capstan_operator.api.status import Status
from capstan_operator.errors import Fault
from capstan_operator.reconcile import aggregate
from capstan_operator.reconcile.actions import Announce, NewsType, Plan, changed

SPEC_INVALID = "SpecInvalid"


def plan(status: Status, faults: Iterable[Fault], generation: int | None, now: datetime) -> Plan:
    """Plan for an object that is not a valid job (`parse.admitted` raised Invalid): no actions."""
    if status.phase.is_final:
        return Plan()
    generation_seen = status.model_copy(update={"observed_generation": generation})
    return refused(status, generation_seen, SPEC_INVALID, "; ".join(map(str, faults)), now)


def refused(
    before: Status, generation_seen: Status, reason: str, message: str, now: datetime
) -> Plan:
    """Plan for a job that must not be started, for this reason: no actions."""
    after = aggregate.invalid(generation_seen, reason, message, now)
    known = any(
        condition.type == "Invalid" and condition.status == "True"
        for condition in before.conditions
    )
    news = () if known else (Announce(NewsType.WARNING, reason, message),)
    return Plan(changed(before, after), (), news)
