"""Ops that read Example protocol buffers (python/ops/parsing_ops.py)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from capstan.api import array_ops, sparse_math_ops
from capstan.api.scoped import scoped
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, sparse_tensor
from capstan.framework.raw import raw

__all__ = [
    "FixedLenFeature", "FixedLenSequenceFeature", "SparseFeature", "VarLenFeature", "parse_example",
    "parse_single_example",
]  # fmt: skip


class VarLenFeature(NamedTuple):
    """A feature that has any number of values. It becomes a SparseTensor."""

    dtype: Any


class FixedLenFeature(NamedTuple):
    """A feature that has the same number of values in every example. It becomes a tensor.

    If an example lacks the feature, it gets `default_value`, or the step fails without one.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature that is a list of rows of `shape`. It becomes a tensor.

    In a batch, shorter lists are padded with `default_value`, or with zeros. `allow_missing` must
    be true: an example without the feature has an empty list.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


class SparseFeature(NamedTuple):
    """A sparse vector in two features: the places and the values. It becomes a SparseTensor.

    With a list of keys and a list of sizes, it is a sparse tensor with as many axes. If
    `already_sorted`, the places are in order.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


@dataclass(slots=True)
class Columns:
    """The features to read, in the form in which the operations take them."""

    keys: list[str] = field(default_factory=list)
    types: list[dtypes.DType] = field(default_factory=list)
    shapes: list[tensor_shape.TensorShape] = field(default_factory=list)
    defaults: list[Any] = field(default_factory=list)
    sparse_keys: list[str] = field(default_factory=list)
    sparse_types: list[dtypes.DType] = field(default_factory=list)

    def results(self, outputs: Any) -> dict[str, Any]:
        """Return the outputs of an operation by the names of the features."""
        sparse = outputs.sparse_indices, outputs.sparse_values, outputs.sparse_shapes
        return self.named(*sparse, outputs.dense_values)

    def named(self, indices: Any, values: Any, shapes: Any, dense: Any) -> dict[str, Any]:
        """Return tensors by the names of the features: the parts of sparse tensors, and tensors."""
        parts = zip(indices, values, shapes, strict=True)
        sparse = [sparse_tensor.SparseTensor(*part) for part in parts]
        names = [*self.sparse_keys, *self.keys]
        return dict(zip(names, [*sparse, *dense], strict=True))


def parse_example(
    serialized: Any,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: Any = None,
) -> dict[str, Any]:
    """Return the features of a vector of serialized Examples, by name.

    The first axis of each tensor is the example. `features` maps names to FixedLenFeature,
    FixedLenSequenceFeature and VarLenFeature. `example_names` are names for error messages.

    Raises:
        TypeError: `features` is not a mapping.
        ValueError: `features` is empty, or a feature is invalid.
    """
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    columns = columns_of(stored(features))
    with scoped(name, "ParseExample", [serialized, example_names]):
        names: Any = convert.constant([], dtypes.string)
        outputs = raw.ParseExample(
            serialized,
            names if example_names is None else example_names,
            columns.sparse_keys,
            columns.keys,
            default_tensors(columns),
            Nsparse=len(columns.sparse_keys),
            Ndense=len(columns.keys),
            sparse_types=columns.sparse_types,
            Tdense=columns.types,
            dense_shapes=columns.shapes,
        )
        return composed(features, columns.results(outputs))


def parse_single_example(
    serialized: Any,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: Any = None,
) -> dict[str, Any]:
    """Return the features of one serialized Example, by name, as `parse_example` does.

    `serialized` is a scalar. With `example_names`, a scalar, error messages have this name.

    Raises:
        TypeError: `features` is not a mapping.
        ValueError: `features` is empty, a feature is invalid, or `serialized` is not a scalar.
    """
    if not features:
        raise ValueError("Missing features.")
    if example_names is not None:
        strings = [array_ops.expand_dims(value, 0) for value in (serialized, example_names)]
        batch = parse_example(strings[0], features, name, strings[1])
        return {key: _first_row(tensor) for key, tensor in batch.items()}
    columns = columns_of(stored(features))
    with scoped(name, "ParseSingleExample", [serialized]):
        outputs = raw.ParseSingleExample(
            serialized,
            default_tensors(columns),
            num_sparse=len(columns.sparse_keys),
            sparse_keys=columns.sparse_keys,
            dense_keys=columns.keys,
            sparse_types=columns.sparse_types,
            Tdense=columns.types,
            dense_shapes=columns.shapes,
        )
        return composed(features, columns.results(outputs))


def stored(features: Mapping[str, Any]) -> dict[str, Any]:
    """Return the features that an Example holds, with the parts of each SparseFeature.

    Raises:
        TypeError: `features` is not a mapping.
        ValueError: a SparseFeature is invalid, or two features have one key and differ.
    """
    check_names(features)
    found = {
        key: feature for key, feature in features.items() if not isinstance(feature, SparseFeature)
    }
    for key, feature in features.items():
        if not isinstance(feature, SparseFeature):
            continue
        for part in ("index_key", "value_key", "dtype"):
            if not getattr(feature, part):
                raise ValueError(f"Missing {part} for SparseFeature {feature}.")
        parts = [(each, dtypes.int64) for each in _index_keys(feature)]
        for part, dtype in [*parts, (feature.value_key, feature.dtype)]:
            wanted = VarLenFeature(dtypes.as_dtype(dtype))
            other = found.setdefault(part, wanted)
            if not isinstance(other, VarLenFeature) or dtypes.as_dtype(other.dtype) != wanted.dtype:
                raise ValueError(
                    f"Feature {part} of SparseFeature {key} is {wanted} here and {other} elsewhere"
                )
    return found


def check_names(features: Any) -> None:
    """Raise TypeError unless `features` maps names to features."""
    if not isinstance(features, Mapping):
        raise TypeError(
            f"Features must be a dict from names to features, not {features!r}. Write for example "
            "{'x': tf.FixedLenFeature([], tf.float32)}"
        )


def _index_keys(feature: SparseFeature) -> list[str]:
    return [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)


def composed(features: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tensors of `features`, for which `found` has the tensors of `stored`."""
    results = {}
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, SparseFeature):
            places = [found[each] for each in _index_keys(feature)]
            is_list = not isinstance(feature.index_key, str)
            results[key] = sparse_math_ops.sparse_merge(
                places if is_list else places[0],
                found[feature.value_key],
                feature.size,
                already_sorted=feature.already_sorted,
            )
        else:
            results[key] = found[key]
    return results


