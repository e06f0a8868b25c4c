"""`tf.contrib.learn.Experiment`: training and evaluation of an estimator, as one task runs them.

Source: contrib/learn/python/learn/experiment.py.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from capstan.api import logging
from capstan.contrib.learn import experiment_parts as parts
from capstan.contrib.learn import export_strategy, monitor_hooks, validation
from capstan.estimator import estimator as core
from capstan.estimator import evaluator
from capstan.framework import collections
from capstan.services import server
from capstan.train import GlobalStepWaiterHook, checkpoint_state, checkpointing

_MOST_DELAY_SECS: Final = 60
_DELAY_SECS: Final = 5
_STEP: Final = collections.GraphKeys.GLOBAL_STEP


class Experiment:
    """An estimator with its inputs for training and evaluation. All methods block.

    The estimator is one of `tf.contrib.learn` or of `tf.estimator`. `train_steps` is the last
    global step, or None to train until the input ends. An evaluation takes `eval_steps` batches.
    Training with evaluations evaluates new checkpoints, at most once in `min_eval_frequency` steps
    and in `check_interval_secs` seconds, or only at the end if `min_eval_frequency` is 0. With
    `checkpoint_and_export`, it evaluates and exports each checkpoint. Each `ExportStrategy` exports
    to its folder below `export`.

    Raises:
        ValueError: an argument is of another kind, or does not go with an estimator of
            `tf.estimator`.
    """

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable[[], Any],
        eval_input_fn: Callable[[], Any],
        eval_metrics: Mapping[Any, Any] | None = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Iterable[Any] | None = None,
        eval_hooks: Iterable[Any] | None = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Iterable[Any] | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        self._is_core = isinstance(estimator, core.Estimator)
        parts.check(estimator, eval_metrics, saving_listeners, train_steps_per_iteration)
        self._estimator = estimator
        self._train_input_fn = train_input_fn
        self._eval_input_fn = eval_input_fn
        self._eval_metrics = eval_metrics
        self._train_steps = train_steps
        self._eval_steps = eval_steps
        self._train_monitors = list(train_monitors or ())
        self._eval_hooks = list(eval_hooks or ())
        self._local_eval_frequency = local_eval_frequency
        self._eval_delay_secs = eval_delay_secs
        self._throttle_secs = continuous_eval_throttle_secs
        self._frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._delays_by_step = delay_workers_by_global_step
        self._steps_per_iteration = train_steps_per_iteration
        self._exports_checkpoints = checkpoint_and_export
        self._saving_listeners = saving_listeners
        self._check_interval_secs = check_interval_secs
        self.reset_export_strategies(export_strategies)

    @property
    def estimator(self) -> Any:
        return self._estimator

    @property
    def eval_metrics(self) -> Any:
        return self._eval_metrics

    @property
    def train_steps(self) -> int | None:
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        return self._eval_steps

    def extend_train_hooks(self, additional_hooks: Iterable[Any]) -> None:
        """Add hooks or monitors to the training."""
        self._train_monitors.extend(additional_hooks)

    def reset_export_strategies(self, new_export_strategies: Any = None) -> Any:
        """Replace the strategies of exports, and return the old ones.

        Raises:
            ValueError: one is not an ExportStrategy.
        """
        new = new_export_strategies or ()
        strategies = (new,) if isinstance(new, export_strategy.ExportStrategy) else tuple(new)
        for each in strategies:
            if not isinstance(each, export_strategy.ExportStrategy):
                raise ValueError(f"`export_strategies` must be ExportStrategy, found {each}.")  # noqa: TRY004
        old = getattr(self, "_export_strategies", ())
        self._export_strategies = strategies
        return old

    def train(self, delay_secs: float | None = None) -> Any:
        """Train, and return the estimator. In a cluster, start the server of this task first.

        A worker waits `delay_secs` seconds, by default five for each worker before it.
        """
        config, hooks = self._estimator.config, []
        if config.cluster_spec and config.master:
            self._start_server()
        if delay_secs is None and self._delays_by_step:
            hooks = [GlobalStepWaiterHook(int(8000.0 * math.log(config.task_id + 1)))]
            delay_secs = 0
        elif delay_secs is None:
            delay_secs = min(_MOST_DELAY_SECS, config.task_id * _DELAY_SECS)
        parts.wait(delay_secs, "training")
        return self._call_train(self._train_monitors + hooks, max_steps=self._train_steps)

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> Any:
        """Evaluate the newest checkpoint after `delay_secs` seconds, and return the metrics."""
        parts.wait(self._eval_delay_secs if delay_secs is None else delay_secs, "eval")
        return self._call_evaluate(name or "one_pass")

    def local_run(self) -> Any:
        """Do as `train_and_evaluate`, with evaluations every `local_eval_frequency` steps."""
        frequency, self._frequency = self._frequency, self._local_eval_frequency or 0
        try:
            return self.train_and_evaluate()
        finally:
            self._frequency = frequency

    def train_and_evaluate(self) -> Any:
        """Train with evaluations of checkpoints. Return the last metrics, and the exports."""
        own, listener = list(self._train_monitors), None
        config = self._estimator.config
        intervals = config.save_checkpoints_secs, config.save_checkpoints_steps
        if self._exports_checkpoints and any(intervals):
            folder = self._estimator.model_dir
            listener = parts.EvaluatingListener(
                folder,
                lambda path: self._call_evaluate("intermediate_export", path),
                self._export,
            )
            own.append(checkpointing.CheckpointSaverHook(folder, *intervals, listeners=[listener]))
        elif self._frequency:
            own.append(self._validation())
        given, self._train_monitors = self._train_monitors, own
        try:
            self.train(delay_secs=0)
        finally:
            self._train_monitors = given
        if listener is not None:
            return listener.metrics, listener.exports
        metrics = self._call_evaluate(None)
        return metrics, self._export(metrics, None)

    def _validation(self) -> validation.ValidationMonitor:
        return validation.ValidationMonitor(
            input_fn=self._eval_input_fn,
            eval_steps=self._eval_steps,
            metrics=self._eval_metrics,
            every_n_steps=self._frequency,
            check_interval_secs=self._check_interval_secs,
            hooks=self._eval_hooks,
        )

    def continuous_eval(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True,
        continuous_eval_predicate_fn: Callable[..., bool] | None = None,
        name: str = "continuous",
    ) -> None:
        """Evaluate and export new checkpoints until the last step of the training.

        `continuous_eval_predicate_fn(metrics)`, or with `checkpoint_path`, returns whether to go
        on. Its first argument is None at first.
        """
        self._continuous_eval(
            self._eval_input_fn, name, delay_secs, throttle_delay_secs,
            continuous_eval_predicate_fn, once=evaluate_checkpoint_only_once, exports=True,
        )  # fmt: skip

    def continuous_eval_on_train_data(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        continuous_eval_predicate_fn: Callable[..., bool] | None = None,
        name: str = "continuous_on_train_data",
    ) -> None:
        """Do as `continuous_eval` on the data of the training, without exports."""
        self._continuous_eval(
            self._train_input_fn, name, delay_secs, throttle_delay_secs,
            continuous_eval_predicate_fn, once=True, exports=False,
        )  # fmt: skip

    def _continuous_eval(
        self, input_fn: Any, name: str, delay: float | None, throttle: float | None,
        predicate: Callable[..., bool] | None, *, once: bool, exports: bool,
    ) -> None:  # fmt: skip
        parts.wait(self._eval_delay_secs if delay is None else delay, "eval")
        pause = self._throttle_secs if throttle is None else throttle
        progress = evaluator.EvaluationProgress()
        metrics: Any = None
        previous: str | None = None
        while parts.goes_on(predicate, metrics, previous) and not self._has_ended(metrics):
            started = time.monotonic()
            path = checkpoint_state.latest_checkpoint(self._estimator.model_dir)
            if path is None or (once and path == previous):
                logging.log_first_n(logging.WARN, "There is no new checkpoint to evaluate.", 1)
                metrics = {}
            else:
                metrics = self._call_evaluate(name, path, input_fn=input_fn)
                progress.show(metrics)
                if exports:
                    self._export(metrics, path)
                previous = path
            if not self._has_ended(metrics):
                parts.wait(max(0.0, started + pause - time.monotonic()), "next eval run")

    def continuous_train_and_eval(
        self, continuous_eval_predicate_fn: Callable[..., bool] | None = None
    ) -> Any:
        """Train `train_steps_per_iteration` steps and evaluate, in turns, until the last step.

        Return the last metrics and exports. The predicate is as in `continuous_eval`.
        """
        default = 1000 if self._train_steps is None else max(1, self._train_steps // 10)
        each = self._steps_per_iteration or default
        metrics: Any = None
        exports: Any = None
        path: str | None = None
        while parts.goes_on(continuous_eval_predicate_fn, metrics, path):
            if self._has_ended(metrics):
                break
            self._call_train(self._train_monitors, steps=each)
            path = checkpoint_state.latest_checkpoint(self._estimator.model_dir)
            metrics = self._call_evaluate("one_pass", path)
            exports = self._export(metrics, None)
        return metrics, exports

    def run_std_server(self) -> None:
        """Start the server of this task, and never return. A ps does this."""
        self._start_server().join()

    def test(self) -> Any:
        """Train one step, evaluate one batch, export, and return the metrics."""
        self._call_train(self._train_monitors, steps=1)
        metrics = self._call_evaluate("one_pass", steps=1)
        self._export(metrics, None)
        return metrics

    def _start_server(self) -> server.Server:
        config = self._estimator.config
        if not config.cluster_spec or not config.master:
            raise ValueError(
                "Could not start server: set the cluster and the task in the environment variable "
                "TF_CONFIG."
            )
        return server.Server(
            config.cluster_spec, job_name=config.task_type, task_index=config.task_id,
            protocol=config.protocol,
        )  # fmt: skip

    def _has_ended(self, metrics: Any) -> bool:
        step = (metrics or {}).get(_STEP)
        return bool(step and self._train_steps and step >= self._train_steps)

    def _call_train(self, hooks: list[Any], **limits: int | None) -> Any:
        if self._is_core:
            return self._estimator.train(
                self._train_input_fn,
                monitor_hooks.replace_monitors_with_hooks(hooks, self._estimator),
                saving_listeners=self._saving_listeners,
                **limits,
            )
        return self._estimator.fit(input_fn=self._train_input_fn, monitors=hooks, **limits)

    def _call_evaluate(
        self, name: str | None, path: str | None = None, steps: int | None = None,
        input_fn: Any = None,
    ) -> Any:  # fmt: skip
        more = {} if self._is_core else {"metrics": self._eval_metrics}
        return self._estimator.evaluate(
            input_fn=input_fn or self._eval_input_fn,
            steps=steps or self._eval_steps,
            hooks=self._eval_hooks,
            checkpoint_path=path,
            name=name,
            **more,
        )

    def _export(self, metrics: Any, path: str | None) -> list[Any]:
        folder = os.path.join(self._estimator.model_dir, "export")
        return [
            strategy.export(self._estimator, os.path.join(folder, strategy.name), path, metrics)
            for strategy in self._export_strategies
        ]
