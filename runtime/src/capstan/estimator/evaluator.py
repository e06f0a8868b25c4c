"""Evaluations of new checkpoints, each followed by its exports.

Source: tensorflow/python/estimator/training.py.
"""

import enum
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from capstan.api import logging
from capstan.estimator import estimator as estimators
from capstan.estimator import specs
from capstan.framework import collections
from capstan.train import checkpointing, progress, timer

_STEP: Final = collections.GraphKeys.GLOBAL_STEP
_WARNING_SECS: Final = 600
"""The pause between two warnings that there is nothing to evaluate."""

_SHOWN: Final[tuple[str, ...]] = ("accuracy", "auc", "loss")
"""The metrics that an evaluator reports. A line of capstanctl has no room for all of them."""


class EvalStatus(enum.Enum):
    """What an attempt to evaluate has found."""

    EVALUATED = "evaluated"
    MISSING_CHECKPOINT = "missing checkpoint"
    NO_NEW_CHECKPOINT = "no new checkpoint"


@dataclass(frozen=True, slots=True)
class EvalResult:
    """The result of an attempt. `metrics` is None, and `exports` is empty, without a checkpoint."""

    status: EvalStatus
    metrics: dict[str, Any] | None = None
    checkpoint_path: str | None = None
    exports: tuple[Any, ...] = ()


class Evaluator:
    """Evaluates each checkpoint of an estimator at most once. Not thread-safe."""

    def __init__(
        self,
        estimator: estimators.Estimator,
        eval_spec: specs.EvalSpec,
        max_training_steps: int | None,
    ) -> None:
        self._estimator = estimator
        self._eval_spec = eval_spec
        self._max_training_steps = max_training_steps
        self._previous: str | None = None
        self._warned_at: float | None = None

    def evaluate_and_export(self) -> EvalResult:
        """Evaluate the newest checkpoint, unless it is evaluated already, and call the exporters.

        Blocks.
        """
        path = self._estimator.latest_checkpoint()
        if not path:
            self._warn(
                "Estimator is not trained yet. Will start an evaluation when a checkpoint is ready."
            )
            return EvalResult(EvalStatus.MISSING_CHECKPOINT)
        if path == self._previous:
            self._warn(
                "No new checkpoint ready for evaluation. Skip the current evaluation pass as "
                "evaluation results are expected to be same for the same checkpoint."
            )
            return EvalResult(EvalStatus.NO_NEW_CHECKPOINT)
        spec = self._eval_spec
        metrics = self._estimator.evaluate(
            spec.input_fn, spec.steps, spec.hooks, checkpoint_path=path, name=spec.name
        )
        exports = self._export(path, metrics)
        self._warned_at = None
        self._previous = path
        return EvalResult(EvalStatus.EVALUATED, metrics, path, exports)

    def has_ended(self, result: EvalResult) -> bool:
        """Return whether the checkpoint of a result is the last one of the training."""
        limit = self._max_training_steps
        return bool(limit and result.metrics and result.metrics[_STEP] >= limit)

    def _export(self, path: str, metrics: dict[str, Any]) -> tuple[Any, ...]:
        is_final = self.has_ended(EvalResult(EvalStatus.EVALUATED, metrics, path))
        folder = os.path.join(self._estimator.model_dir, "export")
        return tuple(
            exporter.export(
                estimator=self._estimator,
                export_path=os.path.join(folder, exporter.name),
                checkpoint_path=path,
                eval_result=metrics,
                is_the_final_export=is_final,
            )
            for exporter in self._eval_spec.exporters
        )

    def _warn(self, message: str) -> None:
        now = time.monotonic()
        if self._warned_at is None or now - self._warned_at > _WARNING_SECS:
            logging.warning(message)
            self._warned_at = now


class EvaluationProgress:
    """Reports the metrics of evaluations to the operator, if it reads the progress of this task."""

    def __init__(self) -> None:
        is_wanted = progress.is_wanted(is_chief=False)
        path = os.environ.get(progress.VARIABLE) or None
        self._report = progress.Report(path) if is_wanted else None

    def show(self, metrics: Mapping[str, Any] | None) -> None:
        """Report the metrics of an evaluation. Without metrics, there was no checkpoint."""
        if self._report is not None and metrics:
            shown = {name: float(metrics[name]) for name in _SHOWN if name in metrics}
            self._report.write(int(metrics[_STEP]), shown)


class EvaluatingListener(checkpointing.CheckpointSaverListener):
    """Evaluates while a session trains: after a checkpoint, and after the last one.

    The first checkpoint, before the first step, is not evaluated. Between two evaluations there are
    at least `throttle_secs` seconds.
    """

    def __init__(self, evaluator: Evaluator, throttle_secs: float) -> None:
        self._evaluator = evaluator
        self._throttle_secs = throttle_secs
        self.result: EvalResult | None = None

    def begin(self) -> None:
        self._timer = timer.SecondOrStepTimer(every_secs=self._throttle_secs)
        self._is_first = True

    def after_save(self, session: Any, global_step_value: int) -> None:
        if self._is_first:
            self._is_first = False
        elif self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)
        else:
            logging.info(
                "Skip the current checkpoint eval due to throttle secs (%s secs).",
                self._throttle_secs,
            )

    def end(self, session: Any, global_step_value: int) -> None:
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value)

    def _evaluate(self, step: int) -> None:
        self._timer.update_last_triggered_step(step)
        self.result = self._evaluator.evaluate_and_export()
        if self.result.status is not EvalStatus.EVALUATED:
            raise RuntimeError(
                "There was no new checkpoint after the training. Eval status: "
                f"{self.result.status.value}"
            )
