"""Read the progress that tasks report in the files named by CAPSTAN_PROGRESS_FILE.

    {"step": 1200, "stepsPerSecond": 310.5, "metrics": {"loss": 0.2}, "updatedAt": "2026-11-02T..."}

A task replaces its file atomically. The job's own code writes it, so it may contain anything:
invalid parts are left out and are never an error.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.status import Progress

_MOST_TELLING = (
    ReplicaType.EVALUATOR,
    ReplicaType.CHIEF,
    ReplicaType.WORKER,
    ReplicaType.PS,
)

_STEP = frozenset({"step", "global_step"})
"""Metrics that are left out because they repeat the step, and may differ from it: scripts log the
step beside their metrics."""


@dataclass(frozen=True, slots=True)
class Report:
    """The last report of a task. `updated_at` is the time of the file if the task gave none."""

    step: int
    steps_per_second: float | None
    metrics: Mapping[str, float]
    updated_at: datetime


def read(path: Path) -> Report | None:
    """Return the report in a file, or None without a file or without a valid step."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        written_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    step = document.get("step")
    if not isinstance(step, int) or isinstance(step, bool) or step < 0:
        return None
    metrics = document.get("metrics")
    return Report(
        step,
        _number(document.get("stepsPerSecond")),
        _numbers(metrics) if isinstance(metrics, dict) else {},
        _time(document.get("updatedAt")) or written_at,
    )


def of_job(reports: Mapping[TaskName, Report]) -> Progress | None:
    """Combine the reports of a job's tasks, or None if there are no reports.

    The step and its rate come from the latest report, because all tasks count the same global step.
    The metrics come from the first task that reports any, in this order: the evaluator, the chief,
    the workers, the ps.
    """
    if not reports:
        return None
    latest = max(reports.values(), key=lambda report: (report.updated_at, report.step))
    in_order = sorted(reports, key=lambda task: (_MOST_TELLING.index(task.type), task.index))
    metrics = (reports[task].metrics for task in in_order)
    return Progress(
        step=latest.step,
        steps_per_second=latest.steps_per_second,
        metrics=next(filter(None, metrics), {}),
        updated_at=latest.updated_at,
    )


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    numbers = ((name, _number(value)) for name, value in values.items())
    return {name: number for name, number in numbers if number is not None and name not in _STEP}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _time(value: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return time if time is None or time.tzinfo is not None else time.replace(tzinfo=UTC)
