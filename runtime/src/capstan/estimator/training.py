"""`tf.estimator.train_and_evaluate`: one call that does the work of any task of a cluster.

    chief, worker   start a server, train
    master          starts a server, trains, and evaluates after checkpoints
    ps              starts a server, and serves until its process is ended
    evaluator       evaluates new checkpoints until the last step
    no cluster      trains, and evaluates after checkpoints

Source: tensorflow/python/estimator/training.py.
"""

import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from tensorboard.compat.proto import config_pb2

from capstan.api import logging
from capstan.estimator import estimator as estimators
from capstan.estimator import evaluator, run_config, run_config_checks, specs
from capstan.services import server as servers
from capstan.train import checkpointing

_TASK = run_config.TaskType
_STATUS = evaluator.EvalStatus
_TRAINERS: Final = (_TASK.CHIEF, _TASK.MASTER, _TASK.WORKER)
_MAX_DELAY_SECS: Final = 60
_DELAY_SECS_PER_WORKER: Final = 5


def train_and_evaluate(
    estimator: estimators.Estimator, train_spec: specs.TrainSpec, eval_spec: specs.EvalSpec
) -> Any:
    """Do the work of this task, which TF_CONFIG names. Blocks until the work is done.

    A chief and a worker train until the last step or the end of the input. An evaluator evaluates
    until the last step. A ps never returns. A worker starts some seconds after the chief. Without a
    cluster, return the metrics of the last evaluation, or None, and the results of the exporters.

    Raises:
        TypeError: an argument is of another type.
        ValueError: the task has an unknown type, or there is more than one evaluator.
    """
    assert_eval_spec(eval_spec)
    executor = TrainingExecutor(estimator, train_spec, eval_spec)
    config = estimator.config
    if config.task_type == _TASK.EVALUATOR and config.task_id > 0:
        raise ValueError(
            "For distributed training, there can only be one `evaluator` task (with task id 0).  "
            f"Given task id {config.task_id}"
        )
    return executor.run()


def assert_eval_spec(eval_spec: Any) -> None:
    """Raise TypeError if `eval_spec` is not an EvalSpec."""
    if not isinstance(eval_spec, specs.EvalSpec):
        raise TypeError(
            f"`eval_spec` must have type `tf.estimator.EvalSpec`. Got: {type(eval_spec)}"
        )


def should_run_distribute_coordinator(config: Any) -> bool:
    """Return False: each task of a cluster does its own work, also with a strategy.

    Programs that copy `train_and_evaluate` ask for it (python/distribute/estimator_training.py).
    """
    del config
    return False


class ContinuousEvalListener:
    """Hears of each attempt of an evaluator, and can end the evaluator. This one does not."""

    def before_eval(self) -> bool:
        """Return False before an attempt to end the evaluator."""
        return True

    def after_eval(self, eval_result: evaluator.EvalResult) -> bool:
        """Return False after an attempt, also one without a checkpoint, to end the evaluator."""
        return True


