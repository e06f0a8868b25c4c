"""Jobs in every state, to be shown."""

from datetime import UTC, datetime, timedelta
from typing import Any

from capstan_operator.api.names import TaskName
from capstan_operator.api.status import (
    Condition,
    ConditionType,
    Phase,
    Status,
    TaskState,
    TaskStatus,
)
from capstan_operator.report.job import Job

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOON - timedelta(seconds=seconds)


def row(name: str, state: TaskState = TaskState.RUNNING, **fields: Any) -> TaskStatus:
    return TaskStatus(name=TaskName.parse(name), state=state, **fields)


def condition(kind: ConditionType, holds: bool, reason: str, message: str) -> Condition:
    return Condition(
        type=kind,
        status="True" if holds else "False",
        reason=reason,
        message=message,
        last_transition_time=ago(60),
    )


def job(phase: Phase = Phase.RUNNING, *rows: TaskStatus, **fields: Any) -> Job:
    """Return a job of a cluster. Fields of a Job go to it, all others to its status."""
    of_job = {
        name: fields.pop(name)
        for name in (
            "is_observed",
            "is_deleted",
            "is_run",
            "is_local",
            "manager",
            "claim",
            "run_policy",
        )
        if name in fields
    }
    place = {"place": "namespace team-a", "flags": " -n team-a", "is_local": False}
    if of_job.get("is_local"):
        place = {"place": ".capstan/digits", "flags": ""}
    status = Status(phase=phase, tasks=rows, last_transition_time=ago(75), **fields)
    return Job(**{"name": "digits", "status": status, **place, **of_job})
