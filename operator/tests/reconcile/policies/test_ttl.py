"""The time at which a finished job is deleted."""

from datetime import datetime, timedelta

import pytest
from reconcile.world import START

from capstan_operator.api.spec import RunPolicy
from capstan_operator.api.status import Status
from capstan_operator.reconcile.policies import ttl


@pytest.mark.parametrize(
    "seconds, end, expected",
    [
        (None, None, None),
        (None, START, None),
        (60, None, None),
        (0, START, START),
        (60, START, START + timedelta(seconds=60)),
    ],
)
def test_a_finished_job_is_deleted_after_its_time(
    seconds: int | None, end: datetime | None, expected: datetime | None
) -> None:
    policy = RunPolicy(ttl_seconds_after_finished=seconds)
    assert ttl.ends_at(policy, Status(completion_time=end)) == expected
