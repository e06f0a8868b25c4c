"""Kernels that read Example protocol buffers (core/util/example_proto_fast_parsing.cc)."""

from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import attr_value, dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels import example_columns, example_wire, wire
from capstan.kernels.example_columns import Column, Complaint, Dense
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string

LISTS = {"float_list": dtypes.float32, "int64_list": dtypes.int64, "bytes_list": dtypes.string}

_FEW = 8
"""Up to this number, the protobuf library reads examples faster than operations on a batch."""


def feature_values(
    features: Mapping[str, Any], key: str, dtype: dtypes.DType, fault: Complaint, place: int
) -> Sequence[Any] | None:
    """Return the values of a feature, or None if the example at `place` has no such feature.

    Raises:
        InvalidArgumentError: the values are of another type.
    """
    feature = features[key] if key in features else None  # noqa: SIM401 - a map of protobuf
    kind = None if feature is None else feature.WhichOneof("kind")
    if kind is None:
        return None
    found = LISTS[kind]
    if found is not dtype:
        raise fault(
            place,
            key,
            f"Data types don't match. Data type: {example_columns.CPP_NAMES[found]} but expected "
            f"type: {example_columns.CPP_NAMES[dtype]}",
        )
    values: Sequence[Any] = getattr(feature, kind).value
    return values


def features_of(serialized: bytes) -> Mapping[str, Any]:
    """Return the features of a serialized Example.

    Raises:
        InvalidArgumentError: it is no Example.
    """
    from google.protobuf import message

    from capstan.core import example_messages

    try:
        example = example_messages.Example.FromString(serialized)
    except message.DecodeError:
        text = serialized.decode(errors="backslashreplace")
        raise invalid(f"Could not parse example input, value: '{text}'") from None
    features: Mapping[str, Any] = example.features.feature
    return features


def _columns(
    texts: Sequence[bytes],
    keys: Sequence[str],
    types: Sequence[dtypes.DType],
    fault: Complaint,
    packed: Container[int],
    loops: example_wire.Loops,
) -> list[Column]:
    """Return the features with these names of all examples.

    The features with the numbers `packed` may have `PackedStrings`. `loops` are those of the node.
    """
    if len(texts) > _FEW:
        try:
            return example_wire.columns(texts, keys, types, packed, loops)
        except wire.UnusualError:
            pass
    rows: list[list[Sequence[Any] | None]] = [[] for _ in keys]
    for place, text in enumerate(texts):
        features = features_of(text)
        for column, key, dtype in zip(rows, keys, types, strict=True):
            column.append(feature_values(features, key, dtype, fault, place))
    return [example_columns.column_of(*pair) for pair in zip(types, rows, strict=True)]


def dense_specs(node: NodeContext, keys: Sequence[str], defaults: Sequence[Any]) -> list[Dense]:
    """Return the dense features of a node.

    Raises:
        InvalidArgumentError: the default of a feature has a wrong number of elements.
    """
    specs = []
    for key, dtype, shape, value in zip(
        keys, node.attrs["Tdense"], node.attrs["dense_shapes"], defaults, strict=True
    ):
        spec = Dense(key, dtype, tuple(shape.internal), np.asarray(value))
        if not spec.is_variable and spec.default.size not in (0, spec.stride):
            raise invalid(
                f"dense_defaults for {key} has shape {shapes.show(spec.default.shape)}, but its "
                f"feature has shape {shapes.show(spec.shape)}"
            )
        specs.append(spec)
    return specs


def batch(
    texts: Sequence[bytes],
    labels: Sequence[bytes],
    keys: Sequence[str],
    types: Sequence[dtypes.DType],
    specs: Sequence[Dense],
    packed: Container[int] = (),
    loops: example_wire.Loops | None = None,
) -> tuple[list[Column], list[Array]]:
    """Return the features of a batch of Examples: the columns of `keys`, and dense tensors.

    `labels` are the names of the examples in the messages of errors, or none. `packed` are the
    numbers of the columns that may have `PackedStrings`. `loops` are those of the node.

    Raises:
        InvalidArgumentError: an example is damaged, or lacks a feature that it must have, or a
            feature has a wrong type or a wrong number of values.
    """

    def label(place: int) -> str:
        return f"Name: {attr_value.text(labels[place]) if labels else '<unknown>'}, "

    def fault(place: int, key: str, problem: str) -> Exception:
        return invalid(f"{label(place)}Key: {key}, Index: {place}.  {problem}")

    def lack(place: int, problem: str) -> Exception:
        return invalid(f"{label(place)}{problem}")

    all_keys = [*keys, *(spec.key for spec in specs)]
    all_types = [*types, *(spec.dtype for spec in specs)]
    columns = _columns(texts, all_keys, all_types, fault, packed, loops or example_wire.Loops())
    count = len(keys)
    dense = [
        example_columns.dense(spec, column, fault, lack)
        for spec, column in zip(specs, columns[count:], strict=True)
    ]
    return columns[:count], dense


def packed_columns(node: NodeContext, count: int) -> set[int]:
    """Return which of the `count` sparse tensors, the first outputs, may have `PackedStrings`."""
    # Output n + i has the values of sparse tensor i, if there are n of them.
    return {number for number in range(count) if number + count in node.packed}


def texts_of(tensor: Array) -> list[bytes]:
    """Return the strings of a tensor."""
    texts: list[bytes] = np.asarray(tensor, object).ravel().tolist()
    return texts


def _parse_example(node: NodeContext) -> Function:
    types: Sequence[dtypes.DType] = node.attrs["sparse_types"]
    count, total = len(types), len(types) + len(node.attrs["Tdense"])
    packed, loops = packed_columns(node, count), example_wire.Loops()

    def parse(serialized: Array, names: Array, *others: Array) -> Any:
        keys = [attr_value.text(string(key, "key")) for key in others[:total]]
        specs = dense_specs(node, keys[count:], others[total:])
        texts, labels = texts_of(serialized), texts_of(names)
        columns, dense = batch(texts, labels, keys[:count], types, specs, packed, loops)
        return outputs(example_columns.sparse(columns), dense)

    return parse


def outputs(sparse: Sequence[tuple[Array, Array, Array]], dense: Sequence[Array]) -> Any:
    """Return all indices, then all values, then all shapes, then the dense values."""
    results = (*by_part(sparse), *dense)
    return results[0] if len(results) == 1 else results


def by_part(tensors: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return the first parts of all tensors, then their second parts, and so on."""
    return [part for parts in zip(*tensors, strict=True) for part in parts]


register(Kernel("ParseExample", _parse_example, gives_packed=True))
