"""Kernels that reduce sparse tensors along axes (core/kernels/sparse_reduce_op.cc)."""

import functools

import numpy as np

from capstan.core.arrays import Array
from capstan.kernels import rows, sparse
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _axes(axes: Array, rank: int) -> set[int]:
    for axis in axes.ravel().tolist():
        if not -rank <= axis < rank:
            raise invalid(f"Invalid reduction dimension {axis}, for input with {rank} dimensions.")
    return {axis % rank for axis in axes.ravel().tolist()}


def _groups(
    ufunc: np.ufunc, indices: Array, values: Array, shape: Array, removed: set[int]
) -> tuple[Array, Array]:
    """Return the reduced values, and the first index of each. They are in the order of indices.

    As in TensorFlow, an index along a reduced axis may have any value.
    """
    sparse.check_parts(indices, values, shape)
    kept = [axis for axis in range(len(shape)) if axis not in removed]
    for axis in kept:
        rows.check(indices[:, axis], int(shape[axis]), f"indices of axis {axis}")
    if not len(values):
        return values, indices
    keys = indices[:, kept]
    order = np.lexsort(keys.T[::-1]) if kept else np.arange(len(values))
    ranked = keys[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (ranked[1:] != ranked[:-1]).any(1)
    starts = np.flatnonzero(is_first)
    return ufunc.reduceat(values[order], starts, 0, values.dtype), indices[order[starts]]


def _dense(ufunc: np.ufunc, node: NodeContext) -> Function:
    keeps = bool(node.attrs["keep_dims"])

    def reduce(indices: Array, values: Array, shape: Array, axes: Array) -> Array:
        removed = _axes(axes, len(shape))
        found, first = _groups(ufunc, indices, values, shape, removed)
        kept = [axis for axis in range(len(shape)) if axis not in removed]
        result = np.zeros([int(shape[axis]) for axis in kept], values.dtype)
        result[tuple(first[:, axis] for axis in kept)] = found if kept else found.sum()
        return result.reshape(_sizes(shape, removed)) if keeps else result

    return reduce


def _sparse(ufunc: np.ufunc, node: NodeContext) -> Function:
    keeps = bool(node.attrs["keep_dims"])

    def reduce(
        indices: Array, values: Array, shape: Array, axes: Array
    ) -> tuple[Array, Array, Array]:
        removed = _axes(axes, len(shape))
        found, first = _groups(ufunc, indices, values, shape, removed)
        if keeps:
            places = first.copy()
            places[:, sorted(removed)] = 0
            return places, found, np.array(_sizes(shape, removed), np.int64)
        kept = [axis for axis in range(len(shape)) if axis not in removed]
        return first[:, kept], found, shape[kept]

    return reduce


def _sizes(shape: Array, removed: set[int]) -> list[int]:
    return [1 if axis in removed else size for axis, size in enumerate(shape.tolist())]


for _kind, _ufunc in (("Sum", np.add), ("Max", np.maximum)):
    register(Kernel(f"SparseReduce{_kind}", functools.partial(_dense, _ufunc)))
    register(Kernel(f"SparseReduce{_kind}Sparse", functools.partial(_sparse, _ufunc)))
