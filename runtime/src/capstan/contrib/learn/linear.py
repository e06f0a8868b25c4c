"""The linear models of `tf.contrib.learn` (contrib/learn/python/learn/estimators/linear.py)."""

from collections.abc import Iterable, Sequence
from typing import Any

from capstan.contrib.learn import head_estimators, heads
from capstan.estimator.canned import linear


class LinearClassifier(head_estimators.Classifier):
    """A linear classifier, as `tf.estimator.LinearClassifier`.

    The arguments are those of `LinearEstimator` and of `multi_class_head`.

    Raises:
        ValueError: as `LinearEstimator` and `multi_class_head`.
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
        head = heads.multi_class_head(
            n_classes, None, weight_column_name, enable_centered_bias, label_keys=label_keys
        )
        model = _model(head, feature_columns, optimizer, gradient_clip_norm)
        super().__init__(model, model_dir, config, feature_engineering_fn)


class LinearRegressor(head_estimators.Regressor):
    """A linear regressor, as `tf.estimator.LinearRegressor`.

    The arguments are those of `LinearEstimator` and of `regression_head`.

    Raises:
        ValueError: as `LinearEstimator` and `regression_head`.
    """

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
        head = heads.regression_head(
            None, weight_column_name, label_dimension, enable_centered_bias
        )
        model = _model(head, feature_columns, optimizer, gradient_clip_norm)
        super().__init__(model, model_dir, config, feature_engineering_fn)


class LinearEstimator(head_estimators.HeadEstimator):
    """A linear model with any `head`.

    `optimizer` is a name, an Optimizer or a function. The default is Ftrl with the rate 0.2, or
    with `1 / sqrt(columns)` if there are more than 25 columns. `gradient_clip_norm` limits the
    global norm of the gradients. `weight_column_name` and `_joint_weights` have no effect: a head
    has the weights.

    Raises:
        ValueError: an argument is wrong.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        head: heads.Head,
        model_dir: Any = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        _joint_weights: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        model = _model(head, feature_columns, optimizer, gradient_clip_norm)
        super().__init__(model, model_dir, config, feature_engineering_fn)


def _model(
    head: heads.Head, feature_columns: Iterable[Any], optimizer: Any,
    gradient_clip_norm: float | None,
) -> Any:  # fmt: skip
    """Return the function of the model."""
    columns = tuple(feature_columns)
    rate = head_estimators.LINEAR_RATE if optimizer else head_estimators.linear_rate(len(columns))
    model = linear.model_fn(
        head_estimators.core_head(head, is_trained=False), columns,
        head_estimators.optimizer(optimizer, "Ftrl", rate, gradient_clip_norm or None), None, "sum",
    )  # fmt: skip
    return head_estimators.with_names_of_contrib(model, columns)
