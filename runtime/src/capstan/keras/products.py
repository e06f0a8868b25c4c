"""Products of tensors: of the `Dot` layer and of `tf.keras.backend` (python/keras/backend.py)."""

from typing import Any

import numpy as np

from capstan.api import array_ops, gather_ops, math_ops, sparse_math_ops
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor


def dot(x: Any, y: Any) -> Any:
    """Return the product along the last axis of `x` and the last axis but one of `y`.

    `x` may be a sparse matrix. The other axes of `x` come first in the result, then those of `y`.
    """
    if isinstance(x, SparseTensor):
        return sparse_math_ops.sparse_tensor_dense_matmul(x, y)
    if x.shape.ndims is None or (x.shape.ndims <= 2 and y.shape.ndims == 2):
        return math_ops.matmul(x, y)
    rank = y.shape.ndims
    rest = [axis for axis in range(rank) if axis != rank - 2] if rank > 1 else []
    columns = array_ops.transpose(y, [max(rank - 2, 0), *rest])
    rows = array_ops.reshape(x, array_ops.stack([-1, raw.Shape(x)[-1]]))
    products = math_ops.matmul(
        rows, array_ops.reshape(columns, array_ops.stack([raw.Shape(columns)[0], -1]))
    )
    outer = [raw.Shape(x)[:-1], gather_ops.gather(raw.Shape(y), np.array(rest, np.int32))]
    result = raw.Reshape(products, array_ops.concat(outer, 0))
    result.set_shape(x.shape.as_list()[:-1] + [y.shape.as_list()[axis] for axis in rest])
    return result


def batch_dot(x: Any, y: Any, axes: Any = None) -> Any:
    """Return the products of the examples in `x` with those in `y`, along one axis of each.

    `axes` is one axis for both tensors, or a pair. By default it is the last axis of `x`, and the
    last axis but one of `y` (the last one if `y` is a matrix). The result has two axes or more: the
    product of two vectors is a vector with one element.

    Raises:
        ValueError: a tensor has fewer than two axes or not the given axis, an axis is that of the
            batch, or the sizes along the axes differ.
    """
    ranks = x.shape.ndims, y.shape.ndims
    if None in ranks or min(ranks) < 2:
        raise ValueError(
            f"Cannot do batch_dot on inputs with rank < 2. Received inputs with shapes {x.shape} "
            f"and {y.shape}."
        )
    if axes is None:
        axes = (-1, -1 if ranks[1] == 2 else -2)
    pair = (axes, axes) if isinstance(axes, int) else tuple(axes)
    if any(isinstance(axis, list | tuple) for axis in pair):
        raise ValueError(
            f"Multiple target dimensions are not supported. Expected: None, int, (int, int), "
            f"Provided: {axes}"
        )
    if not all(-rank <= axis < rank for axis, rank in zip(pair, ranks, strict=True)):
        raise ValueError(
            f"Cannot do batch_dot on inputs with shapes {x.shape} and {y.shape}: they do not have "
            f"the axes {pair}"
        )
    one, other = (axis % rank for axis, rank in zip(pair, ranks, strict=True))
    if not one or not other:
        raise ValueError(
            "Cannot perform batch_dot over axis 0. If your inputs are not batched, add a dummy "
            "batch dimension to your inputs using K.expand_dims(x, 0)"
        )
    sizes = x.shape.as_list()[one], y.shape.as_list()[other]
    if None not in sizes and sizes[0] != sizes[1]:
        raise ValueError(
            f"Cannot do batch_dot on inputs with shapes {x.shape} and {y.shape} with axes={pair}. "
            f"x.shape[{pair[0]}] != y.shape[{pair[1]}] ({sizes[0]} != {sizes[1]})."
        )
    return along(x, y, one, other)


def along(first: Any, second: Any, one: int, other: int) -> Any:
    """Return the products of the examples, summed along the axes `one` and `other`."""
    left = [axis for axis in range(1, first.shape.ndims) if axis != one]
    right = [axis for axis in range(1, second.shape.ndims) if axis != other]
    batch = raw.Shape(first)[:1]
    outer = [
        gather_ops.gather(raw.Shape(tensor), np.array(axes, np.int32))
        for tensor, axes in ((first, left), (second, right))
    ]
    size = raw.Shape(first)[one]
    rows = array_ops.reshape(
        array_ops.transpose(first, [0, *left, one]), array_ops.stack([batch[0], -1, size])
    )
    columns = array_ops.reshape(
        array_ops.transpose(second, [0, other, *right]), array_ops.stack([batch[0], size, -1])
    )
    products = math_ops.matmul(rows, columns)
    known = [first.shape.as_list()[axis] for axis in (0, *left)]
    known += [second.shape.as_list()[axis] for axis in right]
    if len(known) == 1:
        result = raw.Reshape(products, array_ops.stack([batch[0], 1]))
        result.set_shape([known[0], 1])
        return result
    result = raw.Reshape(products, array_ops.concat([batch, *outer], 0))
    result.set_shape(known)
    return result
