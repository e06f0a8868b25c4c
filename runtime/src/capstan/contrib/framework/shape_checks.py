"""Checks of the shapes of tensors, and functions that make shapes fit.

The behaviour follows contrib/framework/python/framework/tensor_util.py of TensorFlow 1.12.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capstan.api import check_types, cond_ops, context, control_flow_ops, math_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.core.arrays import Array
from capstan.framework import convert, sparse_tensor
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def reduce_sum_n(tensors: Sequence[Any], name: str | None = None) -> Any:
    """Return the sum of all elements of all tensors.

    Raises:
        ValueError: there are no tensors.
    """
    if not tensors:
        raise ValueError("No tensors provided.")
    with scoped(name, "reduce_sum_n", tensors) as scope:
        sums = [reduce_ops.reduce_sum(each, name=f"{each.op.name}/sum") for each in tensors]
        return sums[0] if len(sums) == 1 else math_ops.add_n(sums, name=scope)


def remove_squeezable_dimensions(
    predictions: Any, labels: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Return predictions and labels of the same rank.

    If one of them has one axis more, its last axis, which must have size 1, is removed. If a static
    rank is unknown, the step decides.
    """
    with scoped(name, "remove_squeezable_dimensions", (predictions, labels)):
        predictions = convert.convert_to_tensor(predictions)
        labels = convert.convert_to_tensor(labels)
        ranks = predictions.shape.ndims, labels.shape.ndims
        if None not in ranks:
            if ranks[0] - ranks[1] == 1:
                predictions = raw.Squeeze(predictions, squeeze_dims=[-1])
            elif ranks[1] - ranks[0] == 1:
                labels = raw.Squeeze(labels, squeeze_dims=[-1])
            return predictions, labels
        surplus = raw.Sub(raw.Rank(predictions), raw.Rank(labels))
        return _squeezed_if(predictions, surplus, 1), _squeezed_if(labels, surplus, -1)


def _squeezed_if(tensor: Any, surplus: Any, wanted: int) -> Any:
    if tensor.shape.ndims is not None and not tensor.shape[-1:].is_compatible_with([1]):
        return tensor
    return cond_ops.cond(
        raw.Equal(surplus, wanted), lambda: raw.Squeeze(tensor, squeeze_dims=[-1]), lambda: tensor
    )


def with_same_shape(expected_tensor: Any, tensor: Any) -> Any:
    """Return `tensor`, whose shape must be that of `expected_tensor`, as `with_shape` does."""
    with context.name_scope(f"{tensor.op.name}/", values=[expected_tensor, tensor]):
        shape = expected_tensor.shape
        known = shape.as_list() if shape.is_fully_defined() else raw.Shape(expected_tensor)
        return with_shape(known, tensor)


def with_shape(expected_shape: Any, tensor: Any) -> Any:
    """Return `tensor`, whose shape must be `expected_shape`, a list or an int32 tensor.

    A size of -1 in the list may be any. If a static shape is unknown, the step checks the shape.
    A tensor with one element becomes a scalar if a scalar is expected.

    Raises:
        ValueError: the static shape does not fit, `expected_shape` is not a vector of int32, or
            `tensor` is a SparseTensor.
    A step raises InvalidArgumentError if the shape does not fit.
    """
    if isinstance(tensor, sparse_tensor.SparseTensor):
        raise ValueError("SparseTensor not supported.")  # noqa: TRY004, TensorFlow's error
    expected = _expected(expected_shape, tensor)
    is_known = not isinstance(expected, graphs.Tensor)
    sizes = [None if size == -1 else int(size) for size in expected] if is_known else None
    with context.name_scope(f"{tensor.op.name}/", values=[tensor]):
        may_be_scalar = tensor.shape.is_compatible_with([1]) or tensor.shape.ndims is None
        if sizes == [] and tensor.shape.ndims != 0 and may_be_scalar:
            return raw.Reshape(tensor, np.array([], np.int32))
        if is_known and not tensor.shape.is_compatible_with(sizes):
            raise ValueError(
                f"Invalid shape for tensor {tensor.name}, expected {sizes}, got {tensor.shape}."
            )
        if is_known and tensor.shape.is_fully_defined():
            return tensor
        with context.control_dependencies([_assert_shape(expected, tensor)]):
            checked = raw.Identity(tensor)
        checked.set_shape(tensor_shape.TensorShape(sizes))
        return checked


def _expected(shape: Any, tensor: Any) -> Any:
    """Return a shape as a vector of int32, or as a tensor."""
    if isinstance(shape, tensor_shape.TensorShape):
        shape = [-1 if size is None else size for size in shape.as_list()]
    found: Array | graphs.Tensor
    found = shape if isinstance(shape, graphs.Tensor) else np.asarray(shape)
    if isinstance(found, np.ndarray) and (found.size == 0 or found.dtype == np.int64):
        found = found.astype(np.int32)
    kind = dtypes.as_dtype(found.dtype).base_dtype
    if kind is not dtypes.int32:
        raise ValueError(
            f"Invalid dtype {kind} for shape {shape} expected of tensor {tensor.name}."
        )
    if isinstance(found, np.ndarray) and found.ndim > 1:
        raise ValueError(
            f"Invalid rank {found.ndim} for shape {shape} expected of tensor {tensor.name}."
        )
    return found


def _assert_shape(expected: Any, tensor: Any) -> Any:
    """Return an operation that fails in a step whose tensor has another rank or size."""
    actual = raw.Shape(tensor)
    has_rank = raw.Equal(raw.Size(expected), raw.Rank(tensor))

    def fits() -> Any:
        return reduce_ops.reduce_all(
            raw.LogicalOr(raw.Equal(expected, -1), raw.Equal(expected, actual))
        )

    is_fit = cond_ops.cond(has_rank, fits, lambda: convert.constant(False))
    words = f"Wrong shape for {tensor.name} [expected] [actual]."
    return control_flow_ops.Assert(is_fit, [words, expected, actual])


def assert_scalar_int(tensor: Any, name: str | None = None) -> Any:
    """Return `tensor`, which must be an integer scalar.

    Raises:
        ValueError: its type is not an integer, or its static shape is another one.
    """
    with scoped(name, "assert_scalar_int", (tensor,)) as scope:
        tensor = convert.convert_to_tensor(tensor)
        if not tensor.dtype.base_dtype.is_integer:
            raise ValueError(
                f"Expected integer type for {tensor.name}, received type: {tensor.dtype}."
            )
        return check_types.assert_scalar(tensor, name=scope)
