"""The estimators of `tf.contrib.learn` that bring a model.

Sources: contrib/learn/python/learn/estimators/{dnn,linear,dnn_linear_combined}.py. The models are
those of `tf.estimator`, with the names of their variables. Only the layers of deep networks have
`weights` and `biases`, as in TensorFlow. As there, the loss is the mean of the losses of a batch,
and the metrics are those of `MetricKey`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from capstan.api import nn
from capstan.contrib.layers import feature_columns as columns_of
from capstan.contrib.learn import canned_heads, estimators
from capstan.contrib.learn import canned_models as models
from capstan.contrib.learn import run_config as run_configs
from capstan.estimator.canned import dnn, dnn_linear_combined, linear
from capstan.framework import graph as graphs


class DNNClassifier(models.Classifier):
    """A classifier with `hidden_units`, as `tf.estimator.DNNClassifier`.

    Features may be one tensor, for the column with an empty name. `gradient_clip_norm` limits the
    global norm of the gradients.

    Raises:
        ValueError: `enable_centered_bias` or `embedding_lr_multipliers` is given, which Capstan
            does not have, or an argument is wrong.
    """

    def __init__(
        self,
        hidden_units: Iterable[int],
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        activation_fn: Any = nn.relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        label_keys: Sequence[str] | None = None,
    ) -> None:
        models.refuse(enable_centered_bias, embedding_lr_multipliers)
        core = dnn.DNNEstimator(
            canned_heads.classification_head(n_classes, weight_column_name, label_keys),
            hidden_units, feature_columns, model_dir,
            models.optimizer(optimizer, "Adagrad", gradient_clip_norm), activation_fn, dropout,
            config=config or run_configs.RunConfig(),
        )  # fmt: skip
        super().__init__(core, config, feature_engineering_fn, models.classes(bool(label_keys)))


class DNNRegressor(models.Regressor):
    """A regressor with `hidden_units`, as `tf.estimator.DNNRegressor`. Raises as DNNClassifier."""

    def __init__(
        self,
        hidden_units: Iterable[int],
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        activation_fn: Any = nn.relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        label_dimension: int = 1,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
    ) -> None:
        models.refuse(enable_centered_bias, embedding_lr_multipliers)
        core = dnn.DNNEstimator(
            canned_heads.regression_head(label_dimension, weight_column_name),
            hidden_units, feature_columns, model_dir,
            models.optimizer(optimizer, "Adagrad", gradient_clip_norm), activation_fn, dropout,
            config=config or run_configs.RunConfig(),
        )  # fmt: skip
        super().__init__(core, config, feature_engineering_fn, models.scores)


class LinearClassifier(models.Classifier):
    """A linear classifier, as `tf.estimator.LinearClassifier`. Raises as DNNClassifier.

    `_joint_weight` has no effect.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        _joint_weight: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        label_keys: Sequence[str] | None = None,
    ) -> None:
        models.refuse(enable_centered_bias, None)
        core = linear.LinearEstimator(
            canned_heads.classification_head(n_classes, weight_column_name, label_keys),
            feature_columns, model_dir, models.optimizer(optimizer, "Ftrl", gradient_clip_norm),
            config or run_configs.RunConfig(),
        )  # fmt: skip
        super().__init__(core, config, feature_engineering_fn, models.classes(bool(label_keys)))


class LinearRegressor(models.Regressor):
    """A linear regressor, as `tf.estimator.LinearRegressor`. Raises as DNNClassifier."""

    def __init__(
        self,
        feature_columns: Iterable[Any],
        model_dir: Any = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        _joint_weights: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        models.refuse(enable_centered_bias, None)
        core = linear.LinearEstimator(
            canned_heads.regression_head(label_dimension, weight_column_name),
            feature_columns, model_dir, models.optimizer(optimizer, "Ftrl", gradient_clip_norm),
            config or run_configs.RunConfig(),
        )  # fmt: skip
        super().__init__(core, config, feature_engineering_fn, models.scores)


class DNNLinearCombinedClassifier(models.Classifier):
    """A wide and deep classifier, as `tf.estimator.DNNLinearCombinedClassifier`.

    `_joint_linear_weights` and `fix_global_step_increment_bug` have no effect: a training step adds
    one to the global step. Raises as DNNClassifier.
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
        models.refuse(enable_centered_bias, embedding_lr_multipliers)
        core = _combined(
            canned_heads.classification_head(n_classes, weight_column_name, label_keys),
            model_dir, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
            dnn_hidden_units, dnn_activation_fn, dnn_dropout, gradient_clip_norm, config,
        )  # fmt: skip
        super().__init__(core, config, feature_engineering_fn, models.classes(bool(label_keys)))


class DNNLinearCombinedRegressor(models.Regressor):
    """A wide and deep regressor, as `tf.estimator.DNNLinearCombinedRegressor`.

    Raises as DNNClassifier.
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
        models.refuse(enable_centered_bias, embedding_lr_multipliers)
        core = _combined(
            canned_heads.regression_head(label_dimension, weight_column_name),
            model_dir, linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
            dnn_hidden_units, dnn_activation_fn, dnn_dropout, gradient_clip_norm, config,
        )  # fmt: skip
        super().__init__(core, config, feature_engineering_fn, models.scores)


def _combined(
    head: Any,
    model_dir: Any,
    linear_feature_columns: Iterable[Any] | None,
    linear_optimizer: Any,
    dnn_feature_columns: Iterable[Any] | None,
    dnn_optimizer: Any,
    dnn_hidden_units: Iterable[int] | None,
    dnn_activation_fn: Any,
    dnn_dropout: float | None,
    gradient_clip_norm: float | None,
    config: Any,
) -> Any:
    """Return a wide and deep estimator of `tf.estimator`."""
    return dnn_linear_combined.DNNLinearCombinedEstimator(
        head, model_dir, linear_feature_columns,
        models.optimizer(linear_optimizer, "Ftrl", gradient_clip_norm), dnn_feature_columns,
        models.optimizer(dnn_optimizer, "Adagrad", gradient_clip_norm), dnn_hidden_units,
        dnn_activation_fn, dnn_dropout, config=config or run_configs.RunConfig(),
    )  # fmt: skip


def infer_real_valued_columns_from_input_fn(input_fn: Callable[[], Any]) -> list[Any]:
    """Return a column for each feature that an input function returns, which are all numbers.

    Raises:
        ValueError: as `tf.contrib.layers.infer_real_valued_columns`.
    """
    with graphs.Graph().as_default():
        features, _ = input_fn()
        return columns_of.infer_real_valued_columns(features)


def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """Return a column for each array of features: an array, or a dictionary of arrays."""
    return infer_real_valued_columns_from_input_fn(
        lambda: (estimators.input_of(x, epochs=1, shuffle=False)(), None)
    )
