"""Cross-entropy losses, and softmax along any axis (python/ops/nn_ops.py, nn_impl.py)."""

import math
from typing import Any

import numpy as np

from capstan import errors
from capstan.api import creation_ops, math_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes, shapes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def logits_of_softmax(probabilities: Any) -> Any:
    """Return the input of the softmax whose output `probabilities` are, or None."""
    return _input_of("Softmax", probabilities)


def logits_of_sigmoid(probabilities: Any) -> Any:
    """Return the input of the sigmoid whose output `probabilities` are, or None."""
    return _input_of("Sigmoid", probabilities)


def _input_of(op: str, output: Any) -> Any:
    is_made = isinstance(output, graphs.Tensor) and output.op.type == op
    return output.op.inputs[0] if is_made else None


def along_last_axis(op: str, logits: Any, axis: Any, name: str | None) -> Any:
    """Apply `op` along `axis`, which may be a tensor. The op itself works along the last axis.

    Raises:
        InvalidArgumentError: there is no such axis.
        ValueError: `axis` is not the last one and the rank is unknown.
    """
    logits = convert.convert_to_tensor(logits)
    rank = logits.shape.ndims
    if isinstance(axis, graphs.Tensor):
        value = convert.constant_value(axis)
        axis = axis if value is None else int(value)
    is_known = not isinstance(axis, graphs.Tensor)
    if axis is None or (is_known and axis in (-1, (rank or 0) - 1)):
        return getattr(raw, op)(logits, name=name)
    if rank is None:
        raise ValueError(f"axis {axis} needs a tensor of known rank: set the shape, or use -1")
    with scoped(name, op.lower(), (logits,)) as scope:
        order = _swapped(axis, rank) if is_known else _dynamically_swapped(axis, rank)
        result = getattr(raw, op)(raw.Transpose(logits, order))
        result = raw.Transpose(result, order, name=scope)
        result.set_shape(logits.shape)
        return result


def _swapped(axis: int, rank: int) -> Any:
    """Return the order of the axes in which `axis` and the last axis have changed places."""
    if not -rank <= axis < rank:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Dimension ({axis}) must be in the range [{-rank}, {rank}) where {rank} is the number "
            "of dimensions in the input.",
        )
    order = np.arange(rank, dtype=np.int32)
    order[[axis, -1]] = order[[-1, axis]]
    return order


def _dynamically_swapped(axis: Any, rank: int) -> Any:
    """Return the same order as a tensor. If there is no such axis, its transposition fails."""
    axis = raw.Select(raw.Less(axis, 0), raw.Add(axis, rank), axis)
    order = convert.convert_to_tensor(np.arange(rank), axis.dtype.base_dtype)
    last = convert.convert_to_tensor(rank - 1, axis.dtype.base_dtype)
    is_last, is_axis = raw.Equal(order, last), raw.Equal(order, axis)
    return raw.SelectV2(is_axis, last, raw.SelectV2(is_last, axis, order))


def _check_named(function: str, sentinel: Any, labels: Any, logits: Any) -> None:
    if sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...)"
        )
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


