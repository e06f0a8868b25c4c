"""`tf.sets`: sets along the last axis of tensors (python/ops/sets_impl.py)."""

from typing import Any

from capstan.api import sparse_ops
from capstan.api.absent import absent
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor

__all__ = [
    "difference", "intersection", "set_difference", "set_intersection", "set_size", "set_union",
    "size", "union",
]  # fmt: skip


def size(a: Any, validate_indices: bool = True) -> Any:
    """Return the number of distinct elements of each set of a SparseTensor.

    Raises:
        TypeError: `a` is not sparse.
    """
    a = sparse_ops.convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    return raw.SetSize(a.indices, a.values, a.dense_shape, validate_indices=validate_indices)


def intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Return the elements that each set of `a` and of `b` have in common, in order."""
    return _combined(a, b, "intersection", "intersection", validate_indices)


def difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """Return the elements of each set of `a` that `b` lacks, or of `b` that `a` lacks, in order."""
    operations = ("a-b", "b-a") if aminusb else ("b-a", "a-b")
    return _combined(a, b, *operations, validate_indices)


def union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Return the elements that a set of `a` or of `b` has, in order."""
    return _combined(a, b, "union", "union", validate_indices)


def _combined(a: Any, b: Any, operation: str, turned: str, validates: bool) -> SparseTensor:
    """Return the result of `operation`, or of `turned` if `a` and `b` change places."""
    a = sparse_ops.convert_to_tensor_or_sparse_tensor(a, name="a")
    b = sparse_ops.convert_to_tensor_or_sparse_tensor(b, name="b")
    if a.dtype.base_dtype != b.dtype.base_dtype:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        a, b, operation = b, a, turned
    attrs = {"set_operation": operation, "validate_indices": validates}
    other = (b.indices, b.values, b.dense_shape) if isinstance(b, SparseTensor) else (b,)
    if isinstance(a, SparseTensor):
        own = (a.indices, a.values, a.dense_shape)
        return SparseTensor(*raw.SparseToSparseSetOperation(*own, *other, **attrs))
    if isinstance(b, SparseTensor):
        return SparseTensor(*raw.DenseToSparseSetOperation(a, *other, **attrs))
    return SparseTensor(*raw.DenseToDenseSetOperation(a, b, **attrs))


set_difference = difference
set_intersection = intersection
set_size = size
set_union = union


def __getattr__(name: str) -> Any:
    raise absent("tf.sets", name)
