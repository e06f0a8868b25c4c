"""The hook that saves a checkpoint when SIGTERM asks the process to end.

    SIGTERM comes                          the process
    while a step runs                      saves after the step, and exits
    while a step runs for WAIT_SECS        saves during the step, and exits
    while no session is open               exits at once: nothing can be saved
    again, after the save                  exits at once

The exit status is 143, the status of a process that SIGTERM kills. TensorFlow 1 has no such hook:
there, SIGTERM kills the process, and the steps since the last checkpoint are lost.
"""

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

from capstan.api import logging
from capstan.services import first_process
from capstan.train import checkpointing, hook

WAIT_SECS = 3.0
"""The longest wait for the end of a step. `capstanctl` kills a task five seconds after SIGTERM, and
Kubernetes kills a process after 30."""
_LOOK_SECS = 0.1
"""The pause between two looks for a session that was closed because a task is lost."""


class SaveOnSigtermHook(hook.SessionRunHook):
    """Saves a checkpoint with `saver` on SIGTERM, and ends the process with status 143.

    Sets the handler of SIGTERM when it is made, and restores the old one at the end of training.
    Does nothing outside the main thread, and if the program has a handler of its own. Must be the
    last hook of its session.
    """

    def __init__(self, saver: checkpointing.CheckpointSaverHook) -> None:
        self._saver = saver
        self._session: Any = None
        self._is_requested = False
        self._step_ended = threading.Event()
        self._saving = threading.Lock()
        self._is_over = False
        self._old: Any = None
        if first_process.may_set_sigterm():
            self._old = signal.signal(signal.SIGTERM, self._handle)

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._session = session

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        if self._is_requested:
            self._step_ended.set()
            self._save()
            self._exit()

    def end(self, session: Any) -> None:
        # Only the main thread may set a handler. Without a session, the handler ends the process at
        # once, almost as the old one would.
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and self._old is not None:
            signal.signal(signal.SIGTERM, self._old)
            self._old = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGTERM in the main thread, which may be running any code."""
        if self._is_over or not self._is_open():
            sys.exit(first_process.TERMINATED)
        if not self._is_requested:
            self._is_requested = True
            threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        """If the step does not end, save while it runs, and interrupt the main thread."""
        for _ in range(round(WAIT_SECS / _LOOK_SECS)):
            if self._step_ended.wait(_LOOK_SECS):
                return
            if not self._is_open():
                break
        else:
            self._save()
        self._is_over = True
        os.kill(os.getpid(), signal.SIGTERM)

    def _save(self) -> None:
        """Save a checkpoint, once. The loss of a task, which is likely now, is not an error."""
        with self._saving:
            if self._is_over:
                return
            try:
                self._saver.save_newest(self._session)
            except Exception as error:  # noqa: BLE001 - the process ends, whatever the error is
                logging.warning("SIGTERM: no checkpoint was saved: %s", error)
            self._is_over = True

    def _exit(self) -> None:
        logging.info("SIGTERM: the process ends with status %d.", first_process.TERMINATED)
        if threading.current_thread() is threading.main_thread():
            sys.exit(first_process.TERMINATED)
        os.kill(os.getpid(), signal.SIGTERM)

    def _is_open(self) -> bool:
        """Return whether there is a session that was not closed."""
        return self._session is not None and not self._session._closed
