"""Kernels that read Example protocol buffers (core/util/example_proto_fast_parsing.cc)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan.core import attr_value, dtypes, shapes
from capstan.core.arrays import Array
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string

LISTS = {"float_list": dtypes.float32, "int64_list": dtypes.int64, "bytes_list": dtypes.string}
CPP_NAMES = {dtypes.float32: "float", dtypes.int64: "int64", dtypes.string: "string"}
COUNTED = {**CPP_NAMES, dtypes.string: "bytes"}

_Features = Mapping[str, Any]
_Complaint = Callable[[str, str], Exception]
"""Returns the error for a feature, by its name and the fault."""


@dataclass(frozen=True, slots=True)
class _Dense:
    """A feature that becomes a tensor. `shape` is its shape in one example."""

    key: str
    dtype: dtypes.DType
    shape: tuple[int | None, ...]
    default: Array

    @property
    def stride(self) -> int:
        """The number of elements: of the feature, or of one row if the number of rows varies."""
        return math.prod(size for size in self.shape if size is not None)

    @property
    def is_variable(self) -> bool:
        return bool(self.shape) and self.shape[0] is None


def _values(features: _Features, key: str, dtype: dtypes.DType, fault: _Complaint) -> Any:
    """Return the values of a feature, or None if the example has no such feature."""
    feature = features[key] if key in features else None  # noqa: SIM401 - a map of protobuf
    kind = None if feature is None else feature.WhichOneof("kind")
    if kind is None:
        return None
    found = LISTS[kind]
    if found is not dtype:
        raise fault(
            key,
            f"Data types don't match. Data type: {CPP_NAMES[found]} but expected type: "
            f"{CPP_NAMES[dtype]}",
        )
    return getattr(feature, kind).value


def _dense_values(spec: _Dense, features: _Features, fault: _Complaint, prefix: str) -> list[Any]:
    """Return the elements of a dense feature of one example, or its default."""
    values = _values(features, spec.key, spec.dtype, fault)
    if values is None:
        if spec.is_variable:
            return []
        if not spec.default.size:
            raise invalid(
                f"{prefix}Feature: {spec.key} (data type: {CPP_NAMES[spec.dtype]}) is required "
                "but could not be found."
            )
        return list(np.broadcast_to(spec.default.ravel(), (spec.stride,)))
    count, kind = len(values), COUNTED[spec.dtype]
    if spec.is_variable:
        if count % max(spec.stride, 1):
            raise fault(
                spec.key,
                f"Number of {kind} values is not a multiple of stride length. Saw {count} values "
                f"but output shape is: {shapes.show(spec.shape)}",
            )
    elif count != spec.stride:
        raise fault(
            spec.key,
            f"Number of {kind} values != expected.  Values size: {count} but output shape: "
            f"{shapes.show(spec.shape)}",
        )
    return list(values)


def _batch_of(spec: _Dense, rows: Sequence[list[Any]]) -> Array:
    """Return the values of all examples, padded with the default if their number varies."""
    kind = spec.dtype.as_numpy_dtype
    width = max(map(len, rows), default=0) if spec.is_variable else spec.stride
    batch = np.empty((len(rows), width), kind)
    if spec.is_variable:
        batch[...] = spec.default.item() if spec.default.size else spec.dtype.as_numpy_dtype()
    for row, values in zip(batch, rows, strict=True):
        row[: len(values)] = values
    lengths = (width // max(spec.stride, 1),) if spec.is_variable else ()
    rest = spec.shape[1:] if spec.is_variable else spec.shape
    return batch.reshape(len(rows), *lengths, *(size or 0 for size in rest))


def sparse_rows(dtype: dtypes.DType, rows: Sequence[Sequence[Any]]) -> tuple[Array, Array, Array]:
    """Return the indices, the values and the shape of a sparse tensor with these rows."""
    indices = [(row, place) for row, values in enumerate(rows) for place in range(len(values))]
    flat = np.empty(len(indices), dtype.as_numpy_dtype)
    flat[:] = [value for values in rows for value in values]
    shape = np.array([len(rows), max(map(len, rows), default=0)], np.int64)
    return np.array(indices, np.int64).reshape(-1, 2), flat, shape


def _features(serialized: bytes) -> _Features:
    from google.protobuf import message

    from capstan.core import example_messages

    try:
        features: _Features = example_messages.Example.FromString(serialized).features.feature
    except message.DecodeError:
        text = serialized.decode(errors="backslashreplace")
        raise invalid(f"Could not parse example input, value: '{text}'") from None
    return features


def _specs(node: NodeContext, keys: Sequence[str], defaults: Sequence[Any]) -> list[_Dense]:
    specs = []
    for key, dtype, shape, value in zip(
        keys, node.attrs["Tdense"], node.attrs["dense_shapes"], defaults, strict=True
    ):
        spec = _Dense(key, dtype, tuple(shape.internal), np.asarray(value))
        if not spec.is_variable and spec.default.size not in (0, spec.stride):
            raise invalid(
                f"dense_defaults for {key} has shape {shapes.show(spec.default.shape)}, but its "
                f"feature has shape {shapes.show(spec.shape)}"
            )
        specs.append(spec)
    return specs


def _parse_example(node: NodeContext) -> Function:
    sparse_types: Sequence[dtypes.DType] = node.attrs["sparse_types"]
    sparse_count, dense_count = len(sparse_types), len(node.attrs["Tdense"])

    def parse(serialized: Array, names: Array, *others: Array) -> Any:
        keys = [attr_value.text(string(key, "key")) for key in others[: sparse_count + dense_count]]
        specs = _specs(node, keys[sparse_count:], others[sparse_count + dense_count :])
        sparse: list[list[Any]] = [[] for _ in sparse_types]
        dense: list[list[list[Any]]] = [[] for _ in specs]
        labels = [attr_value.text(name) for name in np.asarray(names, object).ravel()]
        for index, example in enumerate(np.asarray(serialized, object).ravel()):
            label = labels[index] if labels else "<unknown>"

            def fault(key: str, problem: str, label: str = label, index: int = index) -> Exception:
                return invalid(f"Name: {label}, Key: {key}, Index: {index}.  {problem}")

            features = _features(example)
            for rows, spec in zip(dense, specs, strict=True):
                rows.append(_dense_values(spec, features, fault, f"Name: {label}, "))
            for rows, key, dtype in zip(sparse, keys, sparse_types, strict=False):
                rows.append(_values(features, key, dtype, fault) or [])
        columns = [
            sparse_rows(dtype, rows) for dtype, rows in zip(sparse_types, sparse, strict=True)
        ]
        batches = [_batch_of(spec, rows) for spec, rows in zip(specs, dense, strict=True)]
        return _outputs(columns, batches)

    return parse


def _outputs(sparse: Sequence[tuple[Array, Array, Array]], dense: Sequence[Array]) -> Any:
    """Return all indices, then all values, then all shapes, then the dense values."""
    parts = [column for columns in zip(*sparse, strict=True) for column in columns]
    results = (*parts, *dense)
    return results[0] if len(results) == 1 else results


def _parse_single_example(node: NodeContext) -> Function:
    sparse_types: Sequence[dtypes.DType] = node.attrs["sparse_types"]
    sparse_keys = [attr_value.text(key) for key in node.attrs["sparse_keys"]]
    dense_keys = [attr_value.text(key) for key in node.attrs["dense_keys"]]

    def fault(key: str, problem: str) -> Exception:
        # TensorFlow does not say by how much the number of values is wrong.
        if " values != expected" in problem:
            problem = "Can't parse serialized Example."
        return invalid(f"Key: {key}.  {problem}")

    def parse(serialized: Array, *defaults: Array) -> Any:
        features = _features(string(serialized, "serialized"))
        dense = [
            _batch_of(spec, [_dense_values(spec, features, fault, "")])[0]
            for spec in _specs(node, dense_keys, defaults)
        ]
        sparse = []
        for key, dtype in zip(sparse_keys, sparse_types, strict=True):
            rows = [_values(features, key, dtype, fault) or []]
            indices, values, shape = sparse_rows(dtype, rows)
            sparse.append((indices[:, 1:], values, shape[1:]))
        return _outputs(sparse, dense)

    return parse


register(Kernel("ParseExample", _parse_example))
register(Kernel("ParseSingleExample", _parse_single_example))