def softmax_cross_entropy_with_logits_v2(
    labels: Any,
    logits: Any,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Any:
    """Return -sum(labels * log(softmax(logits))) along an axis, by default the last one.

    `dim` is an old name of `axis`.

    The loss has gradients with respect to both the labels and the logits. The labels may have any
    type of numbers. The loss of logits of half precision is computed in float32.

    Raises:
        ValueError: the shapes of labels and logits differ.
    """
    given = axis if dim is None else dim
    with scoped(name, "softmax_cross_entropy_with_logits", (logits, labels)) as scope:
        logits = convert.convert_to_tensor(logits, name="logits")
        labels = convert.convert_to_tensor(labels, name="labels")
        precise = _precise(logits)
        labels = math_ops.cast(labels, precise.dtype)
        losses = _softmax_losses(
            precise, labels, -1 if given is None else given, scope if precise is logits else None
        )
        return losses if precise is logits else math_ops.cast(losses, logits.dtype, scope)


def _precise(logits: Any) -> Any:
    """Return logits of half precision as float32, and other logits unchanged."""
    is_half = logits.dtype.base_dtype in (dtypes.float16, dtypes.bfloat16)
    return math_ops.cast(logits, dtypes.float32) if is_half else logits


def _softmax_losses(logits: Any, labels: Any, along: int, name: str | None) -> Any:
    rank = logits.shape.ndims
    if rank == 2 and labels.shape.ndims == 2 and along in (-1, 1):
        return raw.SoftmaxCrossEntropyWithLogits(logits, labels, name=name)[0]
    if along != -1:
        order = np.append(np.delete(np.arange(rank, dtype=np.int32), along), along)
        logits, labels = raw.Transpose(logits, order), raw.Transpose(labels, order)
    sizes = raw.Shape(logits)
    rows = raw.Slice(sizes, [0], raw.Reshape(raw.Sub(raw.Rank(logits), 1), [1]))
    losses, _ = raw.SoftmaxCrossEntropyWithLogits(_as_matrix(logits), _as_matrix(labels))
    result = raw.Reshape(losses, rows, name=name)
    static = logits.shape.internal
    result.set_shape(tensor_shape.TensorShape(None if static is None else static[:-1]))
    return result


def _as_matrix(value: Any) -> Any:
    sizes = raw.Shape(value)
    last = raw.Slice(sizes, raw.Reshape(raw.Sub(raw.Rank(value), 1), [1]), [1])
    matrix = raw.Reshape(value, raw.ConcatV2([np.array([-1], np.int32), last], 0))
    static = value.shape.internal
    matrix.set_shape(tensor_shape.TensorShape((None, static[-1] if static else None)))
    return matrix


def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Any:
    """Return the loss that `softmax_cross_entropy_with_logits_v2` returns.

    `gradients` treats the labels as constants.
    """
    _check_named("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with scoped(name, "softmax_cross_entropy_with_logits_sg", (logits, labels)) as scope:
        fixed = raw.StopGradient(labels, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(
            fixed, logits, dim if axis is None else axis, scope
        )


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """Return -log(softmax(logits)[label]) for every row. Labels are the indices of classes.

    A label that is not a class makes the step raise InvalidArgumentError.

    Raises:
        ValueError: labels or logits are missing, or the rank of the labels is not the rank of the
            logits minus 1.
    """
    _check_named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with scoped(name, "SparseSoftmaxCrossEntropyWithLogits", (labels, logits)):
        labels, logits = convert.convert_to_tensor(labels), convert.convert_to_tensor(logits)
        rank, label_rank = logits.shape.ndims, labels.shape.ndims
        if rank == 0:
            raise ValueError(f"Logits cannot be scalars - received shape {logits.shape}.")
        if rank is not None and label_rank is not None and label_rank != rank - 1:
            raise ValueError(
                f"Rank mismatch: Rank of labels (received {label_rank}) should equal rank of "
                f"logits minus 1 (received {rank})."
            )
        precise = _precise(logits)
        losses = _sparse_losses(precise, labels)
        return losses if precise is logits else math_ops.cast(losses, logits.dtype)


def _sparse_losses(logits: Any, labels: Any) -> Any:
    if logits.shape.ndims == 2:
        return raw.SparseSoftmaxCrossEntropyWithLogits(logits, labels)[0]
    losses, _ = raw.SparseSoftmaxCrossEntropyWithLogits(
        _as_matrix(logits), raw.Reshape(labels, [-1])
    )
    result = raw.Reshape(losses, raw.Shape(labels))
    result.set_shape(labels.shape)
    return result


def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """Return max(x, 0) - x * z + log(1 + exp(-|x|)) for logits x and labels z, element by element.

    Raises:
        ValueError: labels or logits are missing, or their shapes differ.
    """
    _check_named("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with scoped(name, "logistic_loss", (logits, labels)) as scope:
        logits = convert.convert_to_tensor(logits, name="logits")
        labels = convert.convert_to_tensor(labels, logits.dtype.base_dtype, "labels")
        _check_same(logits, labels, "logits and labels must have the same shape")
        zero = creation_ops.zeros_like(logits)
        is_positive = raw.GreaterEqual(logits, zero)
        positive = raw.Select(is_positive, logits, zero)
        minus_size = raw.Select(is_positive, raw.Neg(logits), logits)
        linear = positive - logits * labels
        return raw.Add(linear, raw.Log1p(raw.Exp(minus_size)), name=scope)


def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: Any = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: Any = None,
) -> Any:
    """Return the sigmoid cross-entropy, with the positive term multiplied by `pos_weight`.

    Raises:
        ValueError: labels or logits are missing, or their shapes differ.
    """
    labels = targets if labels is None else labels
    _check_named("weighted_cross_entropy_with_logits", None, labels, logits)
    with scoped(name, "logistic_loss", (logits, labels)) as scope:
        logits = convert.convert_to_tensor(logits, name="logits")
        labels = convert.convert_to_tensor(labels, logits.dtype.base_dtype, "targets")
        _check_same(logits, labels, "logits and targets must have the same shape")
        factor = 1 + (pos_weight - 1) * labels
        linear = (1 - labels) * logits
        softplus = raw.Log1p(raw.Exp(-abs(logits))) + raw.Relu(-logits)
        return raw.Add(linear, factor * softplus, name=scope)


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Any:
    """Return exp(c) - z * c for the logarithm c of a rate and the target z, element by element.

    With `compute_full_loss`, Stirling's approximation of log(z!) is added for the targets that are
    not in [0, 1].

    Raises:
        ValueError: the shapes differ.
    """
    with scoped(name, "log_poisson_loss", (log_input, targets)):
        log_input = convert.convert_to_tensor(log_input, name="log_input")
        targets = convert.convert_to_tensor(targets, name="targets")
        _check_same(log_input, targets, "log_input and targets must have the same shape")
        loss = raw.Exp(log_input) - log_input * targets
        if not compute_full_loss:
            return loss
        half = convert.constant(0.5, targets.dtype)
        circle = convert.constant(2 * math.pi, targets.dtype)
        stirling = targets * raw.Log(targets) - targets + half * raw.Log(circle * targets)
        zeros, ones = creation_ops.zeros_like(targets), creation_ops.ones_like(targets)
        is_small = raw.LogicalAnd(targets >= zeros, targets <= ones)
        return loss + raw.Select(is_small, zeros, stirling)


def _check_same(x: Any, y: Any, requirement: str) -> None:
    if not shapes.is_compatible(x.shape.internal, y.shape.internal):
        raise ValueError(f"{requirement} ({x.shape} vs {y.shape})")


__all__ = [
    "along_last_axis", "log_poisson_loss", "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2",
    "sparse_softmax_cross_entropy_with_logits", "weighted_cross_entropy_with_logits",
]  # fmt: skip
