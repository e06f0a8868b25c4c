"""The deep networks of `tf.contrib.learn` (contrib/learn/python/learn/estimators/dnn.py)."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from capstan.api import nn
from capstan.contrib.learn import head_estimators, heads
from capstan.estimator.canned import dnn

_LEARNING_RATE: Final = 0.05


class DNNClassifier(head_estimators.Classifier):
    """A classifier with `hidden_units`, as `tf.estimator.DNNClassifier`.

    The arguments are those of `DNNEstimator` and of `multi_class_head`.

    Raises:
        ValueError: as `DNNEstimator` and `multi_class_head`.
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
        head = heads.multi_class_head(
            n_classes, None, weight_column_name, enable_centered_bias, label_keys=label_keys
        )
        model = _model(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
            gradient_clip_norm, config, embedding_lr_multipliers, input_layer_min_slice_size,
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


class DNNRegressor(head_estimators.Regressor):
    """A regressor with `hidden_units`, as `tf.estimator.DNNRegressor`.

    The arguments are those of `DNNEstimator` and of `regression_head`.

    Raises:
        ValueError: as `DNNEstimator` and `regression_head`.
    """

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
        head = heads.regression_head(
            None, weight_column_name, label_dimension, enable_centered_bias
        )
        model = _model(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
            gradient_clip_norm, config, embedding_lr_multipliers, input_layer_min_slice_size,
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


class DNNEstimator(head_estimators.HeadEstimator):
    """A model with the logits of `DNNClassifier`, and any `head`, also one of `multi_head`.

    `optimizer` is a name, an Optimizer or a function, by default Adagrad with the rate 0.05.
    `activation_fn` is a function or one of the names relu, tanh and sigmoid. `gradient_clip_norm`
    limits the global norm of the gradients. `input_layer_min_slice_size` is the least size in bytes
    of a part of an embedding.

    Raises:
        ValueError: `embedding_lr_multipliers` are given, which Capstan does not have, or an
            argument is wrong.
    """

    def __init__(
        self,
        head: heads.Head,
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
        model = _model(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
            gradient_clip_norm, config, embedding_lr_multipliers, input_layer_min_slice_size,
        )  # fmt: skip
        super().__init__(model, model_dir, config, feature_engineering_fn)


def _model(
    head: heads.Head, hidden_units: Iterable[int], feature_columns: Iterable[Any], optimizer: Any,
    activation_fn: Any, dropout: float | None, gradient_clip_norm: float | None, config: Any,
    embedding_lr_multipliers: Any, min_slice_size: int | None,
) -> Any:  # fmt: skip
    """Return the function of the model."""
    head_estimators.refuse_multipliers(embedding_lr_multipliers)
    return dnn.model_fn(
        head_estimators.core_head(head), hidden_units, feature_columns,
        head_estimators.optimizer(optimizer, "Adagrad", _LEARNING_RATE, gradient_clip_norm),
        head_estimators.activation(activation_fn), dropout,
        head_estimators.input_partitioner(config, min_slice_size), False,
    )  # fmt: skip
