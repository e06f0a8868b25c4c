"""What the operator shows of a training: a file that this hook keeps up to date.

    {"step": 12000, "stepsPerSecond": 310.5, "metrics": {"loss": 0.21}, "updatedAt": "..."}

The environment variable CAPSTAN_PROGRESS_FILE names it, and `MonitoredTrainingSession` then adds
the hook by itself. The file is replaced as a whole, so a reader never sees half of it.
"""

import json
import os
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from capstan.api import logging
from capstan.train import hook, metrics, reporting, steps

VARIABLE = "CAPSTAN_PROGRESS_FILE"


class ProgressHook(hook.SessionRunHook):
    """Writes step, rate and metrics to `path`, every `every_secs` seconds at most and at the end.

    The metrics are those of `reporters`, other hooks of the session; the hook comes after them, so
    that it sees their last values. The last report has those of a FinalOpsHook alone, if there is
    one: what came out, and not what was logged on the way. A file that cannot be written is logged
    once and then left be: training goes on. Does nothing in a graph without a global step.
    """

    def __init__(
        self,
        path: str,
        reporters: Sequence[Any] = (),
        every_secs: float = 0.5,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._reporters = tuple(reporters)
        self._every_secs = every_secs
        self._clock = clock
        self._due = 0.0
        self._last: tuple[int, float] | None = None
        self._rate: float | None = None
        self._has_failed = False

    def begin(self) -> None:
        self._global_step = steps.get_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        # A recovery may have taken the step back: the rate starts anew.
        self._last = None
        if self._global_step is not None:
            self._write(int(session.run(self._global_step)))

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs | None:
        return None if self._global_step is None else hook.SessionRunArgs(self._global_step)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        if run_values.results is not None and self._clock() >= self._due:
            self._write(int(run_values.results))

    def end(self, session: Any) -> None:
        if self._global_step is not None:
            final = [one for one in self._reporters if isinstance(one, reporting.FinalOpsHook)]
            self._write(int(session.run(self._global_step)), metrics.merged(final))

    def _write(self, step: int, outcome: Mapping[str, float] | None = None) -> None:
        now = self._clock()
        self._measure(step, now)
        self._due = now + self._every_secs
        document: dict[str, Any] = {"step": step}
        if self._rate is not None:
            document["stepsPerSecond"] = round(self._rate, 3)
        document["metrics"] = outcome or metrics.merged(self._reporters)
        document["updatedAt"] = datetime.fromtimestamp(now, UTC).isoformat()
        try:
            replace(self._path, json.dumps(document))
        except OSError as error:
            if not self._has_failed:
                logging.warning("Progress is not shown: cannot write %s: %s", self._path, error)
            self._has_failed = True

    def _measure(self, step: int, now: float) -> None:
        """Bring the rate up to date, unless too little time has gone by for a better one."""
        if self._last is None:
            self._last = step, now
            return
        last_step, last_time = self._last
        elapsed = now - last_time
        if elapsed > 0 and (elapsed >= self._every_secs or self._rate is None):
            self._rate = (step - last_step) / elapsed
            self._last = step, now


def replace(path: str, text: str) -> None:
    """Write a file beside `path` and rename it; an OSError where that is not possible."""
    temporary = f"{path}.{os.getpid()}.tmp"
    pathlib.Path(temporary).write_text(text + "\n", encoding="utf-8")
    os.replace(temporary, path)
