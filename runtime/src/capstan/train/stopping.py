"""Hooks that start, stop or feed a training loop (python/training/basic_session_run_hooks.py)."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.api import logging
from capstan.train import hook, steps


class StopAtStepHook(hook.SessionRunHook):
    """Asks for a stop once the global step has reached `last_step`.

    If `num_steps` is given, `last_step` is the step at which the first session starts, plus
    `num_steps`.

    Raises:
        ValueError: both arguments are given, or neither is.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        self._global_step_tensor = steps.require_global_step("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last_step is None:
            self._last_step = int(session.run(self._global_step_tensor)) + (self._num_steps or 0)

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(self._global_step_tensor)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        # `results` may be the global step before this run's update. Near the last step, read the
        # global step again.
        last = self._last_step
        if last is None or run_values.results + 1 < last:
            return
        if int(run_context.session.run(self._global_step_tensor)) >= last:
            run_context.request_stop()


class GlobalStepWaiterHook(hook.SessionRunHook):
    """Delays a worker's first step until the global step has reached `wait_until_step`."""

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step
        self._is_released = False

    def begin(self) -> None:
        self._global_step_tensor = steps.require_global_step("GlobalStepWaiterHook")

    def before_run(self, run_context: hook.SessionRunContext) -> None:
        if self._is_released:
            return
        self._is_released = True
        if self._wait_until_step <= 0:
            return
        last_logged = 0
        logging.info("Waiting for global step %d before starting training.", self._wait_until_step)
        pause = threading.Event()
        while True:
            step = int(run_context.session.run(self._global_step_tensor))
            if step >= self._wait_until_step:
                logging.info("Done waiting. Start training at step %d.", step)
                return
            if step - last_logged > 1000:
                logging.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    self._wait_until_step,
                    step,
                )
                last_logged = step
            pause.wait(0.5)


class NanLossDuringTrainingError(RuntimeError):
    """The loss has become NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(hook.SessionRunHook):
    """Checks the loss after each run.

    If the loss is NaN, the hook raises NanLossDuringTrainingError. With `fail_on_nan_loss` false,
    the hook asks for a stop instead.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(self._loss_tensor)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        if not np.isnan(run_values.results).any():
            return
        message = "Model diverged with loss = NaN."
        if self._fail_on_nan_loss:
            logging.error(message)
            raise NanLossDuringTrainingError
        logging.warning(message)
        run_context.request_stop()


class FeedFnHook(hook.SessionRunHook):
    """Feeds every run with the dictionary that `feed_fn()` returns."""

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self._feed_fn = feed_fn

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(fetches=None, feed_dict=self._feed_fn())
