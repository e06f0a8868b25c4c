"""Kernels of the cross entropy of logits and labels, with its gradient by the logits.

A GPU computes loss and gradient together (`core.row_programs`).
"""

from typing import Any

import numpy as np

from capstan.core import row_programs
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.hardware import device
from capstan.kernels import nn, sums
from capstan.kernels.memory import beside, into, is_on_host, on_host
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _dense(node: NodeContext) -> Function:
    return _dense_loss if node.hardware.is_host else _dense_in_rows(node)


def _sparse(node: NodeContext) -> Function:
    return _sparse_loss if node.hardware.is_host else _sparse_in_rows(node)


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
    total = sums.total(result, -1, None, None, True)
    np.divide(result, total, result)
    np.subtract(result, labels, result)
    np.subtract(np.multiply(labels, np.log(total, total)), weighted, weighted)
    return sums.total(weighted, -1, None, loss), into(result, slope)


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
    total = sums.total(result, -1)
    np.divide(result, total[:, None], result)
    result[at] -= 1
    return np.subtract(np.log(total, total), chosen, loss), into(result, slope)


def _check(logits: Array, labels: Array) -> None:
    """Require a label for each row, and a class for each label that is in host memory."""
    for name, value, rank in (("logits", logits, 2), ("labels", labels, 1)):
        if value.ndim != rank:
            raise invalid(f"{name} must be {rank}-D, but got shape {show(value.shape)}")
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
    total = sums.total(columns, 0)
    np.divide(columns, total, columns)
    flat[at] -= columns.dtype.type(1)
    losses = np.subtract(np.log(total, total), chosen, loss)
    return losses, np.ascontiguousarray(columns.T) if slope is None else into(columns.T, slope)


def _outside(labels: Array, classes: int) -> Exception:
    wrong = next(label for label in labels.tolist() if not 0 <= label < classes)
    return invalid(
        f"Received a label value of {wrong} which is outside the valid range of [0, {classes}).  "
        f"Label values: {' '.join(map(str, labels.tolist()))}"
    )


def _dense_in_rows(node: NodeContext) -> Function:
    """Return the function that computes the same as `_dense_loss` on a device."""
    recorder = row_programs.Recorder(node.attrs["T"].as_numpy_dtype)
    row, target = recorder.input(), recorder.input()
    difference = row - recorder.maximum(row)
    power: Any = np.exp(difference)
    total = recorder.sum(power)
    lost = recorder.sum(target * np.log(total) - difference * target)
    both = node.hardware.compile_rows(recorder.program([lost, power / total - target]))

    def run(
        logits: Array, labels: Array, loss: Array | None = None, slope: Array | None = None
    ) -> tuple[Any, Array]:
        logits, labels = _of_one_shape(logits, labels)
        return _both(both, logits, (labels,), loss, slope)

    return run


def _sparse_in_rows(node: NodeContext) -> Function:
    """Return the function that computes the same as `_sparse_loss` on a device.

    Nothing waits for labels in the memory of a device. As on a GPU of TensorFlow, the loss and the
    gradient of a row whose label is no class are then NaN.
    """
    recorder = row_programs.Recorder(node.attrs["T"].as_numpy_dtype)
    row, label = recorder.input(), recorder.row_input(np.uint64)
    difference = row - recorder.maximum(row)
    power: Any = np.exp(difference)
    total = recorder.sum(power)
    is_label = recorder.columns(row) == label
    is_class = recorder.sum(np.where(is_label, 1.0, 0.0)) > 0.0
    chosen = recorder.sum(np.where(is_label, difference, 0.0))
    lost: Any = np.where(is_class, np.log(total) - chosen, np.nan)
    change = power / total - np.where(is_label, 1.0, 0.0)
    found: Any = np.where(is_class, change, np.nan)
    both = node.hardware.compile_rows(recorder.program([lost, found]))

    def run(
        logits: Array, labels: Array, loss: Array | None = None, slope: Array | None = None
    ) -> tuple[Any, Array]:
        _check(logits, labels)
        places = beside(labels, logits).astype(np.int64, copy=False).view(np.uint64)
        return _both(both, logits, (places.reshape(-1, 1),), loss, slope)

    return run


def _both(
    run: device.Compiled, logits: Array, labels: tuple[Array], loss: Any, slope: Any
) -> tuple[Any, Array]:
    """Return the loss and the gradient that a program along rows computes."""
    if not logits.size:
        return sums.total(logits, -1, None, loss), into(logits.copy(), slope)
    if loss is None or slope is None:
        lost, found = run((logits, *labels))
        return into(lost.reshape(-1), loss), into(found, slope)
    run((logits, *labels), (loss.reshape(-1, 1), slope))
    return loss, slope


register(Kernel("SoftmaxCrossEntropyWithLogits", _dense, out=True))
register(Kernel("SparseSoftmaxCrossEntropyWithLogits", _sparse, out=True))
