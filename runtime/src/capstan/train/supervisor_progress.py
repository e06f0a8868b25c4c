"""The thread of a supervisor that reports its progress, which the operator reads."""

import os
import threading
from typing import Any, Final

from capstan.api import logging
from capstan.train import progress, steps

_LAST_REPORT_SECS: Final = 5.0
"""How long the end of a session waits for the last report. A lost task may not answer."""


def start(supervisor: Any, session: Any) -> "SVProgressThread | None":
    """Start the thread if an operator reads the progress of this task, and return it.

    From then on, `session.close` first writes the last report. If no operator reads the progress,
    or the model has no global step, return None.
    """
    wanted = progress.is_wanted(is_chief=supervisor.is_chief)
    if not wanted or supervisor.global_step is None:
        return None
    path = os.environ.get(progress.VARIABLE) or None
    thread = SVProgressThread(supervisor, session, path)
    thread.start()
    _report_before_close(session, thread)
    return thread


def _report_before_close(session: Any, thread: "SVProgressThread") -> None:
    def close() -> None:
        thread.finish(_LAST_REPORT_SECS)
        # The session's own method again: the session would otherwise refer to itself.
        vars(session).pop("close", None)
        session.close()

    session.close = close


class SVProgressThread(threading.Thread):
    """Reports the global step, its rate and the last checkpoint.

    It reports twice a second, and once more in `finish`, which `close` of the session calls. The
    thread ends if it cannot read the global step, for example because a task is lost. It also ends
    if the coordinator has an error. It is not registered with the coordinator: a program may wait
    until all registered threads have ended, and this one ends only after them.
    """

    def __init__(self, supervisor: Any, session: Any, path: str | None) -> None:
        super().__init__(daemon=True, name="progress")
        self._coord = supervisor.coord
        self._global_step = supervisor.global_step
        self._session = session
        self._saver = supervisor.saver
        self._report = progress.Report(path)
        self._is_over = threading.Event()

    def finish(self, wait_secs: float) -> None:
        """Write the last report, and wait for the end of the thread, at most `wait_secs`."""
        self._is_over.set()
        self.join(wait_secs)

    def run(self) -> None:
        try:
            self._write()
            while not self._is_over.wait(progress.EVERY_SECS):
                self._write()
            self._write()
        except Exception as error:  # noqa: BLE001, the program sees this error in its own steps
            logging.vlog(1, "The progress is no longer written: %s", error)

    def _write(self) -> None:
        self._coord.raise_requested_exception()
        step = steps.global_step(self._session, self._global_step)
        self._report.write(step, {}, _last_checkpoint_step(self._saver))


def _last_checkpoint_step(saver: Any) -> int | None:
    """Return the step in the name of the last checkpoint, such as `model.ckpt-1200`."""
    paths = [] if saver is None else saver.last_checkpoints
    step = paths[-1].rpartition("-")[2] if paths else ""
    return int(step) if step.isdigit() else None
