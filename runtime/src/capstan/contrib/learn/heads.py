"""The heads that model functions of `tf.contrib.learn` call.

Source: contrib/learn/python/learn/estimators/head.py.

def model_fn(features, labels, mode):
    head = tf.contrib.learn.multi_class_head(n_classes=3)
    hidden = tf.layers.dense(features["x"], 10, tf.nn.relu)
    return head.create_model_fn_ops(features, mode, labels, optimize, logits_input=hidden)

The arguments that all heads take: `label_name` is the key of the labels in a dictionary,
`weight_column_name` is the feature with the weights of the examples, and `head_name` is the scope
of the head's variables and the end of the names of its metrics. With `enable_centered_bias`, a
variable learns the mean logits by itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import array_ops, math_ops
from capstan.contrib.learn import class_heads, head_losses, single_head
from capstan.contrib.learn import multi_head as several

Head = single_head.Head
no_op_train_fn = several.no_op_train_fn


def regression_head(
    label_name: str | None = None, weight_column_name: str | None = None,
    label_dimension: int = 1, enable_centered_bias: bool = False, head_name: str | None = None,
    link_fn: Callable[[Any], Any] | None = None,
) -> Head:  # fmt: skip
    """Return the head of a regressor with the squared error.

    `link_fn` computes the predictions from the logits.

    Raises:
        ValueError: `label_dimension` is not positive.
    """
    settings = single_head.Settings(label_name, weight_column_name, enable_centered_bias, head_name)
    link_fn = link_fn or array_ops.identity
    return class_heads.RegressionHead(label_dimension, settings, head_losses.mean_squared, link_fn)


def poisson_regression_head(
    label_name: str | None = None, weight_column_name: str | None = None,
    label_dimension: int = 1, enable_centered_bias: bool = False, head_name: str | None = None,
) -> Head:  # fmt: skip
    """Return the head of a regressor whose predictions are rates of Poisson distributions.

    Raises:
        ValueError: `label_dimension` is not positive.
    """
    settings = single_head.Settings(label_name, weight_column_name, enable_centered_bias, head_name)
    return class_heads.RegressionHead(label_dimension, settings, head_losses.poisson, math_ops.exp)


def multi_class_head(
    n_classes: int, label_name: str | None = None, weight_column_name: str | None = None,
    enable_centered_bias: bool = False, head_name: str | None = None,
    thresholds: Sequence[float] | None = None, metric_class_ids: Sequence[int] | None = None,
    loss_fn: Callable[..., Any] | None = None, label_keys: Sequence[str] | None = None,
) -> Head:  # fmt: skip
    """Return the head of a classifier whose examples have one class: a number, or a label key.

    Two classes have one logit, and the metrics of `thresholds`. More classes have a logit each, and
    the metrics of `metric_class_ids`. `loss_fn` takes `labels`, `logits` and `weights`.

    Raises:
        ValueError: there are fewer than two classes, `metric_class_ids` or `label_keys` are given
            for two classes, `label_keys` has another size, a class of the metrics is unknown, or
            `loss_fn` does not take the arguments.
    """
    if not n_classes or n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for classification: {n_classes}.")
    settings = single_head.Settings(label_name, weight_column_name, enable_centered_bias, head_name)
    loss = head_losses.custom(loss_fn)
    if n_classes > 2:
        return class_heads.MultiClassHead(n_classes, settings, loss, metric_class_ids, label_keys)
    if metric_class_ids:
        raise ValueError("metric_class_ids invalid for n_classes==2.")
    if label_keys:
        raise ValueError("label_keys is not supported for n_classes=2.")
    return class_heads.BinaryLogisticHead(settings, loss, thresholds)


def binary_svm_head(
    label_name: str | None = None, weight_column_name: str | None = None,
    enable_centered_bias: bool = False, head_name: str | None = None,
    thresholds: Sequence[float] | None = None,
) -> Head:  # fmt: skip
    """Return the head of a support vector machine of two classes. `thresholds` has no effect."""
    settings = single_head.Settings(label_name, weight_column_name, enable_centered_bias, head_name)
    return class_heads.BinarySvmHead(settings)


def multi_label_head(
    n_classes: int, label_name: str | None = None, weight_column_name: str | None = None,
    enable_centered_bias: bool = False, head_name: str | None = None,
    thresholds: Sequence[float] | None = None, metric_class_ids: Sequence[int] | None = None,
    loss_fn: Callable[..., Any] | None = None,
) -> Head:  # fmt: skip
    """Return the head of a classifier whose examples have any number of classes.

    Labels are zeros and ones of shape [batch, n_classes], or a SparseTensor of classes.
    `thresholds` has no effect.

    Raises:
        ValueError: there are fewer than two classes, a class of the metrics is unknown, or
            `loss_fn` does not take `labels`, `logits` and `weights`.
    """
    if n_classes < 2:
        raise ValueError("n_classes must be > 1 for classification.")
    settings = single_head.Settings(label_name, weight_column_name, enable_centered_bias, head_name)
    loss = head_losses.custom(loss_fn)
    return class_heads.MultiLabelHead(n_classes, settings, loss, metric_class_ids)


def loss_only_head(loss_fn: Callable[[], Any], head_name: str | None = None) -> Head:
    """Return a head of `multi_head` with the loss, or the list of losses, of a function."""
    return several.LossOnlyHead(loss_fn, head_name)


def multi_head(heads: Sequence[Any], loss_weights: Sequence[float] | None = None) -> Head:
    """Return a head that has several heads with names, and the weighted sum of their losses.

    Raises:
        ValueError: a head has no name, or the sizes differ.
    """
    return several.MultiHead(heads, loss_weights)
