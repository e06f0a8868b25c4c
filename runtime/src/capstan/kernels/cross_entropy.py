"""Kernels of the cross entropy of logits and labels, with its gradient by the logits."""

from typing import Any

import numpy as np

from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import nn
from capstan.kernels.arithmetic import constantly
from capstan.kernels.memory import beside, is_on_host, numbers, on_host
from capstan.kernels.registry import Kernel, register
from capstan.kernels.rejection import invalid


def _broadcast(logits: Array, labels: Array) -> tuple[Array, Array]:
    """Return logits and labels, broadcast to one shape."""
    try:
        wide_logits, wide_labels = np.broadcast_arrays(logits, labels)
    except ValueError:
        raise invalid(
            "logits and labels must be broadcastable: logits_size="
            f"{show(logits.shape)} labels_size={show(labels.shape)}"
        ) from None
    return wide_logits, wide_labels


def _dense_loss(
    logits: Array, labels: Array, loss: Array | None = None, slope: Array | None = None
) -> tuple[Any, Array]:
    """Return the loss of each row, and the gradient softmax(logits) - labels."""
    if logits.shape != labels.shape:
        logits, labels = _broadcast(logits, labels)
    if logits.ndim != 2:
        raise invalid(f"logits must be 2-dimensional, but have shape {show(logits.shape)}")
    result = nn.shifted(logits, slope)
    weighted = np.multiply(result, labels)
    np.exp(result, result)
    total = nn.SUM(result, -1, None, None, True)
    np.divide(result, total, result)
    np.subtract(result, labels, result)
    np.subtract(np.multiply(labels, np.log(total, total)), weighted, weighted)
    return nn.SUM(weighted, -1, None, loss), nn.into(result, slope)


def _sparse_loss(
    logits: Array, labels: Array, loss: Array | None = None, slope: Array | None = None
) -> tuple[Any, Array]:
    """Return the loss of each row, and the gradient softmax(logits) - one_hot(labels).

    Nothing waits for labels in the memory of a device. As on a GPU of TensorFlow, the loss and the
    gradient of a row whose label is no class are then NaN.
    """
    if labels.shape != logits.shape[:1]:
        raise invalid(
            f"logits and labels must have the same first dimension, got logits shape "
            f"{show(logits.shape)} and labels shape {show(labels.shape)}"
        )
    rows, classes = logits.shape
    # A negative label that is read as an unsigned integer is also too large.
    unsigned = np.uint32 if labels.itemsize == 4 else np.uint64
    is_wrong = is_on_host(labels) and rows and labels.view(unsigned).max() >= classes
    if is_wrong or (rows and not classes):
        raise _outside(on_host(labels), classes)
    if is_on_host(logits) and classes <= nn.NARROW and logits.size >= classes * classes:
        return _narrow_sparse_loss(logits, labels, loss, slope)
    result = nn.shifted(logits, slope)
    near_labels = beside(labels, logits)
    is_class = np.logical_and(near_labels >= 0, near_labels < classes)
    at = (numbers(rows, logits), np.where(is_class, near_labels, 0))
    chosen = result[at]
    np.exp(result, result)
    total = np.where(is_class, nn.SUM(result, -1), logits.dtype.type(np.nan))
    np.divide(result, total[:, None], result)
    result[at] -= 1
    return np.subtract(np.log(total, total), chosen, loss), nn.into(result, slope)


def _narrow_sparse_loss(
    logits: Array, labels: Array, loss: Array | None, slope: Array | None
) -> tuple[Any, Array]:
    """Return the same as `_sparse_loss`, computed on transposed logits.

    With one class per row, reductions and the selection of labels access contiguous memory.
    """
    rows = len(labels)
    columns = logits.T.copy()
    flat = columns.reshape(-1)
    at = labels * rows + np.arange(rows)
    np.subtract(columns, columns.max(0), columns)
    chosen = flat.take(at)
    np.exp(columns, columns)
    total = nn.SUM(columns, 0)
    np.divide(columns, total, columns)
    flat[at] -= columns.dtype.type(1)
    losses = np.subtract(np.log(total, total), chosen, loss)
    return losses, np.ascontiguousarray(columns.T) if slope is None else nn.into(columns.T, slope)


def _outside(labels: Array, classes: int) -> Exception:
    wrong = next(label for label in labels.tolist() if not 0 <= label < classes)
    return invalid(
        f"Received a label value of {wrong} which is outside the valid range of [0, {classes}).  "
        f"Label values: {' '.join(map(str, labels.tolist()))}"
    )


register(Kernel("SoftmaxCrossEntropyWithLogits", constantly(_dense_loss), out=True))
register(Kernel("SparseSoftmaxCrossEntropyWithLogits", constantly(_sparse_loss), out=True))
