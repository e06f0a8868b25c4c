"""How long a job may take."""

from datetime import timedelta

from reconcile.world import START

from capstan_operator.api.spec import RunPolicy
from capstan_operator.reconcile.policies import deadline


def test_a_job_without_a_deadline_is_never_late() -> None:
    assert deadline.ends_at(RunPolicy(), START) is None


def test_a_job_is_late_after_its_deadline_seconds() -> None:
    policy = RunPolicy(active_deadline_seconds=90)
    assert deadline.ends_at(policy, START) == START + timedelta(seconds=90)
    fatal, line = deadline.too_late(policy)
    assert (fatal.reason, line) == ("DeadlineExceeded", "not done after 90 s")
