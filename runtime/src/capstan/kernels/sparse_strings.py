"""Kernels that keep sparse tensors in vectors.

They follow core/kernels/serialize_sparse_op.cc and deserialize_sparse*_op.cc.

A sparse tensor is a vector of three elements: its indices, values and shape. An element is either a
variant, or a string with the bytes of a TensorProto.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core import dtypes, shapes, tensor_proto
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import tensor_variant


def _check(indices: Array, values: Array, shape: Array) -> None:
    if indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1:
        raise invalid(
            "The indices of a sparse tensor must be a matrix, and its values and shape vectors"
        )
    if indices.shape != (len(values), len(shape)):
        raise invalid(
            f"Indices of shape {list(indices.shape)} do not fit {len(values)} values and "
            f"{len(shape)} axes"
        )


def _elements(node: NodeContext) -> Callable[..., list[Any]]:
    """Return the function that stores the arrays of a sparse tensor as strings or variants."""

    def strings(*parts: Array) -> list[Any]:
        return [tensor_proto.make(part).SerializeToString() for part in parts]

    def variants(*parts: Array) -> list[Any]:
        return [tensor_variant.TensorVariant(np.array(part)) for part in parts]

    return variants if node.attrs["out_type"] is dtypes.variant else strings


def _serialize(node: NodeContext) -> Function:
    stored = _elements(node)

    def serialize(indices: Array, values: Array, shape: Array) -> Array:
        _check(indices, values, shape)
        return _array(stored(indices, values, shape), (3,))

    return serialize


def _serialize_many(node: NodeContext) -> Function:
    stored = _elements(node)

    def serialize(indices: Array, values: Array, shape: Array) -> Array:
        _check(indices, values, shape)
        if len(shape) < 2:
            raise invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {len(shape)}")
        count = int(shape[0])
        rows: list[Any] = []
        for number in range(count):
            in_row = indices[:, 0] == number
            rows += stored(indices[in_row, 1:], values[in_row], shape[1:])
        return _array(rows, (count, 3))

    return serialize


def _array(elements: list[Any], shape: tuple[int, ...]) -> Array:
    array = np.empty(len(elements), object)
    array[:] = elements
    return array.reshape(shape)


def _deserialize(node: NodeContext) -> Function:
    dtype = node.attrs["dtype"].as_numpy_dtype

    def deserialize(serialized: Array) -> Any:
        outer = serialized.shape[:-1]
        if not serialized.ndim or serialized.shape[-1] != 3:
            raise invalid(
                "Serialized sparse should have 3 as the last dimension "
                f"{shapes.show(serialized.shape)}"
            )
        rows = [[_parsed(part) for part in row] for row in serialized.reshape(-1, 3).tolist()]
        if not rows:
            raise invalid("Must have at least 1 serialized SparseTensor")
        for number, (indices, values, shape) in enumerate(rows):
            _check(indices, values, shape)
            if len(shape) != len(rows[0][2]):
                raise invalid(
                    f"Inconsistent rank across SparseTensors: rank prior to SparseTensor[{number}] "
                    f"was: {len(rows[0][2])} but rank of SparseTensor[{number}] is: {len(shape)}"
                )
        values = np.concatenate([values for _, values, _ in rows])
        if values.dtype != dtype:
            raise invalid(f"Expected a SparseTensor of {np.dtype(dtype)}, but saw {values.dtype}")
        places = [
            np.hstack([np.tile(np.unravel_index(number, outer), (len(indices), 1)), indices])
            if outer
            else indices
            for number, (indices, _, _) in enumerate(rows)
        ]
        sizes = np.max([shape for _, _, shape in rows], 0)
        shape = np.array([*outer, *sizes], np.int64)
        return np.concatenate(places).astype(np.int64), values, shape

    return deserialize


def _parsed(text: Any) -> Array:
    """Return the array in a string or a variant."""
    if isinstance(text, tensor_variant.TensorVariant):
        return text.value
    from google.protobuf import message
    from tensorboard.compat.proto import tensor_pb2

    try:
        return np.asarray(tensor_proto.ndarray(tensor_pb2.TensorProto.FromString(text)))
    except (message.DecodeError, TypeError, ValueError) as fault:
        raise invalid(f"A serialized SparseTensor cannot be read: {fault}") from fault


register(Kernel("SerializeSparse", _serialize))
register(Kernel("SerializeManySparse", _serialize_many))
register(Kernel("DeserializeSparse", _deserialize))
register(Kernel("DeserializeManySparse", _deserialize))
