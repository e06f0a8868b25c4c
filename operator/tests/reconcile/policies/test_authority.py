"""How the authority of a job is replaced while its tasks train."""

from datetime import UTC, datetime, timedelta

import pytest

from capstan_operator.reconcile.policies import authority
from capstan_operator.reconcile.policies.authority import LIFETIME, Stage, Step

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
DUE = LIFETIME * 2 / 3
LATE = DUE + timedelta(minutes=5)
"""When the files of the tasks were made."""
MINUTES = [timedelta(minutes=count) for count in (59, 60, 61)]


@pytest.mark.parametrize(
    "stage, age, made, step",
    [
        (Stage.ALONE, timedelta(0), None, None),
        (Stage.ALONE, DUE - timedelta(seconds=1), [timedelta(0)], None),
        (Stage.ALONE, DUE, None, Step.INTRODUCE),
        (Stage.ALONE, DUE, [timedelta(0)], Step.INTRODUCE),
        (Stage.ALONE, LIFETIME, [timedelta(0)], Step.BEGIN_AGAIN),
        (Stage.INTRODUCED, LATE + MINUTES[2], None, None),
        (Stage.INTRODUCED, LATE + MINUTES[0], [LATE], None),
        (Stage.INTRODUCED, LATE + MINUTES[1], [LATE], Step.PROMOTE),
        (Stage.INTRODUCED, LATE + MINUTES[1], [DUE, LATE + MINUTES[0]], None),
        (Stage.INTRODUCED, LATE + MINUTES[1], [LATE, LATE], Step.PROMOTE),
        (Stage.INTRODUCED, LIFETIME, None, Step.PROMOTE),
        (Stage.PROMOTED, MINUTES[2], None, None),
        (Stage.PROMOTED, MINUTES[0], [timedelta(0)], None),
        (Stage.PROMOTED, MINUTES[1], [timedelta(0)], Step.FORGET),
        (Stage.PROMOTED, LIFETIME, [timedelta(0)], Step.BEGIN_AGAIN),
    ],
)
def test_a_step_follows_when_all_tasks_have_used_the_files_of_the_last_step_for_an_hour(
    stage: Stage, age: timedelta, made: list[timedelta] | None, step: Step | None
) -> None:
    times = None if made is None else [BEGIN + each for each in made]
    assert authority.step(stage, BEGIN, BEGIN + LIFETIME, times, BEGIN + age) is step


def test_four_months_are_left_when_the_next_authority_is_made() -> None:
    assert timedelta(days=120) < LIFETIME - DUE
