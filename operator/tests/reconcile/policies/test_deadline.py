"""The deadlines of a job."""

from datetime import timedelta

import pytest
from reconcile.world import START

from capstan_operator.api.spec import RunPolicy
from capstan_operator.api.status import Status
from capstan_operator.reconcile.policies import deadline

WAITING = "waiting for worker-0"


@pytest.mark.parametrize(
    "active, pending, start, pending_since, expected",
    [
        (None, None, 0, 0, None),
        (90, None, 0, 0, (90, "activeDeadlineSeconds", "not done after 90 s")),
        (90, 20, 0, None, (90, "activeDeadlineSeconds", "not done after 90 s")),
        (
            90,
            20,
            0,
            50,
            (70, "pendingDeadlineSeconds", f"not all tasks ran after 20 s: {WAITING}"),
        ),
        (90, 20, 0, 80, (90, "activeDeadlineSeconds", "not done after 90 s")),
        (None, 20, 0, None, None),
        (90, 20, None, None, None),
    ],
)
def test_the_first_deadline_counts(
    active: int | None,
    pending: int | None,
    start: int | None,
    pending_since: int | None,
    expected: tuple[int, str, str] | None,
) -> None:
    policy = RunPolicy(active_deadline_seconds=active, pending_deadline_seconds=pending)
    status = Status(
        start_time=None if start is None else START + timedelta(seconds=start),
        pending_since=None if pending_since is None else START + timedelta(seconds=pending_since),
    )
    found = deadline.first(policy, status, WAITING)
    if expected is None:
        assert found is None
        return
    seconds, field, line = expected
    assert found is not None
    assert found.at == START + timedelta(seconds=seconds)
    assert (found.why.reason, found.why.because) == ("DeadlineExceeded", f"spec.runPolicy.{field}")
    assert found.line == line
