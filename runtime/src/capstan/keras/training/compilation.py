"""`compile` of a model, and what it has chosen (python/keras/engine/training.py)."""

from typing import Any

from capstan.api import distribution_strategy, parameter_server_strategy
from capstan.api.layers import context
from capstan.keras import optimizers
from capstan.keras.optimizers import loss_scale_optimizer
from capstan.keras.training import compiled, predictor, steps, trainability


def _check_is_not_of_servers(strategy: distribution_strategy.Strategy) -> None:
    servers = parameter_server_strategy.ParameterServerStrategy
    if isinstance(strategy, servers) and strategy.extended.task is not None:
        raise NotImplementedError(
            "tf.distribute.experimental.ParameterServerStrategy does not train Keras models. Train "
            "an estimator that tf.keras.estimator.model_to_estimator makes."
        )


class Compilation(predictor.Predictor):
    """A model with a loss, metrics and an optimizer."""

    trainable_weights: list[Any]
    losses: list[Any]
    _dtype_policy: Any
    _made: Any = None
    _trained: Any = None
    _trainability: trainability.Trainability | None = None

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        sample_weight_mode: Any = None,
        weighted_metrics: Any = None,
        target_tensors: Any = None,
        distribute: Any = None,
        *,
        run_eagerly: bool | None = None,
        experimental_run_tf_function: bool = False,
    ) -> None:
        """Choose how the model trains. `experimental_run_tf_function` has no effect.

        `optimizer` is a name, or an optimizer of Keras or of `tf.train`. `loss` is a name, a
        function or a Loss: one for all outputs, or a list or dictionary with one for each.
        `metrics` is a list of names, functions and Metrics, or has a list for each output.
        `weighted_metrics` also use the weights of the examples. With the `sample_weight_mode`
        "temporal", the weights of an output are those of steps, [examples, steps].
        `target_tensors` are tensors of targets, which the program then does not pass as `y`. If the
        inputs are tensors, too, `fit` gets only the number of steps.
        In the scope of a strategy with several replicas, `fit` and `evaluate` divide each batch
        among them.

        Raises:
            ValueError: a name is unknown, or the arguments do not fit the outputs, or
                `run_eagerly` is true, or the policy of the model scales the loss of an optimizer of
                `tf.train`.
            TypeError: `metrics` is not a list and no dictionary.
            NotImplementedError: the call is in the scope of a strategy with several replicas, and
                the model has no inputs of its own. Or it is in that of a ParameterServerStrategy
                of a cluster.
        """
        _refuse_eager(run_eagerly)
        strategy = distribution_strategy.get_strategy()
        _check_is_not_of_servers(strategy)
        has_replicas = strategy.num_replicas_in_sync > 1
        if has_replicas and not self.outputs:
            raise NotImplementedError(
                "A model without inputs of its own does not train in several replicas. Give its "
                "first layer an `input_shape`, or train an estimator that "
                "tf.keras.estimator.model_to_estimator makes."
            )
        self._compiled = compiled.Compiled(
            self._optimizer(optimizer),
            loss,
            loss_weights,
            metrics,
            weighted_metrics,
            sample_weight_mode,
            target_tensors,
            strategy if distribution_strategy.has_strategy() else None,
        )
        self._made = {}
        self._trained = self.trainable_weights if self.outputs else None
        self._trainability = trainability.of_model(self)
        names = self.output_names if self.outputs else None
        self._compiled.check(names)
        if names and not self._compiled.with_loss(names) and not self.losses:
            raise compiled.no_loss()

    @property
    def optimizer(self) -> Any:
        """The optimizer of `compile`."""
        return None if self._compiled is None else self._compiled.optimizer

    def _optimizer(self, identifier: Any) -> Any:
        """Return the optimizer for the argument of `compile`.

        The policy of the model may scale its loss.
        """
        found = optimizers.get(identifier)
        scale = None if self._dtype_policy is None else self._dtype_policy.loss_scale
        if scale is None or isinstance(found, loss_scale_optimizer.LossScaleOptimizer):
            return found
        if not isinstance(found, optimizers.Optimizer):
            raise ValueError(  # noqa: TRY004 - TensorFlow's
                '"optimizer" must be an instance of tf.keras.optimizers.Optimizer when a dtype '
                f"policy with a loss scale is used, but got: {found}. Using policy: "
                f"{self._dtype_policy}"
            )
        return loss_scale_optimizer.LossScaleOptimizer(found, scale)

    def _optimizer_updates(self, loss: Any, weights: list[Any]) -> list[Any]:
        """Return operations that make a step of the optimizer."""
        updates: list[Any] = self.optimizer.get_updates(loss, weights)
        return updates

    @property
    def loss(self) -> Any:
        """The argument `loss` of `compile`."""
        return None if self._compiled is None else self._compiled.loss

    @property
    def loss_functions(self) -> list[Any]:
        """The Loss of each output, in the order of the outputs. None for an output without one."""
        self._require_compiled()
        losses: list[Any] = self._compiled.losses(self.output_names)
        return losses

    @property
    def total_loss(self) -> Any:
        """The loss of a batch without weights of examples, a scalar tensor."""
        self._require_compiled()
        return self._unweighted_steps().objective.loss

    @property
    def targets(self) -> list[Any]:
        """The placeholders of the targets that `total_loss` depends on, or target tensors."""
        self._require_compiled()
        return self._unweighted_steps().all_targets

    def _make_predict_function(self) -> None:
        """Add what `predict` needs to the graph, before several threads call it.

        Programs of TensorFlow 1 that serve a model call this.
        """
        self._ready_graph(None)
        _ = self.state_updates

    def _make_test_function(self) -> None:
        """Add what `evaluate` without weights of examples needs to the graph."""
        self._require_compiled()
        self._unweighted_steps().prepare(trains=False)

    def _make_train_function(self) -> None:
        """Add what `fit` without weights of examples needs to the graph."""
        self._require_compiled()
        self._unweighted_steps().prepare(trains=True)

    @property
    def metrics(self) -> list[Any]:
        """The Metrics of `compile`, in the order of `metrics_names`."""
        if self._compiled is None:
            return []
        names = self.metrics_names
        found = next(iter(self._made.values())).objective.metrics
        return [found[name] for name in names[1:]]

    @property
    def metrics_names(self) -> list[str]:
        """The names of the values that `evaluate` returns."""
        self._require_compiled()
        if not self._made:
            self._unweighted_steps()
        first = next(iter(self._made.values()))
        return ["loss", *first.objective.metrics]

    @property
    def run_eagerly(self) -> bool:
        """Whether the model runs without a graph: never. It cannot be set to true."""
        return False

    @run_eagerly.setter
    def run_eagerly(self, value: Any) -> None:
        _refuse_eager(value)

    def _require_compiled(self) -> None:
        if self._compiled is None:
            raise RuntimeError(
                "You must compile your model before training/testing. Use `model.compile(optimizer,"
                " loss)`."
            )

    def _unweighted_steps(self) -> steps.Steps:
        return self._steps([False] * len(self._names.outputs))

    def _steps(self, is_weighted: list[bool]) -> steps.Steps:
        key = tuple(is_weighted)
        if key not in self._made:
            with context.graph_of(self.outputs[0]).as_default():
                self._made[key] = steps.Steps(self, is_weighted)
        found: steps.Steps = self._made[key]
        return found


def _refuse_eager(run_eagerly: Any) -> None:
    if run_eagerly:
        raise ValueError("You can only set `run_eagerly=True` in eager execution.")
