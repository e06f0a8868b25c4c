"""The progress of a training task, which the operator reads from a file or from the task's server.

    {"step": 12000, "stepsPerSecond": 310.5, "metrics": {"loss": 0.21}, "lastCheckpointStep": 10000,
     "epoch": 1, "updatedAt": "..."}

On one machine, the environment variable CAPSTAN_PROGRESS_FILE names the file. The file is replaced
atomically, so a reader never sees a partial file. On a cluster, the operator asks the server of the
chief (`transport.grpc.progress`). `MonitoredTrainingSession` reports with a hook, and a
`Supervisor` reports with a thread.
"""

import json
import os
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from capstan.api import logging
from capstan.services import identity, targets
from capstan.train import checkpointing, hook, metrics, reporting, steps

VARIABLE = "CAPSTAN_PROGRESS_FILE"
EVERY_SECS = 0.5
"""The seconds between two reports."""


def is_wanted(*, is_chief: bool) -> bool:
    """Return whether an operator reads the progress of this task.

    On a cluster, it reads only the progress of the chief.
    """
    return bool(os.environ.get(VARIABLE)) or (is_chief and identity.epoch() is not None)


class Report:
    """Reports the step, the step rate and the metrics of a training.

    The report goes to the servers of this process and, unless `path` is None, to the file `path`.
    The rate is measured anew at most once in `every_secs` seconds. If the file cannot be written,
    `write` logs one warning and training goes on. `clock` returns seconds since 1970.
    """

    def __init__(
        self,
        path: str | None,
        every_secs: float = EVERY_SECS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._every_secs = every_secs
        self._clock = clock
        self._due = 0.0
        self._last: tuple[int, float] | None = None
        self._rate: float | None = None
        self._has_failed = False

    def restart(self) -> None:
        """Measure the rate anew. A recovery may have lowered the step."""
        self._last = None

    def is_due(self) -> bool:
        """Return whether the last report is at least `every_secs` seconds old."""
        return self._clock() >= self._due

    def write(
        self, step: int, values: Mapping[str, float], last_checkpoint_step: int | None = None
    ) -> None:
        """Write a report with the given metrics."""
        now = self._clock()
        self._measure(step, now)
        self._due = now + self._every_secs
        document: dict[str, Any] = {"step": step}
        if self._rate is not None:
            document["stepsPerSecond"] = round(self._rate, 3)
        document["metrics"] = values
        if last_checkpoint_step is not None:
            document["lastCheckpointStep"] = last_checkpoint_step
        if (epoch := identity.epoch()) is not None:
            document["epoch"] = epoch
        document["updatedAt"] = datetime.fromtimestamp(now, UTC).isoformat()
        text = json.dumps(document)
        targets.show_progress(text)
        if self._path is not None:
            self._replace(self._path, text)

    def _replace(self, path: str, text: str) -> None:
        try:
            replace(path, text)
        except OSError as error:
            if not self._has_failed:
                logging.warning("Progress is not shown: cannot write %s: %s", path, error)
            self._has_failed = True

    def _measure(self, step: int, now: float) -> None:
        """Measure the step rate anew if at least `every_secs` seconds have passed."""
        if self._last is None:
            self._last = step, now
            return
        last_step, last_time = self._last
        elapsed = now - last_time
        if elapsed > 0 and (elapsed >= self._every_secs or self._rate is None):
            self._rate = (step - last_step) / elapsed
            self._last = step, now


class ProgressHook(hook.SessionRunHook):
    """Reports the step, the step rate, the metrics and the last checkpoint of a training.

    The report goes to the servers of this process and, unless `path` is None, to the file `path`.
    The hook writes at most once in `every_secs` seconds, and at the end. `reporters` are hooks of
    the same session, whose metrics and checkpoints it writes. Add this hook after the reporters, so
    that it sees their newest values. If a FinalOpsHook among the reporters has metrics, the last
    report holds only the metrics of FinalOpsHooks. If the file cannot be written, the hook logs one
    warning and training goes on. The hook does nothing in a graph without a global step. `clock`
    returns seconds since 1970.
    """

    def __init__(
        self,
        path: str | None,
        reporters: Sequence[Any] = (),
        every_secs: float = EVERY_SECS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._report = Report(path, every_secs, clock)
        self._reporters = tuple(reporters)

    def begin(self) -> None:
        self._global_step = steps.get_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._report.restart()
        if self._global_step is not None:
            self._write(int(session.run(self._global_step)))

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs | None:
        return None if self._global_step is None else hook.SessionRunArgs(self._global_step)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        if run_values.results is not None and self._report.is_due():
            self._write(int(run_values.results))

    def end(self, session: Any) -> None:
        if self._global_step is not None:
            final_hooks = [
                reporter
                for reporter in self._reporters
                if isinstance(reporter, reporting.FinalOpsHook)
            ]
            self._write(int(session.run(self._global_step)), metrics.merged(final_hooks))

    def _write(self, step: int, outcome: Mapping[str, float] | None = None) -> None:
        checkpoints = [
            reporter.last_checkpoint_step
            for reporter in self._reporters
            if isinstance(reporter, checkpointing.CheckpointSaverHook)
        ]
        saved = [checkpoint for checkpoint in checkpoints if checkpoint is not None]
        values = outcome or metrics.merged(self._reporters)
        self._report.write(step, values, max(saved, default=None))


def replace(path: str, text: str) -> None:
    """Replace the file `path` atomically: write a file beside it and rename it.

    Raises:
        OSError: the file cannot be written or renamed.
    """
    temporary = f"{path}.{os.getpid()}.tmp"
    pathlib.Path(temporary).write_text(text + "\n", encoding="utf-8")
    os.replace(temporary, path)
