"""A status from the middle of a run, to be shown."""

from datetime import UTC, datetime, timedelta

from capstan_operator.api.names import TaskName, Uid
from capstan_operator.api.status import Phase, Progress, Restarts, Status, TaskState, TaskStatus
from capstan_operator.local.run import Row, Snapshot

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
PS = TaskName.parse("ps-0")
WORKER_0 = TaskName.parse("worker-0")
WORKER_1 = TaskName.parse("worker-1")


def status() -> Status:
    """The ps runs again, worker 0 runs, worker 1 waits for its third attempt."""
    return Status(
        phase=Phase.DEGRADED,
        restarts=Restarts(application=2, infrastructure=1),
        progress=Progress(
            step=1234, steps_per_second=81.25, metrics={"loss": 0.25, "accuracy": 0.9}
        ),
        tasks=(
            TaskStatus(
                name=PS,
                attempt=2,
                uid=Uid("41.4"),
                state=TaskState.RUNNING,
                exit_code=137,
                message="serving",
            ),
            TaskStatus(name=WORKER_0, uid=Uid("42.2"), state=TaskState.RUNNING, step=1234),
            TaskStatus(
                name=WORKER_1,
                attempt=3,
                state=TaskState.BACK_OFF,
                exit_code=1,
                message="ValueError: [bold]no[/bold]",
                retry_at=NOON + timedelta(seconds=7),
                step=1200,
            ),
        ),
    )


def snapshot(shown: Status | None = None) -> Snapshot:
    """Return the snapshot that shows a status to a listener."""
    rows = {PS: Row(41), WORKER_0: Row(42, 40.5), WORKER_1: Row()}
    return Snapshot(shown or status(), rows)
