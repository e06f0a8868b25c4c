"""The parts of an experiment that do not need its estimator's methods.

Source: contrib/learn/python/learn/experiment.py.
"""

import threading
from collections.abc import Callable
from typing import Any

from capstan.api import logging
from capstan.contrib.learn import estimators
from capstan.estimator import estimator as core
from capstan.train import checkpoint_state, checkpointing


class EvaluatingListener(checkpointing.CheckpointSaverListener):
    """Evaluates and exports each checkpoint of the folder `model_dir`.

    `evaluate(path)` returns the metrics of a checkpoint, and `export(metrics, path)` the exports.
    """

    def __init__(
        self,
        model_dir: str,
        evaluate: Callable[[str | None], Any],
        export: Callable[[Any, str | None], Any],
    ) -> None:
        self._model_dir = model_dir
        self._evaluate = evaluate
        self._export = export
        self.metrics: Any = None
        self.exports: Any = None

    def after_save(self, session: Any, global_step_value: int) -> None:
        path = checkpoint_state.latest_checkpoint(self._model_dir)
        self.metrics = self._evaluate(path)
        self.exports = self._export(self.metrics, path)


def check(estimator: Any, metrics: Any, listeners: Any, steps_per_iteration: Any) -> None:
    """Check the arguments of an experiment that depend on its estimator."""
    if isinstance(estimator, core.Estimator):
        if metrics is not None:
            raise ValueError(
                "`eval_metrics` must be `None` with `tf.estimator.Estimator`. Use "
                "`eval_metric_ops` in `tf.estimator.EstimatorSpec` instead."
            )
    elif not isinstance(estimator, estimators.Estimator):
        raise ValueError(  # noqa: TRY004 - TensorFlow's error
            "`estimator` must be an estimator of tf.contrib.learn or of tf.estimator. Got: "
            f"{type(estimator)}"
        )
    elif listeners is not None:
        raise ValueError("`saving_listeners` must be `None` with `tf.contrib.learn.Estimator`.")
    if not isinstance(steps_per_iteration, int | None):
        raise ValueError("`train_steps_per_iteration` must be an integer.")  # noqa: TRY004


def goes_on(predicate: Callable[..., bool] | None, metrics: Any, path: str | None) -> bool:
    if predicate is None:
        return True
    try:
        return bool(predicate(metrics, checkpoint_path=path))
    except TypeError:
        return bool(predicate(metrics))


def wait(secs: float, purpose: str) -> None:
    if secs > 0:
        logging.info("Waiting %f secs before starting %s.", secs, purpose)
        threading.Event().wait(secs)
