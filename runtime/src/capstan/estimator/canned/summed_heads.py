"""The heads of TensorFlow 1's own Estimators, which sum the losses of a batch by default.

Programs import them from `tensorflow.python.estimator.canned.head`, where their names begin with an
underscore. Source: tensorflow_estimator/python/estimator/canned/head.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api.losses import Reduction
from capstan.estimator.canned import heads


def multi_class_head_with_softmax_cross_entropy_loss(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = Reduction.SUM,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> heads.Head:
    """Return a `tf.estimator.MultiClassHead`.

    Raises:
        ValueError: there are fewer than three classes, or `loss_reduction` or `loss_fn` is wrong.
        TypeError: the vocabulary is not a list.
    """
    return heads.MultiClassHead(
        n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name
    )


def binary_logistic_head_with_sigmoid_cross_entropy_loss(
    weight_column: Any = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = Reduction.SUM,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> heads.Head:
    """Return a `tf.estimator.BinaryClassHead`.

    Raises:
        ValueError: a threshold is not between 0 and 1, or `loss_reduction` or `loss_fn` is wrong.
        TypeError: the vocabulary is not a list.
    """
    return heads.BinaryClassHead(
        weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name
    )


def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = Reduction.SUM,
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
