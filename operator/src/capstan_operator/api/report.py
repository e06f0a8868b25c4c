"""The report of a training task on its progress, as the task's program writes it.

    {"step": 1200, "stepsPerSecond": 310.5, "metrics": {"loss": 0.2}, "lastCheckpointStep": 1000,
     "updatedAt": "2026-11-02T..."}

The job's own code writes the report, so it may contain anything: invalid parts are left out and are
never an error.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from capstan_operator.api.status import Progress

MAX_METRICS = 32
"""The most metrics that are kept of a report."""
MAX_NAME = 128
"""The longest name of a metric that is kept, in characters."""
MAX_STEP = (1 << 63) - 1
"""The largest step that an API server can store."""

_STEP = frozenset({"step", "global_step"})
"""Metrics that are left out because they repeat the step, and may differ from it: scripts log the
step beside their metrics."""


@dataclass(frozen=True, slots=True)
class Report:
    """The last report of a task."""

    step: int
    steps_per_second: float | None
    metrics: Mapping[str, float]
    last_checkpoint_step: int | None
    updated_at: datetime

    def progress(self) -> Progress:
        """Return the progress of a job of which only this task reports."""
        return Progress(
            step=self.step,
            steps_per_second=self.steps_per_second,
            metrics=self.metrics,
            last_checkpoint_step=self.last_checkpoint_step,
            updated_at=self.updated_at,
        )


def parse(text: str | bytes, received_at: datetime) -> Report | None:
    """Return the report in a JSON document, or None if the document has no valid step.

    `received_at` is used as the time of a report that names none.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or (step := _step(document.get("step"))) is None:
        return None
    metrics = document.get("metrics")
    return Report(
        step,
        _number(document.get("stepsPerSecond")),
        _numbers(metrics) if isinstance(metrics, dict) else {},
        _step(document.get("lastCheckpointStep")),
        _time(document.get("updatedAt")) or received_at,
    )


def _step(value: object) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_STEP:
        return None
    return value


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the first metrics that are finite numbers."""
    numbers = {
        name: number
        for name, value in values.items()
        if _is_name(name) and (number := _number(value)) is not None
    }
    return dict(list(numbers.items())[:MAX_METRICS])


def _is_name(name: str) -> bool:
    return name not in _STEP and 0 < len(name) <= MAX_NAME and name.isprintable()


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
