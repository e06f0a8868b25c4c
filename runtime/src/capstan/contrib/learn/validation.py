"""The monitor that evaluates new checkpoints (contrib/learn/python/learn/monitors.py)."""

import time
from typing import Any

from capstan.api import logging
from capstan.contrib.learn import monitors
from capstan.train import checkpoint_state


class ValidationMonitor(monitors.EveryN):
    """Evaluates each new checkpoint, at most once in `every_n_steps` steps.

    The input is that of `Estimator.evaluate`. If `early_stopping_rounds` is given, training stops
    when `early_stopping_metric` has not improved for so many steps. Looks for a checkpoint at most
    once in `check_interval_secs` seconds.

    Raises:
        ValueError: there is no input.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Any = None,
        hooks: Any = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        super().__init__(every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        arrays = {"x": x, "y": y, "batch_size": batch_size, "metrics": metrics}
        self._arguments = {
            **{key: value for key, value in arrays.items() if value is not None},
            "input_fn": input_fn,
            "steps": eval_steps,
            "hooks": hooks,
            "name": name,
        }
        self._rounds = early_stopping_rounds
        self._metric = early_stopping_metric
        self._sign = 1 if early_stopping_metric_minimize else -1
        self._interval = check_interval_secs
        self._checked_at: float | None = None
        self._path: str | None = None
        self._best: Any = None
        self._best_step: int | None = None
        self._best_metrics: Any = None
        self._early_stopped = False

    @property
    def early_stopped(self) -> bool:
        """Whether this monitor has stopped the training."""
        return self._early_stopped

    @property
    def best_step(self) -> int | None:
        """The step whose metric was the best, or None before the first evaluation."""
        return self._best_step

    @property
    def best_value(self) -> Any:
        """The best value of the metric, or None before the first evaluation."""
        return self._best

    @property
    def best_metrics(self) -> Any:
        """All metrics of `best_step`."""
        return self._best_metrics

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        now = time.monotonic()
        if self._checked_at is not None and now - self._checked_at < self._interval:
            return False
        self._checked_at = now
        path = checkpoint_state.latest_checkpoint(self._estimator.model_dir)
        if path is None or path == self._path:
            return False
        self._path = path
        found = self._estimator.evaluate(**self._arguments, checkpoint_path=path)
        logging.info("Validation (step %d): %s", step, found)
        if self._rounds is None:
            return False
        value = found[self._metric]
        if self._best is None or self._sign * value < self._sign * self._best:
            self._best, self._best_step, self._best_metrics = value, step, found
        self._early_stopped = step - (self._best_step or 0) >= self._rounds
        if self._early_stopped:
            logging.info(
                "Stopping. Best step: %s with %s = %s.", self._best_step, self._metric, self._best
            )
        return self._early_stopped
