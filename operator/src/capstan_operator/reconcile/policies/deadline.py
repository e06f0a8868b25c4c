"""The deadline of a job: `activeDeadlineSeconds` after its first pass, including restarts."""

from datetime import datetime, timedelta

from capstan_operator.api.spec import RunPolicy
from capstan_operator.reconcile.policies.failure import Fatal


def ends_at(policy: RunPolicy, start: datetime) -> datetime | None:
    """Return the time of the deadline, or None if the job has no deadline."""
    seconds = policy.active_deadline_seconds
    return None if seconds is None else start + timedelta(seconds=seconds)


def too_late(policy: RunPolicy) -> tuple[Fatal, str]:
    """Say why the job failed: the reason, and the one line for the user."""
    line = f"not done after {policy.active_deadline_seconds} s"
    return Fatal("DeadlineExceeded", "spec.runPolicy.activeDeadlineSeconds"), line
