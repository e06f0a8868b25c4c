"""Values and shapes that are known while the graph is built (python/framework/tensor_util.py).

Programs import these functions from `python.framework.tensor_util` or `tf.contrib.util`.
"""

from typing import Any

import numpy as np

from capstan.api import check_ops
from capstan.core import tensor_shape
from capstan.framework import convert, known_sizes
from capstan.framework import graph as graphs

__all__ = ["constant_value", "constant_value_as_shape", "get_static_value"]


def constant_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of a tensor if it is known before any step, or None. Do not change it.

    What is no tensor is returned, such as a number or a list. The value of a variable is never
    known.

    With `partial`, the value of packed tensors may be known in part. It is then an array of
    objects, in which None stands for what is not known.
    """
    if not isinstance(tensor, graphs.Tensor):
        return None if check_ops.is_tensor(tensor) else tensor
    value = convert.constant_value(tensor)
    if value is not None or not partial or tensor.op.type != "Pack":
        return value
    if tensor.op.get_attr("axis") != 0:
        return None
    parts = [constant_value(each, partial) for each in tensor.op.inputs]
    packed = np.empty(len(parts), object)
    packed[:] = parts
    return packed


get_static_value = constant_value


def constant_value_as_shape(tensor: graphs.Tensor) -> tensor_shape.TensorShape:
    """Return the shape that a vector of sizes stands for, as far as it is known. -1 is unknown.

    Raises:
        ValueError: a size is less than -1.
    """
    if tensor.shape.ndims == 0:
        value = convert.constant_value(tensor)
        if value is not None and int(value) == -1:
            return tensor_shape.unknown_shape()
    sizes = known_sizes.of(tensor)
    if sizes is None:
        return tensor_shape.unknown_shape(tensor.shape.with_rank(1).as_list()[0])
    if any(size is not None and size < -1 for size in sizes):
        raise ValueError(f"A size of a shape is at least -1. Given: {sizes}")
    return tensor_shape.TensorShape([None if size == -1 else size for size in sizes])


def is_constant(tensor_or_op: graphs.Tensor | graphs.Operation) -> bool:
    """Return whether an operation, or that of a tensor, is a `Const`."""
    op = tensor_or_op.op if isinstance(tensor_or_op, graphs.Tensor) else tensor_or_op
    return op.type == "Const"
