"""Kernels that write the elements of a queue to tensors, and read them again."""

from typing import Any

import numpy as np

from capstan import errors
from capstan.core import dtypes, tensor_proto
from capstan.core.arrays import Array
from capstan.kernels import resources
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Kernel, register
from capstan.kernels.rejection import invalid
from capstan.resources import elements, queue


def _serialize(handle: Any) -> tuple[Array, Any]:
    target: queue.Queue = resources.behind(handle)
    batches, is_closed = target.state()
    rows = [
        [_written(column[index, ...]) for column in batch]
        for batch in batches
        for index in range(len(batch[0]))
    ]
    matrix = np.empty((len(rows), len(target.types)), object)
    for number, row in enumerate(rows):
        matrix[number] = row
    return matrix, np.bool_(is_closed)


def _written(component: Any) -> bytes:
    content: bytes = tensor_proto.make(component).SerializeToString()
    return content


def _deserialize(handle: Any, matrix: Array, is_closed: Any) -> None:
    target: queue.Queue = resources.behind(handle)
    if matrix.ndim != 2 or matrix.shape[1] != len(target.types):
        raise invalid(
            f"The saved elements of queue '{target.name}' have shape {matrix.shape}, but the queue "
            f"has {len(target.types)} components"
        )
    batches = [_read(target, row) for row in matrix.tolist()]
    target.replace(batches, is_closed=bool(is_closed))


def _read(target: queue.Queue, row: list[bytes]) -> elements.Batch:
    from google.protobuf import message
    from tensorboard.compat.proto import tensor_pb2

    components = []
    for index, (content, dtype) in enumerate(zip(row, target.types, strict=True)):
        try:
            proto = tensor_pb2.TensorProto.FromString(content)
            component = tensor_proto.ndarray(proto)
        except (message.DecodeError, TypeError, ValueError) as fault:
            raise errors.DataLossError(
                None, None, f"A saved element of queue '{target.name}' cannot be read: {fault}"
            ) from None
        if dtypes.as_dtype(proto.dtype) is not dtype:
            raise invalid(
                f"Component {index} of a saved element of queue '{target.name}' has type "
                f"{dtypes.cpp_name(dtypes.as_dtype(proto.dtype))}, but the queue has type "
                f"{dtypes.cpp_name(dtype)}"
            )
        components.append(component)
    target.check(tuple(components))
    return elements.alone(components)


register(Kernel("SerializeQueue", constantly(_serialize)))
register(Kernel("DeserializeQueue", constantly(_deserialize)))
