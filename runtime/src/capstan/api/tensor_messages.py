"""Conversion of arrays to and from TensorProto (python/framework/tensor_util.py)."""

from typing import Any

import numpy as np

from capstan.core import tensor_proto
from capstan.core.arrays import Array
from capstan.framework import convert
from capstan.framework import graph as graphs

__all__ = ["make_ndarray", "make_tensor_proto"]


def make_tensor_proto(
    values: Any,
    dtype: Any = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Return a TensorProto of the constant that `tf.constant` makes of the same arguments.

    With `allow_broadcast`, one value fills the shape, and other values must have the shape.

    Raises:
        TypeError: the values do not fit `dtype`, or `verify_shape` is true and they do not have the
            shape `shape`.
        ValueError: the values do not fit into the shape.
    """
    if allow_broadcast and shape is not None and np.size(values) not in (1, np.prod(shape)):
        raise ValueError(
            f"{np.size(values)} values do not fit into a tensor of the shape {list(shape)}: pass "
            "one value, or a value for each element"
        )
    with graphs.Graph().as_default():
        constant = convert.constant(values, dtype, shape=shape)
    array = constant.op.get_attr("value")
    if verify_shape and np.shape(values) != array.shape:
        raise TypeError(f"Expected Tensor's shape: {array.shape}, got {np.shape(values)}.")
    return tensor_proto.make(array)


def make_ndarray(tensor: Any) -> Array:
    """Return the array in a TensorProto. Strings are an object array of bytes.

    `op.get_attr("value")` of a constant is an array in Capstan, and a TensorProto in TensorFlow.
    The function returns a copy of such an array.

    Raises:
        ValueError: the message is not valid.
    """
    return tensor.copy() if isinstance(tensor, np.ndarray) else tensor_proto.ndarray(tensor)
