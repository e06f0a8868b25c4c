"""The gradient of broadcasting: sum over the axes along which an operand was repeated."""

from typing import Any

from capstan.core import shapes
from capstan.framework.opdef import Gradients, Op, Raw


def summed(op: Op, grads: Gradients, raw: Raw) -> list[Any]:
    """Bring one gradient per operand of a two-operand op to the shape of its operand.

    The axes are found here when the static shapes decide them, else in the step
    (BroadcastGradientArgs), where they become constants once the feeds' shapes are known. A
    gradient of None stays None.
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
    """Axes of the result along which x, and along which y, was repeated; None when unknown.

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
        for mine, other, found in ((size_x, size_y, axes[0]), (size_y, size_x, axes[1])):
            if mine is None and other != 1:
                return None
            if mine == 1:
                found.append(axis)
    for axis in range(rank):
        # A leading axis that an operand lacks must go, be it of size 1.
        for shape, found in ((x, axes[0]), (y, axes[1])):
            if axis < rank - len(shape) and axis not in found:
                found.append(axis)
    return sorted(axes[0]), sorted(axes[1])


def _padded(shape: tuple[int | None, ...], rank: int) -> tuple[int | None, ...]:
    return (1,) * (rank - len(shape)) + shape


def _reduce(grad: Any, operand: Any, axes: list[int], rank: int, raw: Raw) -> Any:
    if grad is None or not axes:
        return grad
    shape = operand.shape.internal
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
