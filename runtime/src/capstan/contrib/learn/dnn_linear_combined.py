"""The wide and deep models of `tf.contrib.learn`.

Source: contrib/learn/python/learn/estimators/dnn_linear_combined.py.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from capstan.api import nn
from capstan.contrib.learn import head_estimators, heads
from capstan.estimator.canned import dnn_linear_combined

_DNN_RATE: Final = 0.05


class DNNLinearCombinedClassifier(head_estimators.Classifier):
    """A wide and deep classifier, as `tf.estimator.DNNLinearCombinedClassifier`.

    The arguments are those of `DNNLinearCombinedEstimator` and of `multi_class_head`.

    Raises:
        ValueError: as `DNNLinearCombinedEstimator` and `multi_class_head`.
    """

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Iterable[int] | None = None,
        dnn_activation_fn: Any = nn.relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        label_keys: Sequence[str] | None = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        head = heads.multi_class_head(
            n_classes, None, weight_column_name, enable_centered_bias, label_keys=label_keys
        )
        model = _model(
            head, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
            dnn_hidden_units, dnn_activation_fn, dnn_dropout, gradient_clip_norm,
            embedding_lr_multipliers,
            head_estimators.input_partitioner(config, input_layer_min_slice_size),
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


class DNNLinearCombinedRegressor(head_estimators.Regressor):
    """A wide and deep regressor, as `tf.estimator.DNNLinearCombinedRegressor`.

    The arguments are those of `DNNLinearCombinedEstimator` and of `regression_head`.

    Raises:
        ValueError: as `DNNLinearCombinedEstimator` and `regression_head`.
    """

    def __init__(
        self,
        model_dir: Any = None,
        weight_column_name: str | None = None,
        linear_feature_columns: Iterable[Any] | None = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Iterable[Any] | None = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Iterable[int] | None = None,
        dnn_activation_fn: Any = nn.relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        head = heads.regression_head(
            None, weight_column_name, label_dimension, enable_centered_bias
        )
        model = _model(
            head, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
            dnn_hidden_units, dnn_activation_fn, dnn_dropout, gradient_clip_norm,
            embedding_lr_multipliers,
            head_estimators.input_partitioner(config, input_layer_min_slice_size),
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


class DNNLinearCombinedEstimator(head_estimators.HeadEstimator):
    """A wide and deep model with any `head`.

    The linear half has the default optimizer of `LinearEstimator`, and the deep half that of
    `DNNEstimator`. `gradient_clip_norm` limits the global norm of the gradients of each half.
    `_joint_linear_weights` and `fix_global_step_increment_bug` have no effect: a training step adds
    one to the global step.

    Raises:
        ValueError: `embedding_lr_multipliers` are given, which Capstan does not have, or there are
            no columns, or columns without units.
    """

    def __init__(
        self,
        head: heads.Head,
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
        model = _model(
            head, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
            dnn_hidden_units, dnn_activation_fn, dnn_dropout, gradient_clip_norm,
            embedding_lr_multipliers, input_layer_partitioner,
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


def _model(
    head: heads.Head,
    linear_feature_columns: Iterable[Any] | None,
    linear_optimizer: Any,
    dnn_feature_columns: Iterable[Any] | None,
    dnn_optimizer: Any,
    dnn_hidden_units: Iterable[int] | None,
    dnn_activation_fn: Any,
    dnn_dropout: float | None,
    gradient_clip_norm: float | None,
    embedding_lr_multipliers: Any,
    input_layer_partitioner: Any,
) -> Any:
    """Return the function of the model."""
    head_estimators.refuse_multipliers(embedding_lr_multipliers)
    columns = tuple(linear_feature_columns or ())
    linear_rate = head_estimators.linear_rate(len(columns))
    model = dnn_linear_combined.model_fn(
        head_estimators.core_head(head), columns,
        head_estimators.optimizer(linear_optimizer, "Ftrl", linear_rate, gradient_clip_norm),
        dnn_feature_columns,
        head_estimators.optimizer(dnn_optimizer, "Adagrad", _DNN_RATE, gradient_clip_norm),
        dnn_hidden_units, dnn_activation_fn or nn.relu, dnn_dropout, input_layer_partitioner,
        False, "sum",
    )  # fmt: skip
    return head_estimators.with_names_of_contrib(model, columns)
