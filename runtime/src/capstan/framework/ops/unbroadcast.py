"""The gradient of broadcasting: sum over the axes along which an operand was repeated."""

from collections.abc import Sequence
from typing import Any

from capstan.core import shapes
from capstan.framework.opdef import Gradients, Op, Raw


def summed(op: Op, grads: Gradients, raw: Raw) -> list[Any]:
    """Return the gradients of the two operands of `op`, each summed to the shape of its operand.

    If the static shapes determine the axes of the sum, this function computes the axes. Otherwise
    the graph computes the axes with a BroadcastGradientArgs node. The compiler replaces this node
    by constants when it knows the shapes of the feeds. A gradient of None stays None.
    """
    x, y = op.inputs[0], op.inputs[1]
    x_shape, y_shape = x.shape.internal, y.shape.internal
    static = repeated_axes(x_shape, y_shape)
    if static is not None:
        rank = max(len(x_shape or ()), len(y_shape or ()))
        return [
            _reduce(grad, operand, axes, rank, raw)
            for grad, operand, axes in zip(grads, (x, y), static, strict=True)
        ]
    sizes = [raw.Shape(x), raw.Shape(y)]
    axes_x, axes_y = raw.BroadcastGradientArgs(*sizes)
    return [
        None if grad is None else raw.Reshape(raw.Sum(grad, axes), size)
        for grad, axes, size in zip(grads, (axes_x, axes_y), sizes, strict=True)
    ]


def repeated_axes(x: shapes.Shape, y: shapes.Shape) -> tuple[list[int], list[int]] | None:
    """Return the axes of the result along which x was repeated, and the axes for y.

    Return None if the static shapes do not determine them.

    >>> repeated_axes((None, 3), (3,)), repeated_axes((2, 1), (1, 5)), repeated_axes((None,), (2,))
    (([], [0]), ([1], [0]), None)
    """
    if x is None or y is None:
        return None
    rank = max(len(x), len(y))
    axes: tuple[list[int], list[int]] = ([], [])
    for axis, (size_x, size_y) in enumerate(zip(_padded(x, rank), _padded(y, rank), strict=True)):
        if size_x == size_y and size_x is not None:
            continue
        for size, other, repeated in ((size_x, size_y, axes[0]), (size_y, size_x, axes[1])):
            if size is None and other != 1:
                return None
            if size == 1:
                repeated.append(axis)
    for axis in range(rank):
        # Also sum over a leading axis of size 1 that an operand lacks.
        for shape, repeated in ((x, axes[0]), (y, axes[1])):
            if axis < rank - len(shape) and axis not in repeated:
                repeated.append(axis)
    return sorted(axes[0]), sorted(axes[1])


def _padded(shape: tuple[int | None, ...], rank: int) -> tuple[int | None, ...]:
    return (1,) * (rank - len(shape)) + shape


def _reduce(grad: Any, operand: Any, axes: list[int], rank: int, raw: Raw) -> Any:
    if grad is None:
        return None
    shape = operand.shape.internal
    if not axes:
        # A program may give the gradient of a scalar as a vector of one element.
        is_alike = grad.shape.rank in (None, len(shape))
        return grad if is_alike else raw.Reshape(grad, raw.Shape(operand))
    lacking = [axis for axis in axes if axis < rank - len(shape)]
    if not lacking:
        return raw.Sum(grad, axes, keep_dims=True)
    total = raw.Sum(grad, axes)
    if lacking == axes:
        return total
    unknown = sum(size is None for size in shape)
    if unknown > 1 or 0 in shape:
        return raw.Reshape(total, raw.Shape(operand))
    return raw.Reshape(total, [-1 if size is None else size for size in shape])


def batches(matrices: Sequence[Any], grads: Sequence[Any], raw: Any) -> Sequence[Any]:
    """Sum the gradients of two stacks of matrices over the batch axes that were repeated."""
    x, y = (tensor.shape.internal for tensor in matrices)
    known = (None, None) if x is None or y is None else (x[:-2], y[:-2])
    if repeated_axes(*known) == ([], []):
        return grads
    sizes = [raw.Shape(tensor) for tensor in matrices]
    repeated = raw.BroadcastGradientArgs(
        *(raw.StridedSlice(size, [0], [-2], [1], begin_mask=1) for size in sizes)
    )
    return [
        raw.Reshape(raw.Sum(grad, axes), size)
        for grad, axes, size in zip(grads, repeated, sizes, strict=True)
    ]
