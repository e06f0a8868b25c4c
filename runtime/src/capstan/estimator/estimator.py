"""`tf.estimator.Estimator`: a model that trains, evaluates, predicts and is exported.

Source: tensorflow/python/estimator/estimator.py.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from capstan.api import logging
from capstan.estimator import (
    calls,
    evaluation_run,
    evaluation_summaries,
    exported_model,
    mode_keys,
    prediction_run,
    replicated_model,
    run_config,
    run_config_checks,
    training_run,
    warm_starting,
)
from capstan.framework import graph as graphs
from capstan.train import evaluation, stopping
from capstan.train import steps as global_steps

_MODES = mode_keys.ModeKeys
_NOT_TRAINERS = (run_config.TaskType.EVALUATOR, run_config.TaskType.PS)


class Estimator(exported_model.ExportedModel):
    """A model that `model_fn` builds, with its checkpoints and summaries in `model_dir`.

    `model_fn(features, labels, mode, params, config)` returns an EstimatorSpec. It needs to take
    only those of these arguments that it uses. `params` are passed to it. The default for
    `model_dir` is the folder of `config`, else a temporary folder. A new model starts from
    `warm_start_from`: a checkpoint, a SavedModel or WarmStartSettings.

    An `input_fn` may take `mode`, `params` and `config`. It returns features, a tuple of features
    and labels, or a Dataset of either. Features and labels are tensors or dictionaries of tensors.
    Each call of a method builds a new graph. Subclasses may add methods and must not override
    methods. Not thread-safe.

    Raises:
        ValueError: `model_fn` has the wrong arguments, two values for `model_dir` differ, `config`
            is not a RunConfig, or a subclass overrides a method.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Any = None,
        config: run_config.RunConfig | None = None,
        params: Any = None,
        warm_start_from: Any = None,
    ) -> None:
        type(self)._assert_members_are_not_overridden(self)
        super().__init__(model_fn, model_dir, config, params, warm_start_from)

    @staticmethod
    def _assert_members_are_not_overridden(estimator: "Estimator") -> None:
        """Check the class of an estimator.

        Programs whose estimators do override methods put a function that does nothing in its place.
        """
        _check_overrides(type(estimator))

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Iterable[Any] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Iterable[Any] | None = None,
    ) -> Self:
        """Train for `steps` more steps, until the global step `max_steps`, or until the input ends.

        Blocks. Returns at once if the newest checkpoint is at `max_steps` already. The listeners
        are called around each checkpoint.

        Raises:
            ValueError: this task is an evaluator or a ps, both limits are given, or a limit is not
                positive.
            TypeError: a hook or a listener is of another type.
        """
        if self._config.task_type in _NOT_TRAINERS:
            raise ValueError(
                "Train has been called wrong configuration. Please use "
                "tf.estimator.train_and_evaluate which calls proper API according to given "
                f"configuration. Current task type: {self._config.task_type}."
            )
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        calls.check_steps("steps", steps)
        calls.check_steps("max_steps", max_steps)
        if max_steps is not None and max_steps <= self._saved_step():
            logging.info("Skipping training since max_steps has already saved.")
            return self
        all_hooks = calls.checked_hooks(hooks)
        if steps is not None or max_steps is not None:
            all_hooks.append(stopping.StopAtStepHook(steps, max_steps))
        listeners = calls.checked_listeners(saving_listeners)
        loss = self._train_model(input_fn, all_hooks, listeners)
        logging.info("Loss for final step: %s.", loss)
        return self

    def eval_dir(self, name: str | None = None) -> str:
        """Return the folder of the summaries of an evaluation."""
        return os.path.join(self.model_dir, "eval" if not name else f"eval_{name}")

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Iterable[Any] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Return the metrics over `steps` batches, or all batches, by name.

        `loss` is the mean of the losses of the batches, and `global_step` is the step of the
        checkpoint. The default checkpoint is the newest one. Without any checkpoint, the variables
        have their initial values. The results are also written to `eval_dir(name)`. Blocks.

        Raises:
            ValueError: `steps` is not positive, or a metric has a reserved name.
            TypeError: a hook is of another type.
        """
        path = self._checkpoint(checkpoint_path, "evaluate")
        with graphs.Graph().as_default() as graph:
            evaluation = self._build_evaluation(graph, input_fn, steps, hooks)
            if not path:
                warm_starting.apply(self._warm_start_settings)
            results = evaluation.run(
                path, self._config.evaluation_master, self._config.session_config
            )
        evaluation_summaries.write(self.eval_dir(name), results, path)
        return results

    def _build_evaluation(
        self,
        graph: graphs.Graph,
        input_fn: Callable[..., Any],
        steps: int | None,
        hooks: Iterable[Any] | None,
    ) -> evaluation_run.Evaluation:
        """Add the model, in the mode of evaluation, and its metrics to the default graph."""
        all_hooks = calls.checked_hooks(hooks)
        calls.check_steps("steps", steps)
        if steps is not None:
            all_hooks.append(evaluation.StopAfterNEvalsHook(steps))
        strategy = self._config.eval_distribute
        if run_config_checks.has_replicas(strategy):
            with strategy.scope():
                spec, input_hooks = self._replicated_spec(graph, input_fn, _MODES.EVAL, strategy)
            metric_ops = spec.eval_metric_ops
        else:
            spec, input_hooks = self._spec(graph, input_fn, _MODES.EVAL)
            metric_ops = evaluation_run.with_loss(spec)
        return evaluation_run.build(
            spec.scaffold,
            metric_ops,
            global_steps.get_global_step(graph),
            [*input_hooks, *all_hooks, *spec.evaluation_hooks],
        )

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Iterable[str] | None = None,
        hooks: Iterable[Any] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Yield the predictions of each example, or of each batch, until the input ends.

        If the predictions are a dictionary, each result is a dictionary, with `predict_keys` only.
        A string is one key.
        Checkpoints are chosen as in `evaluate`. The work starts with the first result.

        Raises:
            ValueError: no prediction has a key of `predict_keys`, the predictions are not a
                dictionary, or the sizes of the batches differ.
            TypeError: a hook is of another type.
        """
        all_hooks = calls.checked_hooks(hooks)
        path = self._checkpoint(checkpoint_path, "predict")
        graph = graphs.Graph()
        with graph.as_default():
            self._start_graph(graph)
            result = self._call_input_fn(input_fn, _MODES.PREDICT)
            features, _, input_hooks = calls.parse_input(result)
            calls.warn_if_endless(features)
            spec = self._call_model_fn(features, None, _MODES.PREDICT, self.config)
            if not path:
                warm_starting.apply(self._warm_start_settings)
            predictions = prediction_run.chosen(spec.predictions, predict_keys)
            session = prediction_run.open_session(
                path, self._config, spec, [*input_hooks, *all_hooks, *spec.prediction_hooks]
            )
        for batch in prediction_run.batches(graph, session, predictions):
            if yield_single_examples:
                yield from prediction_run.examples(batch)
            else:
                yield batch

    def _train_model(
        self, input_fn: Callable[..., Any], hooks: list[Any], listeners: list[Any]
    ) -> Any:
        """Build the training graph, train, and return the last loss."""
        strategy, config = self._config.train_distribute, self._config
        if run_config_checks.has_replicas(strategy):
            config = config.replace(
                session_config=strategy.update_config_proto(config.session_config)
            )
            with graphs.Graph().as_default() as graph:
                with strategy.scope():
                    spec, input_hooks = self._replicated_spec(
                        graph, input_fn, _MODES.TRAIN, strategy
                    )
                    warm_starting.apply(self._warm_start_settings)
                step = global_steps.get_global_step(graph)
                return training_run.train(spec, config, step, [*input_hooks, *hooks], listeners)
        device = training_run.device_function(config)
        with graphs.Graph().as_default() as graph, graph.device(device):
            spec, input_hooks = self._spec(graph, input_fn, _MODES.TRAIN)
            warm_starting.apply(self._warm_start_settings)
            step = global_steps.get_global_step(graph)
            return training_run.train(spec, config, step, [*input_hooks, *hooks], listeners)

    def _spec(self, graph: graphs.Graph, input_fn: Callable[..., Any], mode: str) -> Any:
        """Add the model to the default graph. Return its spec, and the hooks of its input."""
        self._start_graph(graph)
        result = self._call_input_fn(input_fn, mode)
        features, labels, input_hooks = calls.parse_input(result)
        return self._call_model_fn(features, labels, mode, self.config), input_hooks

    def _replicated_spec(
        self, graph: graphs.Graph, input_fn: Callable[..., Any], mode: str, strategy: Any
    ) -> Any:
        """Add the model to the default graph for all replicas, as `_spec` does for one."""
        self._start_graph(graph)
        features, labels, input_hooks = replicated_model.inputs(
            strategy, lambda context: self._call_input_fn(input_fn, mode, context)
        )
        build = replicated_model.training if mode == _MODES.TRAIN else replicated_model.evaluation
        spec = build(
            strategy,
            lambda features, labels: self._call_model_fn(features, labels, mode, self.config),
            features,
            labels,
        )
        return spec, input_hooks


def _check_overrides(kind: type[Estimator]) -> None:
    """Check that a subclass keeps the methods of Estimator."""
    names = dict.fromkeys(
        name
        for base in reversed(Estimator.__mro__[:-1])
        for name in vars(base)
        if not name.startswith("__")
    )
    overridden = [name for name in names if getattr(kind, name) is not getattr(Estimator, name)]
    if overridden:
        raise ValueError(
            "Subclasses of Estimator cannot override members of Estimator. "
            f"{kind} does override {overridden}"
        )
