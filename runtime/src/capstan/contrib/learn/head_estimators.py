"""The estimators of `tf.contrib.learn` that bring a model, and whose head the program chooses.

Sources: contrib/learn/python/learn/estimators/{dnn,linear,dnn_linear_combined}.py. The models are
those of `capstan.contrib.learn.canned`.
"""

from collections.abc import Callable, Iterable
from typing import Any

from capstan.api import nn, partitioners, scope_block, variable_scope
from capstan.contrib.learn import canned_models as models
from capstan.contrib.learn import estimators, single_head
from capstan.contrib.learn import run_config as run_configs
from capstan.estimator.canned import dnn, dnn_linear_combined, linear
from capstan.train import steps


class _CoreHead:
    """A head of `tf.contrib.learn`, for the models of `tf.estimator`."""

    def __init__(self, head: single_head.Head) -> None:
        self._head = head
        self.logits_dimension = head.logits_dimension

    def create_estimator_spec(
        self, features: Any, mode: str, logits: Any, labels: Any = None, optimizer: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
    ) -> Any:  # fmt: skip
        """Return the ModelFnOps of the head."""

        def minimize(loss: Any) -> Any:
            return optimizer.minimize(loss, global_step=steps.get_global_step())

        return self._head.create_model_fn_ops(
            features, mode, labels, train_op_fn or minimize, logits=logits
        )


class _HeadEstimator(estimators.Estimator):
    """An estimator with the function of a model of `tf.estimator`."""

    def __init__(
        self, model: Callable[..., Any], model_dir: Any, config: Any, feature_engineering_fn: Any
    ) -> None:
        def build(features: Any, labels: Any, mode: str, config: Any) -> Any:
            scope = variable_scope.get_variable_scope()
            with scope_block.variable_scope(scope, custom_getter=models.renamed):
                return model(models.by_name(features), labels, mode, config)

        config = config or run_configs.RunConfig()
        super().__init__(build, model_dir, config, None, feature_engineering_fn)


class DNNEstimator(_HeadEstimator):
    """A model with the logits of `DNNClassifier`, and any `head`, also one of `multi_head`.

    `gradient_clip_norm` limits the global norm of the gradients. `input_layer_min_slice_size` is
    the least size in bytes of a part of an embedding.

    Raises:
        ValueError: `embedding_lr_multipliers` are given, which Capstan does not have, or an
            argument is wrong.
    """

    def __init__(
        self,
        head: Any,
        hidden_units: Iterable[int],
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        optimizer: Any = None,
        activation_fn: Any = nn.relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
    ) -> None:
        models.refuse(False, embedding_lr_multipliers)
        config = config or run_configs.RunConfig()
        partitioner = None
        if input_layer_min_slice_size:
            partitioner = partitioners.min_max_variable_partitioner(
                config.num_ps_replicas, min_slice_size=input_layer_min_slice_size
            )
        model = dnn.model_fn(
            _core(head), hidden_units, feature_columns,
            models.optimizer(optimizer, "Adagrad", gradient_clip_norm), activation_fn, dropout,
            partitioner, False,
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


class LinearEstimator(_HeadEstimator):
    """A linear model with any `head`.

    `weight_column_name` and `_joint_weights` have no effect: a head has the weights.

    Raises:
        ValueError: an argument is wrong.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        head: Any,
        model_dir: Any = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        _joint_weights: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        model = linear.model_fn(
            _core(head), feature_columns, models.optimizer(optimizer, "Ftrl", gradient_clip_norm),
            None, "sum",
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


class DNNLinearCombinedEstimator(_HeadEstimator):
    """A wide and deep model with any `head`.

    `_joint_linear_weights` and `fix_global_step_increment_bug` have no effect: a step counts once.

    Raises:
        ValueError: as DNNEstimator, or there are no columns, or columns without units.
    """

    def __init__(
        self,
        head: Any,
        model_dir: Any = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Iterable[int] | None = None,
        dnn_activation_fn: Any = nn.relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        fix_global_step_increment_bug: bool = False,
        input_layer_partitioner: Any = None,
    ) -> None:
        models.refuse(False, embedding_lr_multipliers)
        model = dnn_linear_combined.model_fn(
            _core(head), linear_feature_columns,
            models.optimizer(linear_optimizer, "Ftrl", gradient_clip_norm), dnn_feature_columns,
            models.optimizer(dnn_optimizer, "Adagrad", gradient_clip_norm), dnn_hidden_units,
            dnn_activation_fn or nn.relu, dnn_dropout, input_layer_partitioner, False, "sum",
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


def _core(head: Any) -> Any:
    return _CoreHead(head)
