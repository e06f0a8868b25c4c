"""How long a failed task waits."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reconcile.world import START, task

from capstan_operator.api.names import Uid
from capstan_operator.api.spec import RestartBackoff
from capstan_operator.api.status import TaskStatus
from capstan_operator.reconcile.policies import backoff
from capstan_operator.reconcile.policies.backoff import InARow
from capstan_operator.reconcile.policies.failure import Failure, FailureClass

JOB = Uid("a-job")
WORKER = task("worker-1")


def seconds(
    policy: RestartBackoff, failures: int, job: str = "a-job", name: str = "worker-1"
) -> float:
    wait = backoff.delay(policy, failures=failures, job=Uid(job), task=task(name))
    return wait.total_seconds()


@pytest.mark.parametrize(
    "initial, factor, longest, failures, full",
    [
        (5, 2, 300, 1, 5),
        (5, 2, 300, 2, 10),
        (5, 2, 300, 3, 20),
        (5, 2, 300, 6, 160),
        (5, 2, 300, 7, 300),
        (5, 2, 300, 10_000, 300),
        (0.5, 3, 4, 2, 1.5),
        (0.5, 3, 4, 3, 4),
        (7, 1, 300, 50, 7),
        (5, 2, 5, 9, 5),
    ],
)
def test_the_wait_grows_to_its_limit_less_at_most_a_fifth(
    initial: float, factor: float, longest: float, failures: int, full: float
) -> None:
    policy = RestartBackoff(initial_seconds=initial, factor=factor, max_seconds=longest)
    assert 0.8 * full < seconds(policy, failures) <= full


def test_a_policy_without_waits_has_none() -> None:
    assert seconds(RestartBackoff(initial_seconds=0), 1000) == 0


@pytest.mark.parametrize(
    "initial, longest, first, tenth",
    [(0, 300, 1, 300), (0, 0, 1, 1), (0.1, 0.2, 1, 1), (5, 300, 5, 300)],
)
def test_a_refused_start_waits_at_least_a_second(
    initial: float, longest: float, first: float, tenth: float
) -> None:
    policy = backoff.patient(RestartBackoff(initial_seconds=initial, max_seconds=longest))
    for failures, full in ((1, first), (10, tenth)):
        assert 0.8 * full < seconds(policy, failures) <= full


@given(
    initial=st.floats(0, 1e9),
    factor=st.floats(1, 1000),
    more=st.floats(0, 1e9),
    failures=st.integers(1, 10**9),
)
def test_no_wait_is_ever_longer_than_its_limit(
    initial: float, factor: float, more: float, failures: int
) -> None:
    longest = min(initial + more, 2e9)
    policy = RestartBackoff(initial_seconds=initial, factor=factor, max_seconds=longest)
    assert 0 <= seconds(policy, failures) <= longest + 1e-6


def test_the_spread_is_the_same_after_a_crash_and_different_for_others() -> None:
    policy = RestartBackoff(initial_seconds=100)
    waits = [
        seconds(policy, 1),
        seconds(policy, 1, name="worker-2"),
        seconds(policy, 1, job="another"),
        seconds(policy, 2) / 2,
    ]
    assert seconds(policy, 1) == waits[0]
    assert len(set(waits)) == len(waits)


@pytest.mark.e2e
@settings(max_examples=10)
@given(st.lists(st.integers(0, 10**6), min_size=200, max_size=200, unique=True))
def test_the_spread_is_even(indices: list[int]) -> None:
    policy = RestartBackoff(initial_seconds=100)
    waits = [seconds(policy, 1, name=f"worker-{index}") for index in indices]
    assert 86 < sum(waits) / len(waits) < 94
    assert min(waits) < 84
    assert max(waits) > 96


@pytest.mark.parametrize(
    "in_a_row, healthy, counted",
    [(0, 0, 1), (4, 0, 5), (4, 599, 5), (4, 600, 1), (4, 10_000, 1), (0, 600, 1), (4, -5, 5)],
)
def test_failures_in_a_row_are_forgotten_after_long_health(
    in_a_row: int, healthy: float, counted: int
) -> None:
    row = TaskStatus(name=WORKER, failures_in_a_row=in_a_row, started_at=START)
    ended = START + timedelta(seconds=healthy)
    assert backoff.failures_in_a_row(RestartBackoff(), row, ended) == counted


def test_an_attempt_that_never_ran_does_not_reset_the_count() -> None:
    row = TaskStatus(name=WORKER, failures_in_a_row=2)
    assert backoff.failures_in_a_row(RestartBackoff(reset_after_seconds=0), row, START) == 3


@pytest.mark.parametrize(
    "seconds_away, over", [(-1, True), (0, True), (0.1, False), (300, False), (300.1, True)]
)
def test_a_wait_is_never_longer_than_the_longest(seconds_away: float, over: bool) -> None:
    retry_at = START + timedelta(seconds=seconds_away)
    assert backoff.is_over(RestartBackoff(), retry_at, START) is over


@pytest.mark.parametrize(
    "initial, failures, lost_before, has_run, full",
    [
        (0, 1, 0, False, 1),
        (0, 3, 2, False, 4),
        (0, 10, 0, False, 1),
        (0, 3, 9, False, 4),
        (0, 10, 9, True, 0),
        (5, 3, 0, False, 20),
        (0.5, 10, 0, False, 256),
    ],
)
def test_an_attempt_that_never_ran_waits_long_only_after_others_like_it(
    initial: float, failures: int, lost_before: int, has_run: bool, full: float
) -> None:
    """A policy without waits has none for the failures of the program before it either."""
    policy = RestartBackoff(initial_seconds=initial)
    started_at = START if has_run else None
    row = TaskStatus(name=WORKER, infrastructure_restarts=lost_before, started_at=started_at)
    failed = Failure(task=WORKER, attempt=1, kind=FailureClass.INFRASTRUCTURE)
    wait = backoff.wait(policy, InARow(failures, 0), row, failed, JOB).total_seconds()
    assert 0.8 * full <= wait <= full


def test_a_refused_start_waits_although_restarts_do_not() -> None:
    policy = RestartBackoff(initial_seconds=0, max_seconds=0)
    assert not backoff.is_over(policy, START + timedelta(seconds=0.9), START)
