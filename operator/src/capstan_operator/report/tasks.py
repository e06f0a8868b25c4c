"""The table of a job's tasks: state, node, step, speed, metrics, and what each task uses."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capstan_operator.api.status import TaskState, TaskStatus
from capstan_operator.report.job import Job

_QUANTITY = re.compile(r"([0-9.]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")
_FACTORS = {
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "": 1.0,
    **{unit: 1000.0**power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": 1024.0**power for power, unit in enumerate("KMGTPE", 1)},
}
_NONE = "-"


@dataclass(frozen=True, slots=True)
class Usage:
    """The current progress and use of a task. A value that nobody reports is None."""

    cpu: float | None = None
    """The processors that the task uses."""
    memory: float | None = None
    """The memory that the task uses, in bytes."""
    step: int | None = None
    steps_per_second: float | None = None


def quantity(text: str) -> float | None:
    """Read a quantity of Kubernetes, or return None for any other text.

    >>> quantity("250m"), quantity("2Ki"), quantity("many")
    (0.25, 2048.0, None)
    """
    found = _QUANTITY.fullmatch(text)
    return None if found is None else float(found[1]) * _FACTORS[found[2] or ""]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts. All rows have a cell for each column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def lines(self) -> list[str]:
        """Return the table as text, in columns of blanks."""
        all_rows = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*all_rows, strict=True)]
        return [
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in all_rows
        ]


def table(job: Job, usage: Mapping[str, Usage]) -> Table:
    """Return a row for each task. Empty columns are left out: NODE, and the columns after STEP."""
    rows = [_cells(row, usage.get(str(row.name), Usage())) for row in job.status.tasks]
    columns = ("TASK", "STATE", "ATTEMPT", "NODE", "STEP", "STEPS/S", "CPU", "MEMORY", "REASON")
    kept = [
        index
        for index, name in enumerate(columns)
        if name in ("TASK", "STATE", "ATTEMPT", "STEP") or any(row[index] != _NONE for row in rows)
    ]
    return Table(
        tuple(columns[index] for index in kept),
        tuple(tuple(row[index] for index in kept) for row in rows),
    )


def overview(jobs: Sequence[Job]) -> Table:
    """Return a row for each job."""
    columns = ("JOB", "PHASE", "PS", "WORKERS", "RESTARTS", "STEP", "STEPS/S", "LOSS", "REASON")
    return Table(columns, tuple(map(_job_cells, jobs)))


def headline(job: Job) -> str:
    """Return the line above the table of a job: its phase, progress and restarts."""
    progress = job.status.progress
    parts = [f"{job.name}: {job.status.phase}"]
    if progress is not None:
        parts.append(f"step {progress.step}")
        if progress.steps_per_second is not None:
            parts.append(f"{progress.steps_per_second:.1f} steps/s")
        parts += [f"{name} {value:.3f}" for name, value in progress.metrics.items()]
    counted = job.status.restarts
    return "  ".join([*parts, f"restarts {counted.application + counted.infrastructure}"])


def document(job: Job, usage: Mapping[str, Usage]) -> dict[str, Any]:
    """Return the table of a job as JSON values. Values that nobody reports are left out."""
    progress = job.status.progress
    shown = {
        "name": job.name,
        "place": job.place,
        "phase": str(job.status.phase),
        "step": None if progress is None else progress.step,
        "stepsPerSecond": None if progress is None else progress.steps_per_second,
        "metrics": None if progress is None else dict(progress.metrics),
        "tasks": [
            _task_document(row, usage.get(str(row.name), Usage())) for row in job.status.tasks
        ],
    }
    return _present(shown)


def _task_document(row: TaskStatus, used: Usage) -> dict[str, Any]:
    return _present(
        {
            "name": str(row.name),
            "state": str(row.state),
            "attempt": row.attempt,
            "pod": row.pod or None,
            "node": row.node or None,
            "step": row.step if used.step is None else used.step,
            "stepsPerSecond": used.steps_per_second,
            "cpu": used.cpu,
            "memoryBytes": used.memory,
            "waiting": row.waiting or None,
        }
    )


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _cells(row: TaskStatus, used: Usage) -> tuple[str, ...]:
    step = row.step if used.step is None else used.step
    return (
        str(row.name),
        str(row.state),
        str(row.attempt),
        row.node or _NONE,
        _NONE if step is None else str(step),
        _NONE if used.steps_per_second is None else f"{used.steps_per_second:.1f}",
        _NONE if used.cpu is None else f"{used.cpu * 1000:.0f}m",
        _NONE if used.memory is None else f"{used.memory / 1024**2:.0f}Mi",
        row.waiting.partition(":")[0] or _last_reason(row) or _NONE,
    )


def _last_reason(row: TaskStatus) -> str:
    """Return the reason of the last end, with its attempt if a later attempt has begun."""
    has_begun = row.state in (TaskState.PENDING, TaskState.STARTING, TaskState.RUNNING)
    is_old = has_begun and row.attempt > 1 and row.reason
    return f"attempt {row.attempt - 1}: {row.reason}" if is_old else row.reason


def _job_cells(job: Job) -> tuple[str, ...]:
    status, progress, texts = job.status, job.status.progress, job.status.summary
    loss = None if progress is None else progress.metrics.get("loss")
    rate = None if progress is None else progress.steps_per_second
    return (
        job.name,
        str(status.phase) if job.is_observed else "Unobserved",
        (texts.ps if texts else "") or _NONE,
        (texts.workers if texts else "") or _NONE,
        str(status.restarts.application + status.restarts.infrastructure),
        _NONE if progress is None else str(progress.step),
        _NONE if rate is None else f"{rate:.1f}",
        _NONE if loss is None else f"{loss:.3f}",
        (texts.reason if texts else "") or _NONE,
    )
