"""Show a run as a live table in a terminal: a row for each task, and the news above it."""

from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from rich.console import Console, Group, JustifyMethod
from rich.live import Live
from rich.text import Text

from capstan_operator.api.status import Status, TaskState, TaskStatus
from capstan_operator.cli import fitted, summary
from capstan_operator.local.run import Row, Snapshot
from capstan_operator.reconcile.actions import Announce, NewsType

_STYLES = {
    TaskState.RUNNING: "green",
    TaskState.SUCCEEDED: "bold green",
    TaskState.BACK_OFF: "yellow",
    TaskState.CREATE_FAILED: "red",
    TaskState.FAILED: "bold red",
}

_COLUMNS: tuple[tuple[str, JustifyMethod], ...] = (
    ("TASK", "left"),
    ("STATE", "left"),
    ("ATTEMPT", "right"),
    ("PID", "right"),
    ("STEP", "right"),
    ("STEPS/S", "right"),
    (fitted.REASON, "left"),
)

_LEAST_FIRST = ("PID", "STEPS/S", fitted.REASON, "ATTEMPT", "STEP")
"""The columns that a narrow terminal leaves out, the first one first."""


class Table:
    """A `local.run.Listener` that draws in the caller's thread, from `__enter__` to `__exit__`."""

    def __init__(self, job: str, console: Console) -> None:
        self._job = job
        self._console = console
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    def note(self, line: str) -> None:
        self._console.print(f"{self._job}: {line}")

    def tell(self, news: Announce) -> None:
        style = "yellow" if news.type is NewsType.WARNING else ""
        self._console.print(summary.news_line(self._job, news), style=style)

    def show(self, snapshot: Snapshot) -> None:
        self._live.update(draw(self._job, snapshot, datetime.now(UTC)), refresh=True)


def draw(job: str, snapshot: Snapshot, now: datetime) -> Group:
    """Return the table: a line for the job, and a row for each task."""
    lines = [_cells(row, snapshot.rows[row.name], now) for row in snapshot.status.tasks]
    return Group(_headline(job, snapshot.status), fitted.Fitted(_COLUMNS, lines, _LEAST_FIRST))


def _headline(job: str, status: Status) -> Text:
    parts = [f"{job}: {status.phase}", summary.progress_line(status)]
    parts.append(f"restarts {summary.restarts(status)}")
    return Text("  ".join(filter(None, parts)), style="bold", no_wrap=True, overflow="ellipsis")


def _cells(row: TaskStatus, extra: Row, now: datetime) -> list[Text]:
    rate = extra.steps_per_second
    return [
        Text(str(row.name)),
        Text(row.state, style=_STYLES.get(row.state, "")),
        Text(str(row.attempt)),
        Text("" if extra.pid is None else str(extra.pid)),
        Text("" if row.step is None else str(row.step)),
        Text("" if rate is None else f"{rate:.1f}"),
        Text(summary.reason(row, now), no_wrap=True, overflow="ellipsis"),
    ]
