"""Functions of `tf.compat.v2` that make and arrange arrays (python/ops/array_ops.py)."""

import math
import sys
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.framework import literals

# An import would be a cycle, as the package names all its parts. It is loaded before them.
tf: Any = sys.modules["capstan"]


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Any:
    """Return a tensor that always holds `value`. A single element fills a `shape`.

    Raises:
        TypeError: the elements do not fit `dtype`, or there are several, but not as many as `shape`
            has.
        ValueError: the value is None or a ragged list.
    """
    if shape is not None:
        given = literals.to_array(value, None if dtype is None else dtypes.as_dtype(dtype))
        wanted = tuple(int(size) for size in tf.TensorShape(shape))
        if given.shape not in ((), (1,)) and given.size != math.prod(wanted):
            raise TypeError(f"Expected Tensor's shape: {wanted}, got {given.shape}.")
    return tf.constant(value, dtype, shape, name)


def batch_to_space(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Any:
    """As `tf.batch_to_space_nd`. A number stands for two axes of this size."""
    sizes = np.full(2, block_shape) if isinstance(block_shape, int) else block_shape
    return tf.batch_to_space_nd(input, sizes, crops, name)


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Any:
    """As `tf.math.bincount`, in a name scope."""
    with tf.name_scope(name or "bincount"):
        return tf.math.bincount(arr, weights, minlength, maxlength, dtype)


def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Any:
    """As `tf.io.decode_raw`. With `fixed_length`, that number of bytes of each string counts.

    Zeros complete a shorter string. The step raises InvalidArgumentError if `fixed_length` is no
    multiple of the size of `out_type`.
    """
    if fixed_length is None:
        return tf.io.decode_raw(input_bytes, out_type, little_endian, name)
    return tf.raw_ops.DecodePaddedRaw(
        input_bytes=input_bytes, fixed_length=fixed_length, out_type=dtypes.as_dtype(out_type),
        little_endian=little_endian, name=name,
    )  # fmt: skip


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """As `tf.strings.split`, with a RaggedTensor as the result, or a vector for one string."""
    return tf.strings.split(input, sep, maxsplit, result_type="RaggedTensor", name=name)


def sparse_reduce_max(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """As `tf.sparse.reduce_max`, or as `tf.sparse.reduce_max_sparse` if `output_is_sparse`."""
    reduce = tf.sparse.reduce_max_sparse if output_is_sparse else tf.sparse.reduce_max
    with tf.name_scope(name, "SparseReduceMax"):
        return reduce(sp_input, axis, keepdims)


def sparse_reduce_sum(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """As `tf.sparse.reduce_sum`, or as `tf.sparse.reduce_sum_sparse` if `output_is_sparse`."""
    reduce = tf.sparse.reduce_sum_sparse if output_is_sparse else tf.sparse.reduce_sum
    with tf.name_scope(name, "SparseReduceSum"):
        return reduce(sp_input, axis, keepdims)
