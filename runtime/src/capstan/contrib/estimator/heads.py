"""The heads of `tf.estimator` by their older names, and with the older order of arguments.

Source: tensorflow_estimator/contrib/estimator/python/estimator/{head,multi_head}.py.
"""

from collections.abc import Callable
from typing import Any

from capstan.api.losses import Reduction
from capstan.estimator.canned import heads

binary_classification_head = heads.BinaryClassHead
multi_class_head = heads.MultiClassHead
multi_label_head = heads.MultiLabelHead
logistic_regression_head = heads.LogisticRegressionHead
multi_head = heads.MultiHead


def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> heads.Head:
    """Return a `tf.estimator.RegressionHead`.

    Raises:
        ValueError: `label_dimension` is not positive, or `loss_reduction` or `loss_fn` is wrong.
    """
    return heads.RegressionHead(
        label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name
    )


def poisson_regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> heads.Head:
    """Return a `tf.estimator.PoissonRegressionHead`.

    Raises:
        ValueError: `label_dimension` is not positive, or `loss_reduction` is wrong.
    """
    return heads.PoissonRegressionHead(
        label_dimension, weight_column, loss_reduction, compute_full_loss, name
    )
