"""Kernels that keep sparse tensors in vectors.

They follow core/kernels/serialize_sparse_op.cc and deserialize_sparse*_op.cc.

A sparse tensor is a vector of three elements: its indices, values and shape. An element is either a
variant, or a string with the bytes of a TensorProto.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from capstan.core import dtypes, shapes, tensor_proto
from capstan.core.arrays import Array
from capstan.core.packed_strings import PackedStrings
from capstan.kernels import stacking
from capstan.kernels.registry import (
    Columns,
    Function,
    Join,
    Joined,
    Kernel,
    NodeContext,
    register,
)
from capstan.kernels.rejection import invalid
from capstan.resources import tensor_variant

_SHAPE = operator.attrgetter("shape")


def check(indices: Array, values: Array | PackedStrings, shape: Array) -> None:
    """Raise InvalidArgumentError unless the parts of a sparse tensor fit together."""
    if values.ndim == shape.ndim == 1 and indices.shape == (len(values), len(shape)):
        return
    for part, name, kind, rank in (
        (indices, "indices", "matrix", 2), (values, "values", "vector", 1),
        (shape, "shape", "vector", 1),
    ):  # fmt: skip
        if part.ndim != rank:
            raise invalid(
                f"Input {name} should be a {kind} but received shape {shapes.show(part.shape)}"
            )
    if indices.shape != (len(values), len(shape)):
        raise invalid(
            f"Indices of shape {shapes.show(indices.shape)} do not fit {len(values)} values and "
            f"{len(shape)} axes"
        )


def _check_restored(number: int, indices: Array, values: Array, shape: Array, rank: int) -> None:
    """Raise InvalidArgumentError unless the parts of one sparse tensor fit together."""
    if indices.shape == (len(values), rank) and values.ndim == 1 and shape.shape == (rank,):
        return
    name = f"SparseTensor[{number}]"
    for place, (part, kind, wanted) in enumerate(
        (
            (indices, "an index matrix", 2),
            (values, "a values vector", 1),
            (shape, "a shape vector", 1),
        )
    ):
        if part.ndim != wanted:
            raise invalid(
                f"Expected serialized_sparse[{number}, {place}] to represent {kind} but received "
                f"shape {shapes.show(part.shape)}"
            )
    if len(indices) != len(values):
        raise invalid(
            f"Expected row counts of {name}.indices and {name}.values to match but they do not: "
            f"{len(indices)} vs. {len(values)}"
        )
    if indices.shape[1] != len(shape):
        raise invalid(
            f"Expected column counts of {name}.indices to match size of {name}.shape but they do "
            f"not: {indices.shape[1]} vs. {len(shape)}"
        )
    if len(shape) != rank:
        raise invalid(
            f"Inconsistent shape across SparseTensors: rank prior to {name} was: {rank} but rank "
            f"of {name} is: {len(shape)}"
        )


def _elements(node: NodeContext) -> Callable[..., list[Any]]:
    """Return the function that stores the arrays of a sparse tensor as strings or variants."""

    def strings(*parts: Array | PackedStrings) -> list[Any]:
        return [tensor_proto.make(_array_of(part)).SerializeToString() for part in parts]

    def variants(*parts: Array | PackedStrings) -> list[Any]:
        return [tensor_variant.TensorVariant(_kept(part)) for part in parts]

    return variants if node.attrs["out_type"] is dtypes.variant else strings


def _kept(part: Array | PackedStrings) -> Array | PackedStrings:
    """Return the same values in memory that nothing changes."""
    return part if isinstance(part, PackedStrings) else np.array(part)


def _array_of(part: Array | PackedStrings) -> Array:
    return part.unpacked() if isinstance(part, PackedStrings) else part


def _serialize(node: NodeContext) -> Function:
    stored = _elements(node)

    def serialize(indices: Array, values: Array | PackedStrings, shape: Array) -> Array:
        check(indices, values, shape)
        return _array(stored(indices, values, shape), (3,))

    return serialize


def _serialize_many(node: NodeContext) -> Function:
    stored = _elements(node)

    def serialize(indices: Array, values: Array, shape: Array) -> Array:
        rows: list[Any] = []
        for row, row_values in rows_of(indices, values, shape):
            rows += stored(row, row_values, shape[1:])
        return _array(rows, (len(rows) // 3, 3))

    return serialize


def rows_of(indices: Array, values: Array, shape: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the indices and the values of each slice of a sparse tensor along axis 0.

    Raises:
        InvalidArgumentError: the parts do not fit together, or there are fewer than two axes.
    """
    check(indices, values, shape)
    if len(shape) < 2:
        raise invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {len(shape)}")
    for number in range(int(shape[0])):
        in_row = indices[:, 0] == number
        yield indices[in_row, 1:], values[in_row]