class TrainingExecutor:
    """The work of each type of task. Each method blocks until the work is done.

    `continuous_eval_listener` hears of the attempts of an evaluator in a cluster.
    """

    def __init__(
        self,
        estimator: estimators.Estimator,
        train_spec: specs.TrainSpec,
        eval_spec: specs.EvalSpec,
        train_hooks: Iterable[Any] | None = None,
        continuous_eval_listener: ContinuousEvalListener | None = None,
    ) -> None:
        for name, value, kind in (
            ("estimator", estimator, estimators.Estimator),
            ("train_spec", train_spec, specs.TrainSpec),
            ("eval_spec", eval_spec, specs.EvalSpec),
        ):
            if not isinstance(value, kind):
                raise TypeError(
                    f"`{name}` must have type `tf.estimator.{kind.__name__}`. Got: {type(value)}"
                )
        if not isinstance(continuous_eval_listener, ContinuousEvalListener | None):
            raise TypeError(
                "`continuous_eval_listener` must have type `_ContinuousEvalListener`. Got: "
                f"{type(continuous_eval_listener)}"
            )
        self._estimator = estimator
        self._config = estimator.config
        self._train_spec = train_spec
        self._eval_spec = eval_spec
        self._hooks = [*train_spec.hooks, *specs.checked_hooks(train_hooks)]
        self._eval_listener = continuous_eval_listener or ContinuousEvalListener()
        self._server: servers.Server | None = None

    def run(self) -> Any:
        """Do the work of this task. Return results only if there is no cluster.

        Raises:
            ValueError: the task has an unknown type.
        """
        task_type = self._config.task_type
        if not self._config.cluster_spec and task_type != _TASK.EVALUATOR:
            logging.info("Running training and evaluation locally (non-distributed).")
            return self.run_local()
        works = {
            _TASK.CHIEF: self.run_chief,
            _TASK.WORKER: self.run_worker,
            _TASK.MASTER: self.run_master,
            _TASK.PS: self.run_ps,
            _TASK.EVALUATOR: self.run_evaluator,
        }
        if task_type not in works:
            raise ValueError(
                f"Task type {task_type} is not supported. Supported task types are {list(works)}"
            )
        works[task_type]()
        return None

    def run_chief(self) -> None:
        """Start a server and train."""
        self._start_server()
        self._train()

    def run_worker(self) -> None:
        """Start a server, wait until the chief has had time to start, and train.

        Workers that train in step with the chief do not wait.
        """
        self._start_server()
        if run_config_checks.has_equal_workers(self._config.train_distribute):
            self._train()
            return
        longest = self._config.experimental_max_worker_delay_secs
        delay = min(
            _MAX_DELAY_SECS if longest is None else int(longest),
            (self._config.task_id + 1) * _DELAY_SECS_PER_WORKER,
        )
        if delay > 0:
            logging.info("Waiting %d secs before starting training.", delay)
            _wait(delay)
        self._train()

    def run_master(self) -> None:
        """Start a server, train, and evaluate after checkpoints."""
        self._start_server()
        self._train([self._listener()])

    def run_ps(self) -> None:
        """Start a server, and never return."""
        server = self._start_server()
        if server is not None:
            server.join()

    def run_local(self) -> tuple[Any, Any]:
        """Train, evaluate after checkpoints, and return the last metrics and exports."""
        listener = self._listener()
        self._train([listener])
        result = listener.result
        return (result.metrics, list(result.exports)) if result else (None, None)

    def run_evaluator(self) -> None:
        """Evaluate new checkpoints until the last step, or until the listener returns False."""
        spec = self._eval_spec
        if spec.start_delay_secs:
            logging.info("Waiting %f secs before starting eval.", spec.start_delay_secs)
            _wait(spec.start_delay_secs)
        evaluations, progress = self._evaluator(), evaluator.EvaluationProgress()
        while True:
            started = time.monotonic()
            if not self._eval_listener.before_eval():
                logging.info("Exiting evaluation: before_eval of the listener has returned False.")
                return
            result = evaluations.evaluate_and_export()
            progress.show(result.metrics)
            if not self._eval_listener.after_eval(result):
                logging.info("Exiting evaluation: after_eval of the listener has returned False.")
                return
            if evaluations.has_ended(result):
                logging.info("Exiting evaluation: the training has reached its last step.")
                return
            if spec.throttle_secs == 0 and result.status is not _STATUS.EVALUATED:
                logging.warning(
                    "EvalSpec.throttle_secs is set as 0. This might overload the job before "
                    "finding (next) new checkpoint. Please consider to increase it."
                )
            _wait(max(0.0, started + spec.throttle_secs - time.monotonic()))

    def _train(
        self, listeners: Sequence[checkpointing.CheckpointSaverListener] | None = None
    ) -> None:
        self._estimator.train(
            input_fn=self._train_spec.input_fn,
            max_steps=self._train_spec.max_steps,
            hooks=self._hooks,
            saving_listeners=listeners,
        )

    def _evaluator(self) -> evaluator.Evaluator:
        return evaluator.Evaluator(self._estimator, self._eval_spec, self._train_spec.max_steps)

    def _listener(self) -> evaluator.EvaluatingListener:
        return evaluator.EvaluatingListener(self._evaluator(), self._eval_spec.throttle_secs)

    def _start_server(self) -> servers.Server | None:
        """Start the server of this task. Return None if the task is alone in its cluster."""
        config = self._config
        if not config.master:
            if len(config.cluster_spec.tasks()) == 1 and config.task_type in _TRAINERS:
                logging.info("Skip starting server as there is only one node in the cluster.")
                return None
            raise RuntimeError(
                "Could not start server; be sure to specify master in RunConfig or set the "
                "TF_CONFIG environment variable."
            )
        settings = config_pb2.ConfigProto(gpu_options=config.session_config.gpu_options)
        if run_config_checks.has_equal_workers(config.train_distribute):
            settings = config.train_distribute.update_config_proto(settings)
        logging.info("Start Tensorflow server.")
        self._server = servers.Server(
            config.cluster_spec,
            job_name=config.task_type,
            task_index=config.task_id,
            protocol=config.protocol,
            config=settings,
        )
        return self._server


def _wait(secs: float) -> None:
    threading.Event().wait(secs)
