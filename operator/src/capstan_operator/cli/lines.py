"""Show a run as plain lines, for a pipe or a file: transitions, and progress every few seconds."""

import time
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, TextIO

from capstan_operator.api.names import TaskName
from capstan_operator.api.status import TaskState, TaskStatus
from capstan_operator.cli import summary
from capstan_operator.local.run import Row, Snapshot
from capstan_operator.reconcile.actions import Announce

PROGRESS_SECONDS = 5.0

_TOLD_AS_NEWS = frozenset(
    {TaskState.PENDING, TaskState.BACK_OFF, TaskState.CREATE_FAILED, TaskState.FAILED}
)


class Lines:
    """A `local.run.Listener` that prints and flushes every line. Raises BrokenPipeError."""

    def __init__(self, job: str, stream: TextIO) -> None:
        self._job = job
        self._stream = stream
        self._shown: dict[TaskName, tuple[TaskState, int]] = {}
        self._progress = ""
        self._next_progress = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

    def note(self, line: str) -> None:
        self._print(f"{self._job}: {line}")

    def tell(self, news: Announce) -> None:
        self._print(summary.news_line(self._job, news))

    def show(self, snapshot: Snapshot) -> None:
        for row in snapshot.status.tasks:
            now = (row.state, row.attempt)
            if self._shown.get(row.name) != now and row.state not in _TOLD_AS_NEWS:
                self._print(_transition(row, snapshot.rows[row.name]))
            self._shown[row.name] = now
        progress = summary.progress_line(snapshot.status)
        if progress != self._progress and time.monotonic() >= self._next_progress:
            self._progress = progress
            self._next_progress = time.monotonic() + PROGRESS_SECONDS
            self._print(f"{self._job}: {progress}")

    def _print(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


def _transition(row: TaskStatus, extra: Row) -> str:
    parts = [f"{row.name}: {row.state}", f"attempt {row.attempt}"]
    if extra.pid is not None:
        parts.append(f"pid {extra.pid}")
    return "  ".join([*parts, summary.reason(row, datetime.now(UTC))]).rstrip()
