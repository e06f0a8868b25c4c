"""Kernels of the cross entropy of logits and labels, with its gradient by the logits.

A GPU computes all that comes between two reductions in one pass (`core.elementwise`).
"""

from typing import Any

import numpy as np

from capstan.core import elementwise
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import nn
from capstan.kernels.memory import beside, is_on_host, numbers, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _dense(node: NodeContext) -> Function:
    return _dense_loss if node.hardware.is_host else _dense_in_passes(node)


def _sparse(node: NodeContext) -> Function:
    return _sparse_loss if node.hardware.is_host else _sparse_in_passes(node)


def _of_one_shape(logits: Array, labels: Array) -> tuple[Array, Array]:
    """Return logits and labels, broadcast to one shape of two dimensions."""
    if logits.shape != labels.shape:
        try:
            logits, labels = np.broadcast_arrays(logits, labels)
        except ValueError:
            raise invalid(
                "logits and labels must be broadcastable: logits_size="
                f"{show(logits.shape)} labels_size={show(labels.shape)}"
            ) from None
    if logits.ndim != 2:
        raise invalid(f"logits must be 2-dimensional, but have shape {show(logits.shape)}")
    return logits, labels


def _dense_loss(
    logits: Array, labels: Array, loss: Array | None = None, slope: Array | None = None
) -> tuple[Any, Array]:
    """Return the loss of each row, and the gradient softmax(logits) - labels."""
    logits, labels = _of_one_shape(logits, labels)
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
    """Return the loss of each row, and the gradient softmax(logits) - one_hot(labels)."""
    _check(logits, labels)
    rows, classes = logits.shape
    if classes <= nn.NARROW and logits.size >= classes * classes:
        return _narrow_sparse_loss(logits, labels, loss, slope)
    result = nn.shifted(logits, slope)
    at = (np.arange(rows), labels)
    chosen = result[at]
    np.exp(result, result)
    total = nn.SUM(result, -1)
    np.divide(result, total[:, None], result)
    result[at] -= 1
    return np.subtract(np.log(total, total), chosen, loss), nn.into(result, slope)


def _check(logits: Array, labels: Array) -> None:
    """Require a label for each row, and a class for each label that is in host memory."""
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


def _recorder(
    node: NodeContext, logits: int, labels: int = 0
) -> tuple[elementwise.Recorder, list[Any], list[Any]]:
    """Return a recorder with so many inputs that are like logits, and so many like labels."""
    recorder = elementwise.Recorder(np.dtype(node.attrs["T"].as_numpy_dtype))
    numbers = [recorder.input() for _ in range(logits)]
    return recorder, numbers, [recorder.input(dtype=np.uint64) for _ in range(labels)]


def _dense_in_passes(node: NodeContext) -> Function:
    """Return the function that computes the same as `_dense_loss` on a device."""
    recorder, (logits, top), _ = _recorder(node, 2)
    exponentials = node.hardware.compile(recorder.program([np.exp(logits - top)]))
    recorder, (logits, top, labels, power, total), _ = _recorder(node, 5)
    part = labels * np.log(total) - (logits - top) * labels
    rest = node.hardware.compile(recorder.program([part, power / total - labels]))

    def run(
        logits: Array, labels: Array, loss: Array | None = None, slope: Array | None = None
    ) -> tuple[Any, Array]:
        logits, labels = _of_one_shape(logits, labels)
        if not logits.size:
            return nn.SUM(logits, -1, None, loss), nn.into(logits.copy(), slope)
        top = logits.max(-1, keepdims=True)
        (power,) = exponentials((logits, top))
        part, found = rest((logits, top, labels, power, nn.SUM(power, -1, None, None, True)))
        return nn.SUM(part, -1, None, loss), nn.into(found, slope)

    return run


def _sparse_in_passes(node: NodeContext) -> Function:
    """Return the function that computes the same as `_sparse_loss` on a device.

    Nothing waits for labels in the memory of a device. As on a GPU of TensorFlow, the loss and the
    gradient of a row whose label is no class are then NaN.
    """
    recorder, (logits, top), (label, column, last) = _recorder(node, 2, 3)
    shifted = logits - top
    chosen: Any = np.where(label == column, shifted, np.where(label <= last, 0.0, np.nan))
    first = node.hardware.compile(recorder.program([np.exp(shifted), chosen]))
    recorder, (power, total), (label, column, last) = _recorder(node, 2, 3)
    difference = power / total - np.where(label == column, 1.0, 0.0)
    slope: Any = np.where(label <= last, difference, np.nan)
    slopes = node.hardware.compile(recorder.program([slope]))
    recorder, (total, sum_of_chosen), _ = _recorder(node, 2)
    losses = node.hardware.compile(recorder.program([np.log(total) - sum_of_chosen]))

    def run(
        logits: Array, labels: Array, loss: Array | None = None, slope: Array | None = None
    ) -> tuple[Any, Array]:
        _check(logits, labels)
        if not logits.size:
            return nn.SUM(logits, -1, None, loss), nn.into(logits.copy(), slope)
        column = numbers(logits.shape[1], logits).view(np.uint64)
        label = beside(labels, logits).astype(np.int64, copy=False).view(np.uint64)[:, None]
        classes = (label, column, column[-1:])
        power, chosen = first((logits, logits.max(-1, keepdims=True), *classes))
        total = nn.SUM(power, -1, None, None, True)
        (found,) = slopes((power, total, *classes), () if slope is None else (slope,))
        sums = (total.reshape(-1), nn.SUM(chosen, -1))
        (lost,) = losses(sums, () if loss is None else (loss,))
        return lost, found

    return run


register(Kernel("SoftmaxCrossEntropyWithLogits", _dense, out=True))
register(Kernel("SparseSoftmaxCrossEntropyWithLogits", _sparse, out=True))
