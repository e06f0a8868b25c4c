"""`tf.estimator.experimental.make_stop_at_checkpoint_step_hook`: a stop after a saved step.

Source: tensorflow_estimator/python/estimator/hooks/hooks.py.
"""

import threading
from collections.abc import Callable
from typing import Any

from capstan.estimator import estimator as estimators
from capstan.train import hook, steps, stopping


def make_stop_at_checkpoint_step_hook(
    estimator: estimators.Estimator, last_step: int, wait_after_file_check_secs: float = 30
) -> hook.SessionRunHook:
    """Return a hook that stops this task at the global step `last_step`.

    The chief stops at this step. A worker goes on until a checkpoint of this step is in the folder
    of the estimator. Near the end it waits `wait_after_file_check_secs` after each look.
    """
    if estimator.config.is_chief:
        return stopping.StopAtStepHook(last_step=last_step)
    return StopAtCheckpointStepHook(estimator._saved_step, last_step, wait_after_file_check_secs)


class StopAtCheckpointStepHook(hook.SessionRunHook):
    """Asks for a stop when `saved_step()`, the step of the newest checkpoint, is `last_step`."""

    def __init__(
        self, saved_step: Callable[[], int], last_step: int, wait_after_file_check_secs: float
    ) -> None:
        if last_step is None:
            raise ValueError("last_step must be specified.")
        self._saved_step = saved_step
        self._last_step = last_step
        self._wait_secs = wait_after_file_check_secs

    def begin(self) -> None:
        self._global_step: Any = steps.require_global_step("StopAtCheckpointStepHook")

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(self._global_step)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        if int(run_values.results) + 1 < self._last_step:
            return
        if self._saved_step() >= self._last_step:
            run_context.request_stop()
        else:
            threading.Event().wait(self._wait_secs)
