"""Kernels that keep sparse tensors for a later step (core/kernels/sparse_tensors_map_ops.cc)."""

from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.kernels import resources, sparse_strings
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import sparse_tensors


def _map(node: NodeContext) -> sparse_tensors.SparseTensorsMap:
    return resources.named(
        node, sparse_tensors.KIND, sparse_tensors.SparseTensorsMap, may_be_private=False
    )


def _add(node: NodeContext) -> Function:
    held = _map(node)

    def add(indices: Array, values: Array, shape: Array) -> Any:
        sparse_strings.check(indices, values, shape)
        (number,) = held.add([(np.array(indices), np.array(values), np.array(shape))])
        return np.int64(number)

    return add


def _add_many(node: NodeContext) -> Function:
    held = _map(node)

    def add(indices: Array, values: Array, shape: Array) -> Any:
        if indices.ndim == 2 and indices.size and (np.diff(indices[:, 0]) < 0).any():
            raise invalid(
                "The rows of sparse_indices must not decrease: sort them with tf.sparse.reorder"
            )
        rows = sparse_strings.rows_of(indices, values, shape)
        parts = ((row, np.array(each), np.array(shape[1:])) for row, each in rows)
        return np.array(held.add(parts), np.int64)

    return add


def _take(node: NodeContext) -> Function:
    held, dtype = _map(node), node.attrs["dtype"]

    def take(handles: Array) -> Any:
        if handles.ndim != 1:
            raise invalid(f"sparse_handles should be a vector, but has {handles.ndim} axes")
        if not len(handles):
            raise invalid(
                "Must have at least 1 serialized SparseTensor, but sparse_handles is empty"
            )
        rows = held.take(handles.tolist())
        for number, (_, values, shape) in enumerate(rows):
            found = dtypes.as_dtype(values.dtype)
            if found is not dtype:
                raise invalid(
                    f"Requested SparseTensor of type {dtypes.cpp_name(dtype)} but "
                    f"SparseTensor[{number}].values.dtype() == {dtypes.cpp_name(found)}"
                )
            if len(shape) != len(rows[0][2]):
                raise invalid(
                    "Inconsistent rank across SparseTensors: rank prior to "
                    f"SparseTensor[{number}] was: {len(rows[0][2])} but rank of "
                    f"SparseTensor[{number}] is: {len(shape)}"
                )
        return sparse_strings.joined(rows, (len(rows),))

    return take


register(Kernel("AddSparseToTensorsMap", _add))
register(Kernel("AddManySparseToTensorsMap", _add_many))
register(Kernel("TakeManySparseFromTensorsMap", _take))
