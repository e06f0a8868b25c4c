"""Read the progress that tasks report in the files named by CAPSTAN_PROGRESS_FILE.

A task replaces its file atomically. `api.report` describes its content.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from capstan_operator.api import report
from capstan_operator.api.names import ReplicaType, TaskName
from capstan_operator.api.report import Report
from capstan_operator.api.status import Progress

_MOST_TELLING = (
    ReplicaType.EVALUATOR,
    ReplicaType.CHIEF,
    ReplicaType.WORKER,
    ReplicaType.PS,
)


def read(path: Path) -> Report | None:
    """Return the report in a file, or None without a file or without a valid step.

    If the task gave no time, the report has the time of the file.
    """
    try:
        text = path.read_text(encoding="utf-8")
        written_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError):
        return None
    return report.parse(text, written_at)


def of_job(reports: Mapping[TaskName, Report]) -> Progress | None:
    """Combine the reports of a job's tasks, or None if there are no reports.

    The step and its rate come from the latest report, because all tasks count the same global step.
    The metrics come from the first task that reports any, in this order: the evaluator, the chief,
    the workers, the ps. The last checkpoint is the newest that any task reports.
    """
    if not reports:
        return None
    latest = max(reports.values(), key=lambda report: (report.updated_at, report.step))
    in_order = sorted(reports, key=lambda task: (_MOST_TELLING.index(task.type), task.index))
    metrics = (reports[task].metrics for task in in_order)
    saved = (report.last_checkpoint_step for report in reports.values())
    return Progress(
        step=latest.step,
        steps_per_second=latest.steps_per_second,
        metrics=next(filter(None, metrics), {}),
        last_checkpoint_step=max((step for step in saved if step is not None), default=None),
        updated_at=latest.updated_at,
    )
