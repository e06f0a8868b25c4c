"""Kernels that keep sparse tensors as strings (core/kernels/{de,}serialize_sparse*_op.cc).

A sparse tensor is a vector of three strings: its indices, values and shape, each as a TensorProto.
"""

from typing import Any

import numpy as np

from capstan.core import arrays, tensor_proto
from capstan.core.arrays import Array
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid


def _strings(*parts: Array) -> list[bytes]:
    return [tensor_proto.make(part).SerializeToString() for part in parts]


def _check(indices: Array, values: Array, shape: Array) -> None:
    if indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1:
        raise invalid("A sparse tensor has a matrix of indices, and vectors of values and sizes")
    if indices.shape != (len(values), len(shape)):
        raise invalid(
            f"Indices of shape {list(indices.shape)} do not fit {len(values)} values and "
            f"{len(shape)} axes"
        )


def _serialize(indices: Array, values: Array, shape: Array) -> Array:
    _check(indices, values, shape)
    return arrays.strings(_strings(indices, values, shape), (3,))


def _serialize_many(indices: Array, values: Array, shape: Array) -> Array:
    _check(indices, values, shape)
    if len(shape) < 2:
        raise invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {len(shape)}")
    count = int(shape[0])
    found = []
    for row in range(count):
        is_here = indices[:, 0] == row
        found += _strings(indices[is_here, 1:], values[is_here], shape[1:])
    return arrays.strings(found, (count, 3))


def _deserialize_many(node: NodeContext) -> Function:
    dtype = node.attrs["dtype"].as_numpy_dtype

    def deserialize(serialized: Array) -> Any:
        rows = [[_parsed(text) for text in row] for row in np.asarray(serialized, object)]
        if not rows:
            raise invalid("Must have at least 1 serialized SparseTensor")
        sizes = np.max([shape for _, _, shape in rows], 0)
        places = [np.insert(indices, 0, number, 1) for number, (indices, _, _) in enumerate(rows)]
        values = np.concatenate([values for _, values, _ in rows])
        if values.dtype != dtype:
            raise invalid(f"Expected a SparseTensor of {np.dtype(dtype)}, but saw {values.dtype}")
        shape = np.array([len(rows), *sizes], np.int64)
        return np.concatenate(places).astype(np.int64), values, shape

    return deserialize


def _parsed(text: bytes) -> Array:
    from google.protobuf import message
    from tensorboard.compat.proto import tensor_pb2

    try:
        return np.asarray(tensor_proto.ndarray(tensor_pb2.TensorProto.FromString(text)))
    except (message.DecodeError, TypeError, ValueError) as fault:
        raise invalid(f"A serialized SparseTensor cannot be read: {fault}") from fault


register(Kernel("SerializeSparse", constantly(_serialize)))
register(Kernel("SerializeManySparse", constantly(_serialize_many)))
register(Kernel("DeserializeManySparse", _deserialize_many))
