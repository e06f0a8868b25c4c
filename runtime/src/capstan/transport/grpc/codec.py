"""Converts the values of the two services to protocol buffers and back."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf import message as protobuf_message

from capstan import errors
from capstan.core import dtypes, graph_def, kernel_list, node, shapes, tensor_proto
from capstan.framework import function_def
from capstan.partition import parts
from capstan.transport import interfaces
from capstan.transport.grpc import wire

Array = np.ndarray[Any, Any]


def encode_tensors(tensors: Mapping[str, Array]) -> list[Any]:
    """Return the tensors as NamedTensorProtos."""
    return [
        wire.NamedTensorProto(name=name, tensor=tensor_proto.make(value))
        for name, value in tensors.items()
    ]


def decode_tensors(messages: Iterable[Any]) -> dict[str, Array]:
    """Return the tensors of NamedTensorProtos by name.

    Raises:
        InvalidArgumentError: a message does not hold a valid tensor.
    """
    return {message.name: decode_tensor(message.tensor, message.name) for message in messages}


def decode_tensor(message: Any, name: str) -> Array:
    """Return the value of a TensorProto. Raises as `decode_tensors`."""
    try:
        return tensor_proto.ndarray(message)
    except (TypeError, ValueError) as error:
        raise errors.InvalidArgumentError(
            None, None, f"The value of {name} cannot be read: {error}"
        ) from None


def encode_devices(devices: Iterable[interfaces.Device]) -> list[Any]:
    """Return the DeviceAttributes of the devices."""
    return [
        wire.DeviceAttributes(
            name=device.name,
            device_type=device.device_type,
            memory_limit=device.memory_limit_bytes,
            incarnation=device.incarnation,
            physical_device_desc=device.physical_device_desc,
        )
        for device in devices
    ]


def decode_devices(messages: Iterable[Any]) -> tuple[interfaces.Device, ...]:
    """Return the devices that DeviceAttributes describe."""
    return tuple(
        interfaces.Device(
            message.name,
            message.device_type,
            message.memory_limit,
            message.incarnation,
            message.physical_device_desc,
        )
        for message in messages
    )


@functools.lru_cache(maxsize=8)
def encode_kernels(kernels: kernel_list.KernelList) -> bytes:
    """Return a serialised KernelList, from a cache, because a task sends its list repeatedly."""
    message = wire.KernelList()
    for kernel in kernels:
        added = message.kernel.add(op=kernel.op, device_type=kernel.device_type)
        for name, allowed in kernel.constraints.items():
            constraint = added.constraint.add(name=name)
            numbers = sorted(dtype.as_datatype_enum for dtype in allowed)
            constraint.allowed_values.list.type.extend(numbers)
    serialised: bytes = message.SerializeToString()
    return serialised


@functools.lru_cache(maxsize=64)
def decode_kernels(serialised: bytes) -> kernel_list.KernelList:
    """Return the kernels of a serialised KernelList.

    The cache helps because the tasks of a cluster often have the same kernels.

    Raises:
        InvalidArgumentError: the message is malformed, or has a dtype that does not exist.
    """
    try:
        message = wire.KernelList.FromString(serialised)
        return kernel_list.KernelList(map(_decode_kernel, message.kernel))
    except (protobuf_message.DecodeError, TypeError, ValueError) as error:
        raise errors.InvalidArgumentError(
            None, None, f"The list of kernels of a task cannot be read: {error}"
        ) from None


def _decode_kernel(message: Any) -> kernel_list.KernelDef:
    constraints = {
        constraint.name: frozenset(map(dtypes.as_dtype, constraint.allowed_values.list.type))
        for constraint in message.constraint
    }
    return kernel_list.KernelDef(message.op, message.device_type, constraints)


def encode_part(session: str, part: parts.Part) -> Any:
    """Return the RegisterGraphRequest that gives `part` to its task."""
    known = dict.fromkeys([*part.tensor_dtypes, *part.tensor_shapes])
    graph = graph_def.encode(part.nodes)
    if part.functions:
        graph.library.CopyFrom(function_def.encode(part.functions))
    return wire.RegisterGraphRequest(
        session=session,
        task=part.task,
        graph_def=graph,
        leg=[part.legs[part_node.name] for part_node in part.nodes],
        incoming=map(_encode_message, part.incoming),
        outgoing=map(_encode_message, part.outgoing),
        feed=_names(part.feeds),
        fetch=_names(part.fetches),
        tensor=[_encode_facts(edge, part) for edge in known],
        wait_set=_numbers(part.wait_sets, part.nodes),
        answer=_numbers(part.answers, part.nodes),
    )


def decode_part(request: Any) -> parts.Part:
    """Return the part of a RegisterGraphRequest.

    Raises:
        InvalidArgumentError: the GraphDef is malformed.
        ValueError: the request does not give the leg of every node.
    """
    nodes = tuple(graph_def.decode(request.graph_def))
    facts = {node.parse_tensor(message.edge): message for message in request.tensor}
    return parts.Part(
        task=request.task,
        functions=function_def.decode(request.graph_def.library),
        nodes=nodes,
        legs=dict(zip((part_node.name for part_node in nodes), request.leg, strict=True)),
        incoming=tuple(map(_decode_message, request.incoming)),
        outgoing=tuple(map(_decode_message, request.outgoing)),
        feeds=_edges(request.feed),
        fetches=_edges(request.fetch),
        tensor_shapes={
            edge: _decode_shape(message.shape)
            for edge, message in facts.items()
            if message.HasField("shape")
        },
        tensor_dtypes={
            edge: dtypes.as_dtype(message.dtype) for edge, message in facts.items() if message.dtype
        },
        wait_sets=_by_name(request.wait_set, nodes),
        answers=_by_name(request.answer, nodes),
    )


def _numbers(by_name: Mapping[str, int], nodes: Sequence[node.Node]) -> list[int]:
    """Return the number that `by_name` has for each node, or 0. Return [] if `by_name` is empty."""
    return [by_name.get(part_node.name, 0) for part_node in nodes] if by_name else []


def _by_name(numbers: Sequence[int], nodes: Sequence[node.Node]) -> dict[str, int]:
    """Return the mapping that `_numbers` encoded: each number other than 0, by the node's name."""
    if not numbers:
        return {}
    pairs = zip(nodes, numbers, strict=True)
    return {part_node.name: number for part_node, number in pairs if number}


