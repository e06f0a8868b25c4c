"""The thread of a supervisor that writes the progress file, which the operator reads."""

import os
import threading
from typing import Any

from capstan.api import logging
from capstan.train import progress, steps


def start(supervisor: Any, session: Any) -> "SVProgressThread | None":
    """Start the thread if the environment names a progress file, and return it.

    Return None without a file, or if the model has no global step.
    """
    path = os.environ.get(progress.VARIABLE)
    if not path or supervisor.global_step is None:
        return None
    thread = SVProgressThread(supervisor, session, path)
    thread.start()
    return thread


class SVProgressThread(threading.Thread):
    """Writes the global step and its rate twice a second, and once more in `finish`.

    The thread ends if it cannot read the global step, for example because a task is lost. It also
    ends if the coordinator has an error. It is not registered with the coordinator: a program may
    wait until all registered threads have ended, and this one ends only after them.
    """

    def __init__(self, supervisor: Any, session: Any, path: str) -> None:
        super().__init__(daemon=True, name="progress")
        self._coord = supervisor.coord
        self._global_step = supervisor.global_step
        self._session = session
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
        self._report.write(steps.global_step(self._session, self._global_step), {})
