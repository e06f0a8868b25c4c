"""The linear models of `tf.contrib.learn` (contrib/learn/python/learn/estimators/linear.py)."""

from collections.abc import Iterable, Sequence
from typing import Any

from capstan.contrib.learn import dual_ascent, head_estimators, heads
from capstan.contrib.linear_optimizer import sdca_optimizer
from capstan.estimator.canned import linear


class LinearClassifier(head_estimators.Classifier):
    """A linear classifier, as `tf.estimator.LinearClassifier`.

    The arguments are those of `LinearEstimator` and of `multi_class_head`. `optimizer` may be a
    `tf.contrib.linear_optimizer.SDCAOptimizer`, for two classes and without a centered bias.

    Raises:
        ValueError: as `LinearEstimator` and `multi_class_head`, or the arguments do not fit an
            SDCAOptimizer.
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
        if isinstance(optimizer, sdca_optimizer.SDCAOptimizer):
            _check_dual_ascent(enable_centered_bias, n_classes == 2, "n_classes=2")
            model = dual_ascent.model_fn(
                head, feature_columns, optimizer.as_linear_sdca(), weight_column_name,
                "logistic_loss",
            )  # fmt: skip
        else:
            model = _model(head, feature_columns, optimizer, gradient_clip_norm)
        super().__init__(model, model_dir, config, feature_engineering_fn)


class LinearRegressor(head_estimators.Regressor):
    """A linear regressor, as `tf.estimator.LinearRegressor`.

    The arguments are those of `LinearEstimator` and of `regression_head`. `optimizer` may be a
    `tf.contrib.linear_optimizer.SDCAOptimizer`, for one label and without a centered bias.

    Raises:
        ValueError: as `LinearEstimator` and `regression_head`, or the arguments do not fit an
            SDCAOptimizer.
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
        if isinstance(optimizer, sdca_optimizer.SDCAOptimizer):
            _check_dual_ascent(enable_centered_bias, label_dimension == 1, "label_dimension=1")
            model = dual_ascent.model_fn(
                head, feature_columns, optimizer.as_linear_sdca(), weight_column_name,
                "squared_loss",
            )  # fmt: skip
        else:
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
        if isinstance(optimizer, sdca_optimizer.SDCAOptimizer):
            raise ValueError("LinearEstimator does not support SDCA optimizer.")  # noqa: TRY004
        model = _model(head, feature_columns, optimizer, gradient_clip_norm)
        super().__init__(model, model_dir, config, feature_engineering_fn)


def _check_dual_ascent(has_centered_bias: bool, has_one_logit: bool, needed: str) -> None:
    if has_centered_bias:
        raise ValueError("enable_centered_bias is not supported with SDCA")
    if not has_one_logit:
        raise ValueError(f"SDCA only applies for {needed}.")


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
