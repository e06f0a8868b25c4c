"""The threads of a chief's supervisor: summaries, the step rate, and checkpoints.

Source: tensorflow/python/training/supervisor.py.
"""

import threading
import time
from typing import Any

from capstan import errors
from capstan.api import logging
from capstan.framework import facts, opdef
from capstan.train import coordinator, steps, supervisor_writer


def start(supervisor: Any, session: Any) -> list[threading.Thread]:
    """Start the threads that a supervisor with a `logdir` has asked for, and return them."""
    writer, step = supervisor.summary_writer, supervisor.global_step
    if step is not None and writer is not None:
        supervisor_writer.add_start(writer, steps.global_step(session, step))
    threads: list[threading.Thread] = []
    if supervisor.save_summaries_secs and writer is not None:
        if supervisor.summary_op is not None:
            threads.append(SVSummaryThread(supervisor, session))
        if step is not None:
            threads.append(SVStepCounterThread(supervisor, session))
    if supervisor.saver is not None and supervisor.save_model_secs:
        threads.append(SVTimerCheckpointThread(supervisor, session))
    for thread in threads:
        thread.start()
    return threads


class SVSummaryThread(coordinator.LooperThread):
    """Writes the summaries every `save_summaries_secs` seconds."""

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._supervisor = sv
        self._session = sess

    def run_loop(self) -> None:
        wanted = [self._supervisor.summary_op]
        if self._supervisor.global_step is not None:
            wanted.append(self._supervisor.global_step)
        try:
            summary, *step = self._session.run(wanted)
        except errors.InvalidArgumentError as error:
            if error.op is None or opdef.role(error.op.type) is not facts.Role.PLACEHOLDER:
                raise
            raise errors.InvalidArgumentError(
                error.node_def,
                error.op,
                "The Supervisor runs summary_op by itself and feeds nothing: pass summary_op=None, "
                f"and give your summaries to Supervisor.summary_computed. {error.message}",
            ) from None
        at = int(step[0]) if step else None
        logging.info("Recording summary at step %s.", at)
        self._supervisor.summary_writer.add_summary(summary, at)


class SVStepCounterThread(coordinator.LooperThread):
    """Writes the rate of the global step every `save_summaries_secs` seconds."""

    def __init__(self, sv: Any, sess: Any, step_counter: Any = None) -> None:
        super().__init__(sv.coord, sv.save_summaries_secs)
        self._supervisor = sv
        self._session = sess
        self._step_counter = sv.global_step if step_counter is None else step_counter
        self._tag = f"{self._step_counter.op.name}/sec"

    def start_loop(self) -> None:
        self._last_time = time.monotonic()
        self._last_step = steps.global_step(self._session, self._step_counter)

    def run_loop(self) -> None:
        step, now = steps.global_step(self._session, self._step_counter), time.monotonic()
        added, elapsed = step - self._last_step, now - self._last_time
        self._last_step, self._last_time = step, now
        rate = added / elapsed if elapsed > 0 else float("inf")
        supervisor_writer.add_value(self._supervisor.summary_writer, self._tag, rate, step)
        logging.info("%s: %g", self._tag, rate)


class SVTimerCheckpointThread(coordinator.LooperThread):
    """Saves the model every `save_model_secs` seconds."""

    def __init__(self, sv: Any, sess: Any) -> None:
        super().__init__(sv.coord, sv.save_model_secs)
        self._supervisor = sv
        self._session = sess

    def run_loop(self) -> None:
        path, step = self._supervisor.save_path, self._supervisor.global_step
        logging.info("Saving checkpoint to path %s", path)
        self._supervisor.saver.save(self._session, path, global_step=step)
        if self._supervisor.summary_writer is not None and step is not None:
            value = steps.global_step(self._session, step)
            supervisor_writer.add_checkpoint(self._supervisor.summary_writer, path, value)
