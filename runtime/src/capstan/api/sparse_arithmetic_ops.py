"""Sums, extremes and the softmax of sparse tensors (python/ops/sparse_ops.py)."""

from typing import Any

from capstan.api import deprecation, sparse_arguments
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.sparse_tensor import SparseTensor, SparseTensorValue

__all__ = ["sparse_add", "sparse_maximum", "sparse_minimum", "sparse_softmax"]


def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """Return the sum of two tensors, of which one or both are sparse.

    The sum of two SparseTensors is a SparseTensor. It lacks those sums of two values that are
    closer to 0 than `threshold`. The sum of a SparseTensor and a tensor is a tensor. `thresh` is
    the old name of `threshold`.

    Raises:
        TypeError: neither `a` nor `b` is sparse.
        ValueError: `threshold` and `thresh` are given, or the static shapes differ.
    """
    limit = deprecation.deprecated_argument_lookup("threshold", threshold, "thresh", thresh)
    is_sparse = [isinstance(each, SparseTensor | SparseTensorValue) for each in (a, b)]
    if not any(is_sparse):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not all(is_sparse):
        sparse, dense = (a, b) if is_sparse[0] else (b, a)
        sparse = sparse_arguments.as_sparse(sparse)
        return raw.SparseTensorDenseAdd(sparse.indices, sparse.values, sparse.dense_shape, dense)
    left, right = sparse_arguments.as_sparse(a), sparse_arguments.as_sparse(b)
    kind = left.dtype.real_dtype
    least = convert.convert_to_tensor(0 if limit is None else limit, kind, "threshold")
    indices, values, shape = raw.SparseAdd(
        left.indices, left.values, left.dense_shape,
        right.indices, right.values, right.dense_shape, least,
    )  # fmt: skip
    known = left.get_shape().merge_with(right.get_shape())
    if known.is_fully_defined():
        return SparseTensor(indices, values, known.as_list())
    return SparseTensor(indices, values, shape)


def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Return the larger value of two SparseTensors in each place that one of them has.

    Where a tensor has no value, it counts as 0. There is no gradient.
    """
    return _extreme("SparseSparseMaximum", sp_a, sp_b, name)


def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Return the smaller value of two SparseTensors in each place that one of them has.

    Where a tensor has no value, it counts as 0. There is no gradient.
    """
    return _extreme("SparseSparseMinimum", sp_a, sp_b, name)


def _extreme(op: str, a: Any, b: Any, name: str | None) -> SparseTensor:
    a, b = sparse_arguments.as_sparse(a), sparse_arguments.as_sparse(b)
    with scoped(name, op, (a.indices, a.values, b.indices, b.values)) as scope:
        indices, values = getattr(raw, op)(
            a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, name=scope
        )
    return SparseTensor(indices, values, a.dense_shape)


def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Return the softmax of a SparseTensor along its last axis. Only its values take part.

    The rank is at least 2, and the indices are sorted.
    """
    sparse = sparse_arguments.as_sparse(sp_input)
    with scoped(name, "SparseSoftmax", (sparse.indices, sparse.values)):
        values = raw.SparseSoftmax(sparse.indices, sparse.values, sparse.dense_shape)
        return SparseTensor(sparse.indices, values, sparse.dense_shape)
