"""The kernel that reads one Example (core/util/example_proto_fast_parsing.cc).

Input pipelines call it for each example, so a feature takes as few steps as possible. A dense
feature that is not as expected becomes a column of one example, whose rules raise the errors.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import arrays, attr_value, dtypes
from capstan.core.arrays import Array
from capstan.kernels import example_columns, parsing
from capstan.kernels.example_columns import Dense
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string

Features = Mapping[str, Any]


def _parse(node: NodeContext) -> Function:
    keys = [attr_value.text(key) for key in node.attrs["sparse_keys"]]
    types: Sequence[dtypes.DType] = node.attrs["sparse_types"]
    dense_keys = [attr_value.text(key) for key in node.attrs["dense_keys"]]
    count = len(dense_keys)
    known = [node.constants[place] for place in range(1, count + 1) if place in node.constants]
    specs = parsing.dense_specs(node, dense_keys, known) if len(known) == count else None

    def parse(serialized: Array, *defaults: Array) -> Any:
        features = parsing.features_of(string(serialized, "serialized"))
        own_specs = specs or parsing.dense_specs(node, dense_keys, defaults)
        return parsing.outputs(
            [sparse(features, key, dtype) for key, dtype in zip(keys, types, strict=True)],
            [dense(features, spec) for spec in own_specs],
        )

    return parse


def _fault(_: int, key: str, problem: str) -> Exception:
    # TensorFlow does not say by how much the number of values is wrong.
    if " values != expected" in problem:
        problem = "Can't parse serialized Example."
    return invalid(f"Key: {key}.  {problem}")


def _lack(_: int, problem: str) -> Exception:
    return invalid(problem)


def sparse(features: Features, key: str, dtype: dtypes.DType) -> tuple[Array, Array, Array]:
    """Return the values of a feature as the parts of a sparse vector."""
    found = parsing.feature_values(features, key, dtype, _fault, 0) or ()
    count = len(found)
    indices = np.arange(count, dtype=np.int64).reshape(count, 1)
    return indices, _tensor(found, dtype, (count,)), np.array([count], np.int64)


def dense(features: Features, spec: Dense) -> Array:
    """Return a feature as a tensor, or its default.

    Raises:
        InvalidArgumentError: the values do not fit `spec`, or there is no value and no default.
    """
    found = parsing.feature_values(features, spec.key, spec.dtype, _fault, 0)
    if found is not None and len(found) == spec.stride and not spec.is_variable:
        return _tensor(found, spec.dtype, spec.shape)
    column = example_columns.column_of(spec.dtype, [found])
    batch = example_columns.dense(spec, column, _fault, _lack)
    return batch.reshape(batch.shape[1:])


def _tensor(values: Sequence[Any], dtype: dtypes.DType, shape: Any) -> Array:
    if dtype is not dtypes.string:
        return np.fromiter(values, dtype.as_numpy_dtype, len(values)).reshape(shape)
    if len(values) != 1:
        return arrays.strings(values, shape)
    array = np.empty(shape, object)
    array.fill(values[0])
    return array


register(Kernel("ParseSingleExample", _parse))