def columns_of(features: Mapping[str, Any]) -> Columns:
    """Return the features in the order of their names.

    Raises:
        ValueError: a feature is invalid.
    """
    columns = Columns()
    for key in sorted(features):
        feature = features[key]
        if not isinstance(feature, FixedLenFeature | FixedLenSequenceFeature | VarLenFeature):
            raise ValueError(f"Invalid feature {key}:{feature}.")  # noqa: TRY004 - TensorFlow's
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        if isinstance(feature, VarLenFeature):
            columns.sparse_keys.append(key)
            columns.sparse_types.append(dtypes.as_dtype(feature.dtype))
            continue
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}.")
        columns.keys.append(key)
        columns.types.append(dtypes.as_dtype(feature.dtype))
        columns.shapes.append(_shape(key, feature))
        columns.defaults.append(feature.default_value)
    return columns


def _first_row(batch: Any) -> Any:
    """Return the only example of a batch."""
    if not isinstance(batch, sparse_tensor.SparseTensor):
        return array_ops.squeeze(batch, [0])
    return sparse_tensor.SparseTensor(batch.indices[:, 1:], batch.values, batch.dense_shape[1:])


def _shape(key: str, feature: FixedLenFeature | FixedLenSequenceFeature) -> Any:
    """Return the shape of a feature in one example. The number of rows of a list is unknown."""
    shape = tensor_shape.as_shape(feature.shape)
    if isinstance(feature, FixedLenSequenceFeature):
        if not feature.allow_missing:
            raise ValueError(
                "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
            )
        return tensor_shape.TensorShape([None, *feature.shape])
    if shape.ndims and shape.as_list()[0] is None:
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using "
            "FixedLenSequenceFeature."
        )
    if not shape.is_fully_defined():
        raise ValueError(
            f"All dimensions of shape for feature {key} need to be known but received "
            f"{feature.shape!s}."
        )
    return shape


def default_tensors(columns: Columns) -> list[Any]:
    """Return the defaults as tensors.

    A feature without default has an empty tensor. A list without default has its padding, "" or 0.
    """
    tensors = []
    for key, dtype, shape, value in zip(
        columns.keys, columns.types, columns.shapes, columns.defaults, strict=True
    ):
        plain = re.sub("[^A-Za-z0-9_.\\-/]", "_", key)
        is_list = bool(shape.ndims) and shape.as_list()[0] is None
        if is_list and value is None:
            tensors.append(convert.convert_to_tensor("" if dtype is dtypes.string else 0, dtype))
        elif value is None:
            tensors.append(convert.constant([], dtype))
        else:
            name = f"padding_{plain}" if is_list else f"key_{plain}"
            tensor = convert.convert_to_tensor(value, dtype, name)
            tensors.append(array_ops.reshape(tensor, [] if is_list else shape))
    return tensors
