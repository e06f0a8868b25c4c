"""Hooks that stop a training early, by the results of its evaluations or by any function.

The chief asks the function. It stores the answer in a variable, in which the workers find it.

Source: tensorflow/contrib/estimator/python/estimator/early_stopping.py.
"""

import os
from collections.abc import Callable
from typing import Any

from capstan.api import file_io, init_ops, logging, scope_block, state_ops, variable_scope
from capstan.core import dtypes
from capstan.estimator import estimator as estimators
from capstan.framework import collections
from capstan.resources import event_file
from capstan.train import hook, steps, timer


def make_early_stopping_hook(
    estimator: estimators.Estimator,
    should_stop_fn: Callable[[], Any],
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> hook.SessionRunHook:
    """Return a hook that stops the training of all tasks when `should_stop_fn()` is true.

    Pass the hook to the training of each task. Only the chief calls the function, every
    `run_every_secs` seconds or `run_every_steps` steps.

    Raises:
        TypeError: an argument is of another type.
        ValueError: both intervals are given.
    """
    if not isinstance(estimator, estimators.Estimator):
        raise TypeError(
            f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}"
        )
    if run_every_secs is not None and run_every_steps is not None:
        raise ValueError("Only one of `run_every_secs` and `run_every_steps` must be set.")
    if not callable(should_stop_fn):
        raise TypeError("`should_stop_fn` must be callable.")
    if estimator.config.is_chief:
        interval = timer.SecondOrStepTimer(run_every_secs, run_every_steps)
        return _StopOnPredicateHook(should_stop_fn, interval)
    return _CheckForStoppingHook()


def read_eval_metrics(eval_dir: str) -> dict[int, dict[str, float]]:
    """Return the metrics of all evaluations in a folder, by global step, in order."""
    found: dict[int, dict[str, float]] = {}
    for path in file_io.get_matching_files(os.path.join(eval_dir, "*.tfevents.*")):
        for event in event_file.summary_iterator(path):
            values = {
                value.tag: value.simple_value
                for value in event.summary.value
                if value.HasField("simple_value")
            }
            if values:
                found[event.step] = values
    return dict(sorted(found.items()))


def stop_if_higher_hook(
    estimator: estimators.Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> hook.SessionRunHook:
    """Return a hook that stops once a metric is greater than `threshold`, after `min_steps`.

    The metrics are those of `eval_dir`, by default the folder of the evaluations without a name.
    """
    reader = _Reader(estimator, metric_name, eval_dir, min_steps)
    return make_early_stopping_hook(
        estimator,
        lambda: any(value > threshold for _, value in reader.values()),
        run_every_secs,
        run_every_steps,
    )


def stop_if_lower_hook(
    estimator: estimators.Estimator,
    metric_name: str,
    threshold: float,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> hook.SessionRunHook:
    """Do as `stop_if_higher_hook`, for a metric that is less than `threshold`."""
    reader = _Reader(estimator, metric_name, eval_dir, min_steps)
    return make_early_stopping_hook(
        estimator,
        lambda: any(value < threshold for _, value in reader.values()),
        run_every_secs,
        run_every_steps,
    )


def stop_if_no_increase_hook(
    estimator: estimators.Estimator,
    metric_name: str,
    max_steps_without_increase: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> hook.SessionRunHook:
    """Return a hook that stops once the best value of a metric is that many steps old.

    The greatest value is the best. `stop_if_higher_hook` describes the other arguments.
    """
    reader = _Reader(estimator, metric_name, eval_dir, min_steps)
    return make_early_stopping_hook(
        estimator,
        lambda: reader.steps_since_best(1.0) >= max_steps_without_increase,
        run_every_secs,
        run_every_steps,
    )


def stop_if_no_decrease_hook(
    estimator: estimators.Estimator,
    metric_name: str,
    max_steps_without_decrease: int,
    eval_dir: str | None = None,
    min_steps: int = 0,
    run_every_secs: float | None = 60,
    run_every_steps: int | None = None,
) -> hook.SessionRunHook:
    """Do as `stop_if_no_increase_hook`. The least value is the best."""
    reader = _Reader(estimator, metric_name, eval_dir, min_steps)
    return make_early_stopping_hook(
        estimator,
        lambda: reader.steps_since_best(-1.0) >= max_steps_without_decrease,
        run_every_secs,
        run_every_steps,
    )


class _Reader:
    """The values of one metric in the event files of the evaluations."""

    def __init__(
        self,
        estimator: estimators.Estimator,
        metric_name: str,
        eval_dir: str | None,
        min_steps: int,
    ) -> None:
        self._folder = estimator.eval_dir() if eval_dir is None else eval_dir
        self._name = metric_name
        self._min_steps = min_steps

    def values(self) -> list[tuple[int, float]]:
        """Return the step and the value of each evaluation, in order."""
        return [
            (step, metrics[self._name])
            for step, metrics in read_eval_metrics(self._folder).items()
            if step >= self._min_steps
        ]

    def steps_since_best(self, sign: float) -> int:
        """Return the largest number of steps that any best value stayed the best.

        Return -1 if there are no values.
        """
        longest, best_step, best = -1, 0, None
        for step, value in self.values():
            if best is None or sign * value > sign * best:
                best_step, best = step, value
            longest = max(longest, step - best_step)
        return longest


class _StopOnPredicateHook(hook.SessionRunHook):
    """Asks the function in the chief, and tells the workers."""

    def __init__(self, should_stop_fn: Callable[[], Any], interval: timer.SecondOrStepTimer):
        self._should_stop_fn = should_stop_fn
        self._timer = interval

    def begin(self) -> None:
        self._global_step = steps.require_global_step("make_early_stopping_hook")
        self._stop = state_ops.assign(_stop_variable(), True)

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(self._global_step)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        step = int(run_values.results)
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
        if self._should_stop_fn():
            logging.info("Requesting early stopping at global step %d", step)
            run_context.session.run(self._stop)
            run_context.request_stop()


class _CheckForStoppingHook(hook.SessionRunHook):
    """Stops a worker when the chief has stopped."""

    def begin(self) -> None:
        self._variable = _stop_variable()

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(self._variable)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        if run_values.results:
            logging.info("Early stopping requested, suspending run.")
            run_context.request_stop()


def _stop_variable() -> Any:
    with scope_block.variable_scope("signal_early_stopping", reuse=variable_scope.AUTO_REUSE):
        return variable_scope.get_variable(
            "STOP",
            shape=[],
            dtype=dtypes.bool_,
            initializer=init_ops.constant_initializer(False),
            collections=[collections.GraphKeys.GLOBAL_VARIABLES],
            trainable=False,
        )
