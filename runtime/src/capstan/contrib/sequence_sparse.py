"""Sparse tensors among the sequences and the context of a state saver
(contrib/training/python/training/sequence_queueing_state_saver.py).

A barrier holds dense tensors only. The steps of a sparse sequence are therefore kept in a map, and
the barrier holds their numbers in the map. A sparse context is made a sequence with its values at
the first step of each segment.
"""

from typing import Any

from capstan.api import array_ops, math_ops, sparse_ops
from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework import sparse_tensor
from capstan.framework.raw import raw


def is_sparse(value: Any) -> bool:
    return isinstance(value, sparse_tensor.SparseTensor | sparse_tensor.SparseTensorValue)


def as_sequence(context: Any, time: Any, num_unroll: int) -> Any:
    """Return a sparse sequence of `time` steps with the context at the start of each segment."""
    context = sparse_ops.convert_to_tensor_or_sparse_tensor(context)
    starts = math_ops.cast(math_ops.range(0, time, num_unroll), dtypes.int64)
    segments, rows = raw.Size(starts), array_ops.shape(context.indices)[0]
    steps = raw.Tile(array_ops.reshape(starts, [-1, 1, 1]), raw.Pack([1, rows, 1]))
    indices = raw.Tile(raw.ExpandDims(context.indices, 0), raw.Pack([segments, 1, 1]))
    columns = context.dense_shape.shape.as_list()[0]
    return sparse_tensor.SparseTensor(
        array_ops.reshape(array_ops.concat([steps, indices], 2), [-1, columns + 1]),
        raw.Tile(context.values, raw.ExpandDims(segments, 0)),
        array_ops.concat(
            [array_ops.reshape(math_ops.cast(time, dtypes.int64), [1]), context.dense_shape], 0
        ),
    )


def as_context(sequence: Any) -> Any:
    """Return the sparse context of each segment of a batch [batch, num_unroll, ...]."""
    indices, shape = sequence.indices, sequence.dense_shape
    return sparse_tensor.SparseTensor(
        array_ops.concat([indices[:, :1], indices[:, 2:]], 1),
        sequence.values,
        array_ops.concat([shape[:1], shape[2:]], 0),
    )


def stored(value: Any) -> Any:
    """Return the numbers of the steps of a sparse sequence in a map, an int64 vector."""
    value = sparse_ops.convert_to_tensor_or_sparse_tensor(value)
    return raw.AddManySparseToTensorsMap(value.indices, value.values, value.dense_shape)


def restored(store: Any, numbers: Any, num_unroll: int) -> Any:
    """Return the sparse sequence [batch, num_unroll, ...] of numbers in the map of `stored`."""
    with graphs.get_default_graph().colocate_with(store):
        taken = raw.TakeManySparseFromTensorsMap(
            array_ops.reshape(numbers, [-1]),
            dtype=store.get_attr("T"),
            container=store.get_attr("container"),
            shared_name=store.get_attr("shared_name") or store.name,
        )
    indices, values, shape = taken
    row = indices[:, :1]
    unit = math_ops.cast(num_unroll, dtypes.int64)
    return sparse_tensor.SparseTensor(
        array_ops.concat([raw.FloorDiv(row, unit), raw.FloorMod(row, unit), indices[:, 1:]], 1),
        values,
        array_ops.concat(
            [array_ops.shape(numbers, out_type=dtypes.int64)[:1], [num_unroll], shape[1:]], 0
        ),
    )
