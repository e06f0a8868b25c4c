"""When to look again at an obstacle, and how the pauses between the looks grow."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan_operator.api.names import Uid
from capstan_operator.api.spec import Metadata
from capstan_operator.reconcile.observe import Obstacle
from capstan_operator.reconcile.policies import recheck
from capstan_operator.reconcile.policies.recheck import FIRST_SECONDS, LONGEST_SECONDS

NOW = datetime(2026, 11, 2, 10, 10, tzinfo=UTC)
JOB = Metadata(name="digits", uid=Uid("job-1"))
CHANGED = Metadata(name="digits", uid=Uid("job-1"), labels={"team": "vision"})
CONFLICT = Obstacle("NameConflict", "there is a Service digits")
FIRST = recheck.blocked(CONFLICT, JOB, None, NOW)
SECOND = recheck.blocked(CONFLICT, JOB, FIRST, NOW)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "reason, pauses",
    [
        ("WaitingForOldPods", [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]),
        ("NameConflict", [5, 10, 20, 40, 80, 160, 300, 300]),
        ("ServiceMissing", [5, 10, 20, 40, 80, 160, 300, 300]),
        ("TemplateUnchecked", [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]),
        ("TemplateInvalid", [30, 60, 120, 240, 300, 300]),
    ],
)
def test_pauses_double_up_to_five_minutes(reason: str, pauses: list[float]) -> None:
    tries = range(1, len(pauses) + 1)
    assert [recheck.pause(reason, number) for number in tries] == pauses


@given(reason=st.sampled_from(sorted(FIRST_SECONDS)), tries=st.integers(1, 10**6))
def test_every_pause_is_within_its_bounds(reason: str, tries: int) -> None:
    assert FIRST_SECONDS[reason] <= recheck.pause(reason, tries) <= LONGEST_SECONDS


@pytest.mark.parametrize(
    "obstacle, job, tries",
    [
        (CONFLICT, JOB, 3),
        (Obstacle("NameConflict", "there is a Pod digits-ps-0"), JOB, 3),
        (Obstacle("ServiceMissing", CONFLICT.message), JOB, 1),
        (CONFLICT, CHANGED, 1),
    ],
)
def test_the_same_reason_for_an_unchanged_job_counts_as_the_same_obstacle(
    obstacle: Obstacle, job: Metadata, tries: int
) -> None:
    found = recheck.blocked(obstacle, job, SECOND, after(10))
    assert found == recheck.Blocked(obstacle, job, tries, after(10))


def test_an_obstacle_holds_until_its_pause_is_over() -> None:
    for passed, left in ((0, 10), (9.5, 0.5), (10, 0), (11, 0)):
        assert recheck.seconds_left(SECOND, after(passed)) == left
        assert recheck.holds(SECOND, JOB, after(passed)) == (left > 0)


def test_an_obstacle_does_not_hold_for_a_changed_job() -> None:
    assert not recheck.holds(FIRST, CHANGED, NOW)


def test_after_a_clock_is_set_back_the_next_look_is_due() -> None:
    for passed in (-3600, -0.001):
        assert recheck.seconds_left(FIRST, after(passed)) == 0
        assert not recheck.holds(FIRST, JOB, after(passed))


@pytest.mark.parametrize(
    "reason, owner, disproved",
    [
        ("NameConflict", "job-1", True),
        ("WaitingForOldPods", "job-1", True),
        ("ServiceMissing", "job-1", True),
        ("TemplateInvalid", "job-1", False),
        ("NameConflict", "job-0", False),
        ("NameConflict", None, False),
    ],
)
def test_a_service_of_the_job_disproves_only_an_obstacle_to_the_service(
    reason: str, owner: Uid | None, disproved: bool
) -> None:
    found = recheck.blocked(Obstacle(reason, ""), JOB, None, NOW)
    assert recheck.is_disproved(found, owner) == disproved