def _encode_message(message: parts.Message) -> Any:
    return wire.LegMessage(
        number=message.number,
        source=message.source,
        destination=message.destination,
        leg=message.leg,
        edge=_names(message.edges),
        conditional=_names(message.conditional),
        wait_set=message.wait_set,
        control=message.controls,
    )


def _decode_message(message: Any) -> parts.Message:
    return parts.Message(
        number=message.number,
        source=message.source,
        destination=message.destination,
        leg=message.leg,
        edges=_edges(message.edge),
        conditional=_edges(message.conditional),
        wait_set=message.wait_set,
        controls=tuple(message.control),
    )


def _encode_facts(edge: node.Edge, part: parts.Part) -> Any:
    dtype = part.tensor_dtypes.get(edge)
    facts = wire.TensorFacts(edge=edge.tensor, dtype=0 if dtype is None else dtype.as_datatype_enum)
    if edge in part.tensor_shapes:
        shape = part.tensor_shapes[edge]
        facts.shape.unknown_rank = shape is None
        for size in shape or ():
            facts.shape.dim.add(size=-1 if size is None else size)
    return facts


def _decode_shape(message: Any) -> shapes.Shape:
    if message.unknown_rank:
        return None
    return tuple(None if dim.size < 0 else dim.size for dim in message.dim)


def _names(edges: Sequence[node.Edge]) -> list[str]:
    return [edge.tensor for edge in edges]


def _edges(names: Iterable[str]) -> tuple[node.Edge, ...]:
    return tuple(map(node.parse_tensor, names))
