"""Hooks that report the progress of training (python/training/basic_session_run_hooks.py)."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from capstan import errors
from capstan.api import logging
from capstan.framework import graph as graphs
from capstan.train import hook, metrics, steps, summary_writer, timer

_STALE_WARNINGS = 5
"""How often a hook warns that the global step stands still. This may be on purpose."""


class LoggingTensorHook(hook.SessionRunHook):
    """Logs tensors every `every_n_iter` runs, every `every_n_secs` seconds, or at the end.

    `tensors` is a sequence of tensors or tensor names, or a dictionary from labels to tensors. The
    name of an operation stands for its only output. The line has the labels of a dictionary in
    alphabetical order, and a sequence in its own order.
    `formatter` turns a dictionary of values into the line to log. The log level is INFO. Values
    that are numbers also become metrics of the task's progress.

    Raises:
        ValueError: neither an interval nor `at_end` is given, both intervals are given, or
            `every_n_iter` is not positive.
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Iterable[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                "provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        # Programs derive hooks from this one, so its private names are TensorFlow's.
        self._tensors = (
            {label: tensors[label] for label in sorted(tensors)}
            if isinstance(tensors, Mapping)
            else {tensor: tensor for tensor in tensors}
        )
        self._tag_order = list(self._tensors)
        self._labels = {tag: metrics.labels(tag) for tag in self._tensors}
        self._formatter = formatter
        self._timer = (
            timer.NeverTriggerTimer()
            if only_at_end
            else timer.SecondOrStepTimer(every_n_secs, every_n_iter)
        )
        self._log_at_end = at_end
        self._metrics: dict[str, float] = {}

    @property
    def metrics(self) -> Mapping[str, float]:
        """The numbers that were logged last, by name."""
        return self._metrics

    def begin(self) -> None:
        self._timer.reset()
        self._iter_count = 0
        graph = graphs.get_default_graph()
        self._current_tensors = {
            tag: _element(graph, tensor) for tag, tensor in self._tensors.items()
        }

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs | None:
        self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
        return hook.SessionRunArgs(self._current_tensors) if self._should_trigger else None

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        if self._should_trigger:
            self._log_tensors(run_values.results)
        self._iter_count += 1

    def end(self, session: Any) -> None:
        if self._log_at_end:
            self._log_tensors(session.run(self._current_tensors))

    def _log_tensors(self, values: dict[Any, Any]) -> None:
        elapsed, _ = self._timer.update_last_triggered_step(self._iter_count)
        self._metrics = metrics.scalars({self._labels[tag]: values[tag] for tag in self._tag_order})
        if self._formatter is not None:
            logging.info("%s", self._formatter(values))
            return
        with np.printoptions(suppress=True):
            text = ", ".join(f"{tag} = {values[tag]!s}" for tag in self._tag_order)
        if elapsed is None:
            logging.info("%s", text)
        else:
            logging.info("%s (%.3f sec)", text, elapsed)


def _element(graph: graphs.Graph, tensor: Any) -> Any:
    """Return a tensor or operation of `graph`. A name without a colon is that of an operation.

    Raises:
        KeyError: the graph has no tensor of the name.
        ValueError: the operation of the name has several outputs.
    """
    if not isinstance(tensor, str) or ":" in tensor:
        return graph.as_graph_element(tensor)
    found = graph.get_tensor_by_name(f"{tensor}:0")
    if len(found.op.outputs) > 1:
        raise ValueError(
            f"Name {tensor} is ambiguous, as this `Operation` has multiple outputs (at least 2)."
        )
    return found


class StepCounterHook(hook.SessionRunHook):
    """Logs the rate of all workers together in global steps per second.

    `summary_writer` also gets the rate, as a summary called `global_step/sec`. By default, it is
    the writer of FileWriterCache for the folder `output_dir`. If there is neither, the rate is only
    logged. The hook warns, at most five times, of a run that began at the same global step as the
    run before it.

    Raises:
        ValueError: both intervals are given, or neither is.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = timer.SecondOrStepTimer(every_n_secs, every_n_steps)
        self._output_dir = output_dir
        self._summary_writer = summary_writer

    def begin(self) -> None:
        self._global_step_tensor = steps.require_global_step("StepCounterHook")
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = summary_writer.FileWriterCache.get(self._output_dir)
        self._tag = f"{self._global_step_tensor.op.name}/sec"
        self._last_step: int | None = None
        self._stale_runs = 0

    def before_run(self, run_context: hook.SessionRunContext) -> hook.SessionRunArgs:
        return hook.SessionRunArgs(self._global_step_tensor)

    def after_run(
        self, run_context: hook.SessionRunContext, run_values: hook.SessionRunValues
    ) -> None:
        before = int(run_values.results)
        self._warn_if_stale(before)
        if not self._timer.should_trigger_for_step(before + 1):
            return
        step = int(run_context.session.run(self._global_step_tensor))
        if not self._timer.should_trigger_for_step(step):
            return
        elapsed, step_count = self._timer.update_last_triggered_step(step)
        if elapsed and step_count is not None:
            self._report(step_count / elapsed, step)

    def _warn_if_stale(self, step: int) -> None:
        if step == self._last_step and self._stale_runs < _STALE_WARNINGS:
            self._stale_runs += 1
            logging.warning(
                "The global step has not been increased: two runs in succession began at step %d. "
                "Pass tf.train.get_global_step() to Optimizer.minimize or "
                "Optimizer.apply_gradients to increase it in every training step.",
                step,
            )
        self._last_step = step

    def _report(self, rate: float, step: int) -> None:
        if self._summary_writer is not None:
            from tensorboard.compat.proto import summary_pb2

            value = summary_pb2.Summary.Value(tag=self._tag, simple_value=rate)
            self._summary_writer.add_summary(summary_pb2.Summary(value=[value]), step)
        logging.info("%s: %g", self._tag, rate)


class FinalOpsHook(hook.SessionRunHook):
    """Evaluates `final_ops` at the end of training. `final_ops_values` is the result.

    Numbers among the values also become metrics of the task's progress. Their names are the keys
    of `final_ops` if it is a dictionary, else the names of the tensors.
    If `final_ops` need an input that is exhausted, log a warning before the error is raised.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._feed_dict = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values of `final_ops`, in the same structure. None before the end of training."""
        return self._values

    @property
    def metrics(self) -> Mapping[str, float]:
        """The numbers among the values, by name."""
        if self._values is None:
            return {}
        return metrics.scalars(_flat(metrics.labels(self._final_ops), self._values))

    def end(self, session: Any) -> None:
        if self._final_ops is None:
            return
        started = time.monotonic()
        try:
            self._values = session.run(self._final_ops, feed_dict=self._feed_dict)
        except (errors.OutOfRangeError, StopIteration):
            logging.warning(
                "The final ops of a FinalOpsHook reached the end of an input. They should only read"
                " variables: of a metric, for example, use the value and not its update operation."
            )
            raise
        logging.info("Final ops took %.3f sec", time.monotonic() - started)


def _flat(labels: Any, values: Any) -> dict[str, Any]:
    if isinstance(labels, dict):
        return {name: values[key] for key, name in labels.items()}
    if isinstance(labels, list):
        return dict(zip(labels, values, strict=True))
    return {labels: values}
