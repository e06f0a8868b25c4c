"""The labels, weights and logits that a head gets, checked and with the same number of axes.

Logits have the shape (D0, ..., DN, dimension); in most programs it is (examples, dimension).
Source: tensorflow/python/estimator/canned/head.py.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from capstan.api import (
    array_ops,
    check_ops,
    check_ranks,
    context,
    control_flow_ops,
    feature_column,
    reduce_ops,
    sparse_ops,
)
from capstan.api.feature_column import columns, dense
from capstan.api.scoped import scoped
from capstan.core import dtypes
from capstan.framework import convert, sparse_tensor
from capstan.framework.raw import raw

_LOGITS = "logits shape must be [D0, D1, ... DN, logits_dimension]"


def labels_like(labels: Any, logits: Any, dimension: int) -> Any:
    """Return the labels with `dimension` numbers for each example.

    Labels without the last axis get it.

    Raises:
        ValueError: there are no labels, they are sparse, or their static shape does not fit.
    A step raises InvalidArgumentError if the shape does not fit.
    """
    if labels is None:
        raise ValueError(
            "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check "
            "that your data contain your label feature. Check that your input_fn properly parses "
            "and returns labels."
        )
    with scoped(None, "labels", (labels, logits)) as scope:
        labels = sparse_ops.convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, sparse_tensor.SparseTensor):
            raise ValueError(
                "SparseTensor labels are not supported. labels must be a Tensor of shape "
                f"[D0, D1, ..., DN, {dimension}], e.g. [batch_size, {dimension}]. Suggested Fix "
                "(1): Check the label feature in your data. Each example must contain "
                f"{dimension} value(s). If not, your choice of label was probably incorrect. "
                "Suggested Fix (2): In your input_fn, use tf.sparse_tensor_to_dense() to turn "
                "labels into a Tensor."
            )
        labels = _with_last_axis(labels, logits)
        message = (
            f"labels shape must be [D0, D1, ... DN, {dimension}]. Suggested Fix: check your "
            "n_classes argument to the estimator and/or the shape of your label."
        )
        rank = check_ranks.assert_rank_at_least(labels, 2, message=message)
        last = labels.shape.as_list()[-1] if labels.shape.ndims is not None else None
        if last not in (None, dimension):
            raise ValueError(
                f"Mismatched label shape. Expected labels dimension={dimension}.  Received {last}. "
                "Suggested Fix:If your classifier expects one-hot encoding label,check your "
                "n_classes argument to the estimator and/or the shape of your label. Otherwise, "
                "check the shape of your label."
            )
        with context.control_dependencies([rank]):
            expected = array_ops.concat([raw.Shape(logits)[:-1], [dimension]], 0)
            same = _same_shape(expected, labels, "labels", message)
        with context.control_dependencies([same]):
            return raw.Identity(labels, name=scope)


def weights_like(
    features: Mapping[str, Any], weight_column: Any, logits: Any, *, is_per_logit: bool = False
) -> Any:
    """Return the weights of the examples, or 1 if there is no `weight_column`.

    `weight_column` is the name of a feature, or a numeric column. The weights have the shape of the
    logits without the last axis, or with a last axis of size 1. If `is_per_logit`, they may also
    have the shape of the logits.

    Raises:
        TypeError: `weight_column` is something else.
        ValueError: the feature is not a number.
    A step raises InvalidArgumentError if the shape does not fit.
    """
    if weight_column is None:
        return 1.0
    message = "weights shape must be [D0, D1, ... DN] or [D0, D1, ... DN, 1]"
    if is_per_logit:
        message = (
            "weights shape must be [D0, D1, ... DN], [D0, D1, ... DN, 1] or [D0, D1, ... DN, "
            "logits_dimension]"
        )
    with scoped(None, "weights", (*features.values(), logits)) as scope:
        column = weight_column
        if isinstance(column, str):
            column = feature_column.numeric_column(column, (1,))
        if not isinstance(column, dense.NumericColumn):
            raise TypeError(
                "Weight column must be either a string or _NumericColumn. Given type: "
                f"{type(column)}."
            )
        weights = column.transformed(columns.Features(features))
        if not (weights.dtype.is_floating or weights.dtype.is_integer):
            raise ValueError(
                f"Weight column should be castable to float. Given dtype: {weights.dtype}"
            )
        weights = _with_last_axis(raw.Cast(weights, DstT=dtypes.float32), logits)
        single = array_ops.concat([raw.Shape(logits)[:-1], [1]], 0)
        allowed = [single, raw.Shape(logits)] if is_per_logit else [single]
        check = _one_of_shapes(allowed, weights, "weights", message)
        with context.control_dependencies([check]):
            return raw.Identity(weights, name=scope)


def checked_logits(logits: Any, dimension: int) -> Any:
    """Return the logits as float32. Their last axis must have the size `dimension`.

    Raises:
        ValueError: the static shape is another one.
    A step raises InvalidArgumentError if the shape is another one.
    """
    with scoped(None, "logits", (logits,)) as scope:
        logits = raw.Cast(logits, DstT=dtypes.float32)
        rank = check_ranks.assert_rank_at_least(logits, 2, message=_LOGITS)
        last = logits.shape.as_list()[-1] if logits.shape.ndims is not None else None
        if last not in (None, dimension):
            raise ValueError(f"{_LOGITS}, got {logits.shape}.")
        if last is not None:
            return logits
        with context.control_dependencies([rank]):
            same = check_ops.assert_equal(dimension, raw.Shape(logits)[-1], message=_LOGITS)
        with context.control_dependencies([same]):
            return raw.Identity(logits, name=scope)


def in_range(labels: Any, n_classes: int, message: str | None = None) -> Any:
    """Return the labels. A step raises InvalidArgumentError unless 0 <= labels < `n_classes`.

    `message` is the text of the error.
    """
    with scoped(None, "assert_range", (labels,)):
        labels = convert.convert_to_tensor(labels)
        limit = raw.Cast(n_classes - 1, DstT=labels.dtype)
        above, below = message or "Labels must <= n_classes - 1", message or "Labels must >= 0"
        checks = [
            check_ops.assert_less_equal(labels, limit, message=above),
            check_ops.assert_non_negative(labels, message=below),
        ]
        with context.control_dependencies(checks):
            return raw.Identity(labels)


def check_loss_fn(loss_fn: Callable[..., Any]) -> None:
    """Check the arguments of the loss function of a program: labels, logits and maybe features.

    Raises:
        ValueError: an argument is missing, or has an unknown name.
    """
    names = list(inspect.signature(loss_fn).parameters)
    for name in ("labels", "logits"):
        if name not in names:
            raise ValueError(
                f"loss_fn must contain argument: {name}. Given arguments: {tuple(names)}"
            )
    unknown = [
        name for name in names if name not in ("labels", "logits", "features", "loss_reduction")
    ]
    if unknown:
        raise ValueError(f"loss_fn has unexpected args: {unknown}")


def call_loss_fn(
    loss_fn: Callable[..., Any],
    labels: Any,
    logits: Any,
    features: Mapping[str, Any],
    dimension: int,
) -> Any:
    """Return the losses by the function of a program: `dimension` losses for each example.

    A step raises InvalidArgumentError if they have another shape.
    """
    with scoped(None, "call_loss_fn", (labels, logits)):
        wants_features = "features" in inspect.signature(loss_fn).parameters
        more = {"features": features} if wants_features else {}
        losses = loss_fn(labels=labels, logits=logits, **more)
        expected = array_ops.concat([raw.Shape(logits)[:-1], [dimension]], 0)
        message = f"loss_fn must return Tensor of shape [D0, D1, ... DN, {dimension}]. "
        with context.control_dependencies([_same_shape(expected, losses, "loss", message)]):
            return raw.Identity(losses)


def _with_last_axis(tensor: Any, logits: Any) -> Any:
    ranks = tensor.shape.ndims, logits.shape.ndims
    if None not in ranks and ranks[0] == ranks[1] - 1:
        return raw.ExpandDims(tensor, -1)
    return tensor


def _same_shape(expected: Any, tensor: Any, kind: str, message: str) -> Any:
    return _one_of_shapes([expected], tensor, kind, message)


def _one_of_shapes(allowed: list[Any], tensor: Any, kind: str, message: str) -> Any:
    """Return an operation that fails unless the tensor has one of the shapes."""
    shape = raw.Shape(tensor)
    fits = [reduce_ops.reduce_all(raw.Equal(each, shape)) for each in allowed]
    is_fit = reduce_ops.reduce_any(raw.Pack(fits))
    return control_flow_ops.Assert(
        is_fit, [message, f"expected_{kind}_shape: ", *allowed, f"{kind}_shape: ", shape]
    )
