"""How often the operator writes a status that only reports progress."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.status import Phase, Status, TaskState, TaskStatus
from capstan_operator.app.pace import APART, Pace
from capstan_operator.kube.table import Key
from capstan_operator.reconcile.actions import (
    Announce,
    NewsType,
    Plan,
    StartTask,
    StopReason,
    StopTask,
)

KEY = Key("team-a", "digits")
NOW = datetime(2026, 11, 2, 10, 10, tzinfo=UTC)
WORKER = TaskName.parse("worker-0")
ROW = TaskStatus(name=WORKER, uid=Uid("u"), state=TaskState.STARTING)
BEFORE = Status(phase=Phase.RUNNING, tasks=(ROW,))
SEEN = Plan(BEFORE.model_copy(update={"tasks": (ROW.model_copy(update={"node": "node-1"}),)}))
SOON = NOW + timedelta(seconds=0.1)


def written() -> Pace:
    pace = Pace()
    pace.written(KEY, NOW)
    return pace


def row(**fields: object) -> Plan:
    return Plan(BEFORE.model_copy(update={"tasks": (ROW.model_copy(update=fields),)}))


def test_the_first_change_is_written_at_once() -> None:
    assert Pace().seconds(KEY, BEFORE, SEEN, NOW) == 0


def test_a_change_soon_after_a_write_waits_to_be_written_with_others() -> None:
    assert written().seconds(KEY, BEFORE, SEEN, SOON) == pytest.approx(0.4)


def test_a_change_waits_no_longer_than_the_pause() -> None:
    assert written().seconds(KEY, BEFORE, SEEN, NOW + APART) == 0


def test_the_first_task_that_runs_waits_for_the_others() -> None:
    before = BEFORE.model_copy(update={"phase": Phase.PENDING})
    starting = Plan(BEFORE.model_copy(update={"phase": Phase.STARTING}))
    assert written().seconds(KEY, before, starting, SOON) > 0
    assert written().seconds(KEY, before, Plan(BEFORE), SOON) == 0


def test_one_job_does_not_wait_for_another() -> None:
    assert written().seconds(Key("team-a", "other"), BEFORE, SEEN, SOON) == 0


def test_a_forgotten_job_counts_as_new() -> None:
    pace = written()
    pace.forget(KEY)
    assert pace.seconds(KEY, BEFORE, SEEN, SOON) == 0


def test_a_clock_that_was_set_back_delays_no_write() -> None:
    pace, earlier = written(), NOW - timedelta(hours=1)
    for asked in (earlier, earlier + APART):
        assert pace.seconds(KEY, BEFORE, SEEN, asked) == 0
    pace.written(KEY, earlier)
    assert pace.seconds(KEY, BEFORE, SEEN, earlier + timedelta(seconds=0.1)) == pytest.approx(0.4)


@pytest.mark.parametrize(
    "decided",
    [
        Plan(None),
        dataclasses.replace(SEEN, actions=(StartTask(WORKER, 1, 1),)),
        dataclasses.replace(SEEN, actions=(StopTask(WORKER, Uid("u"), 1, StopReason.REPLACED),)),
        dataclasses.replace(SEEN, news=(Announce(NewsType.NORMAL, "Running", "1 task runs"),)),
        Plan(BEFORE.model_copy(update={"phase": Phase.DEGRADED})),
        Plan(BEFORE.model_copy(update={"epoch": 2})),
        row(attempt=2),
        row(finished_at=NOW),
    ],
)
def test_a_status_with_consequences_is_written_at_once(decided: Plan) -> None:
    assert written().seconds(KEY, BEFORE, decided, SOON) == 0
