"""A wait ends when the awaited state has come, or cannot come any more."""

import pytest
from report.jobs import condition, job

from capstan_operator.api.status import Phase
from capstan_operator.cli import parser
from capstan_operator.report import awaited
from capstan_operator.report.awaited import Awaited, Outcome
from capstan_operator.report.job import Job

FAILED = job(Phase.FAILED, failure="worker-0 attempt 1: exit code 1")
INVALID = job(
    Phase.INVALID, conditions=(condition("Invalid", True, "SpecInvalid", "no such field"),)
)
ABANDONED = job(Phase.RUNNING, is_local=True, is_run=False)


@pytest.mark.parametrize(
    "found, finished, running, deleted",
    [
        (job(Phase.PENDING), Outcome.OPEN, Outcome.OPEN, Outcome.OPEN),
        (job(Phase.STARTING), Outcome.OPEN, Outcome.OPEN, Outcome.OPEN),
        (job(Phase.RUNNING), Outcome.OPEN, Outcome.REACHED, Outcome.OPEN),
        (job(Phase.DEGRADED), Outcome.OPEN, Outcome.OPEN, Outcome.OPEN),
        (job(Phase.SUSPENDED), Outcome.OPEN, Outcome.OPEN, Outcome.OPEN),
        (job(Phase.SUCCEEDED), Outcome.REACHED, Outcome.REACHED, Outcome.OPEN),
        (FAILED, Outcome.MISSED, Outcome.MISSED, Outcome.OPEN),
        (INVALID, Outcome.MISSED, Outcome.MISSED, Outcome.OPEN),
        (ABANDONED, Outcome.MISSED, Outcome.MISSED, Outcome.OPEN),
        (None, Outcome.MISSED, Outcome.MISSED, Outcome.REACHED),
    ],
)
def test_each_state_of_a_job_has_an_outcome(
    found: Job | None, finished: Outcome, running: Outcome, deleted: Outcome
) -> None:
    assert awaited.outcome(Awaited.FINISHED, found) is finished
    assert awaited.outcome(Awaited.RUNNING, found) is running
    assert awaited.outcome(Awaited.DELETED, found) is deleted


@pytest.mark.parametrize(
    "wanted, found, sentence",
    [
        (Awaited.FINISHED, job(Phase.SUCCEEDED), "digits: Succeeded"),
        (Awaited.FINISHED, FAILED, "digits: Failed  worker-0 attempt 1: exit code 1"),
        (Awaited.FINISHED, INVALID, "digits: Invalid  no such field"),
        (Awaited.FINISHED, None, "digits: was deleted"),
        (Awaited.DELETED, None, "digits: is gone"),
        (Awaited.RUNNING, job(Phase.PENDING), "digits: Pending; the time is over"),
        (
            Awaited.FINISHED,
            ABANDONED,
            "digits: Running  no capstanctl runs it; capstanctl run continues it",
        ),
    ],
)
def test_the_last_line_says_how_the_wait_ended(
    wanted: Awaited, found: Job | None, sentence: str
) -> None:
    result = awaited.outcome(wanted, found)
    assert awaited.sentence(wanted, "digits", found, result) == sentence


def test_the_command_line_offers_every_end() -> None:
    assert tuple(map(str, Awaited)) == parser.AWAITED