def _array(elements: list[Any], shape: tuple[int, ...]) -> Array:
    array = np.empty(len(elements), object)
    # NumPy would look into each element, whether it is a sequence.
    for place, element in enumerate(elements):
        array[place] = element
    return array.reshape(shape)


def _deserialize(node: NodeContext) -> Function:
    dtype = node.attrs["dtype"]
    kind = np.dtype(dtype.as_numpy_dtype)
    keeps_packed = 1 in node.packed

    def check_type(number: int, values: Array | PackedStrings) -> None:
        if values.dtype != kind:
            found = dtypes.as_dtype(values.dtype)
            raise invalid(
                f"Requested SparseTensor of type {dtypes.cpp_name(dtype)} but "
                f"SparseTensor[{number}].values.dtype() == {dtypes.cpp_name(found)}"
            )

    def deserialize(serialized: Array) -> Any:
        if serialized.shape == (3,):
            indices, values, shape = map(_parsed, serialized.tolist())
            check_type(0, values)
            _check_restored(0, indices, values, shape, shape.size)
            # Copies, because the bytes of a variant stay what they are.
            values = _kept(values if keeps_packed else _array_of(values))
            return indices.copy(), values, shape.copy()
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
            check_type(number, values)
            _check_restored(number, indices, values, shape, rows[0][2].size)
        return joined(
            [(indices, _array_of(values), shape) for indices, values, shape in rows], outer
        )

    return deserialize


def _deserialize_several(nodes: Sequence[NodeContext]) -> Joined:
    """Return the function that joins nodes with one sparse tensor each, as three variants."""
    kind = np.dtype(nodes[0].attrs["dtype"].as_numpy_dtype)
    keeps_packed = all(1 in node.packed for node in nodes)

    def deserialize(serialized: Sequence[Array]) -> Columns | None:
        if set(map(_SHAPE, serialized)) != {(3,)}:
            return None
        parts = [part for each in serialized for part in each.tolist()]
        if set(map(type, parts)) != {tensor_variant.TensorVariant}:
            return None
        held = [part.held for part in parts]
        indices, values, sizes = held[::3], held[1::3], held[2::3]
        places, numbers = stacking.column(indices), stacking.column(sizes)
        if places.stacked.ndim != 2 or numbers.stacked.ndim != 1:
            return None
        rank = places.stacked.shape[1]
        if (
            any(each.ndim != 1 or each.dtype != kind for each in values)
            or places.blocks.sizes.tolist() != [*map(len, values)]
            or numbers.blocks.sizes.tolist() != [rank] * len(values)
        ):
            return None
        kept = [_kept(each if keeps_packed else _array_of(each)) for each in values]
        return places, kept, numbers

    return deserialize


def joined(rows: Sequence[tuple[Array, Array, Array]], outer: tuple[int, ...]) -> Any:
    """Return sparse tensors of one rank as one, which has the axes `outer` before theirs."""
    values = np.concatenate([values for _, values, _ in rows])
    places = [
        np.hstack([np.tile(np.unravel_index(number, outer), (len(indices), 1)), indices])
        for number, (indices, _, _) in enumerate(rows)
    ]
    sizes = np.max([shape for _, _, shape in rows], 0)
    return np.concatenate(places).astype(np.int64), values, np.array([*outer, *sizes], np.int64)


def _parsed(text: Any) -> Any:
    """Return the tensor in a string or a variant. Only a variant has `PackedStrings`."""
    if isinstance(text, tensor_variant.TensorVariant):
        return text.held
    from google.protobuf import message
    from tensorboard.compat.proto import tensor_pb2

    try:
        return np.asarray(tensor_proto.ndarray(tensor_pb2.TensorProto.FromString(text)))
    except (message.DecodeError, TypeError, ValueError) as fault:
        raise invalid("Could not parse serialized proto") from fault


register(Kernel("SerializeSparse", _serialize, takes_packed=(1,)))
register(Kernel("SerializeManySparse", _serialize_many))
register(
    Kernel("DeserializeSparse", _deserialize, join=Join(_deserialize_several), gives_packed=True)
)
register(Kernel("DeserializeManySparse", _deserialize))
