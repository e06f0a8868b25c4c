"""Kernels that keep ragged tensors in variants.

Sources: core/kernels/ragged_tensor_{to,from}_variant_op.cc.
"""

from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.kernels.ragged import ends, uniform
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.resources import variant
from capstan.resources.ragged_variant import RaggedVariant


def _encode(node: NodeContext) -> Function:
    is_batch = node.attrs["batched_input"]

    def encode(*inputs: Array) -> Array:
        *nested, values = (np.array(part) for part in inputs)
        if not is_batch:
            return variant.scalar(RaggedVariant(tuple(nested), values))
        if not nested:
            return _dense_rows(values)
        if any(not len(splits) for splits in nested):
            raise invalid("Ragged splits may not be empty")
        rows = np.empty(len(nested[0]) - 1, object)
        for number in range(len(rows)):
            rows[number] = _row(nested, values, number)
        return rows

    return encode


def _gradient(node: NodeContext) -> Function:
    kind = node.attrs["Tvalues"].as_numpy_dtype

    def gradient(encoded: Array, row_splits: Array, sizes: Array) -> Array:
        shape = tuple(sizes.tolist())
        if encoded.ndim and not row_splits.ndim:
            return _dense_gradient(encoded, shape, kind)
        ends = row_splits.ravel()
        parts = []
        for number, part in enumerate(encoded.ravel()):
            if isinstance(part, RaggedVariant):
                parts.append(part.values)
            else:
                # No result depends on this part, so its gradient is missing.
                is_row = encoded.ndim
                size = int(ends[number + 1] - ends[number]) if is_row else shape[0]
                parts.append(np.zeros((size, *shape[1:]), kind))
        if len(parts) == 1:
            return np.array(parts[0])
        return np.concatenate(parts) if parts else np.zeros(shape, kind)

    return gradient


def _dense_rows(values: Array) -> Array:
    """Return the slices of a tensor along axis 0, as variants without ragged axes."""
    if not values.ndim:
        raise invalid("Can't unbatch rank-0 tensor.")
    rows = np.empty(len(values), object)
    for number, row in enumerate(values):
        rows[number] = RaggedVariant((), np.asarray(row, values.dtype))
    return rows


def _dense_gradient(encoded: Array, shape: tuple[int, ...], kind: Any) -> Array:
    """Return the gradient of a tensor whose slices were encoded. A missing slice gives zeros."""
    found = np.zeros(shape, kind)
    for number, part in enumerate(encoded):
        if isinstance(part, RaggedVariant):
            found[number] = part.values
    return found


def _row(nested: list[Array], values: Array, number: int) -> RaggedVariant:
    """Return one row of a ragged tensor."""
    start, limit = nested[0][number : number + 2]
    splits = []
    for inner in nested[1:]:
        part = inner[start : limit + 1]
        splits.append(part - part[0])
        start, limit = part[0], part[-1]
    return RaggedVariant(tuple(splits), values[start:limit])


def _decode(node: NodeContext) -> Function:
    attrs = node.attrs
    before, after = attrs["input_ragged_rank"], attrs["output_ragged_rank"]
    values_type, splits_type = attrs["Tvalues"], attrs["Tsplits"]
    kind = splits_type.as_numpy_dtype

    def decode(encoded: Array) -> Any:
        count = after - encoded.ndim if before == -1 else before
        if count < 0 or after != encoded.ndim + count:
            raise invalid(
                "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
                f"output_ragged_rank: {after}, input_ragged_rank: {count}, "
                f"encoded_variant.dims(): {encoded.ndim}."
            )
        parts = encoded.reshape(-1).tolist()
        for number, part in enumerate(parts):
            _check(number, part, count, values_type, splits_type)
        if not encoded.ndim:
            (part,) = parts
            return (*part.splits, part.values) if part.splits else part.values
        if not parts:
            splits = [np.zeros(1, kind)] * after
            return (*splits, np.zeros(0, values_type.as_numpy_dtype))
        if len({part.values.ndim for part in parts}) > 1:
            raise invalid("Rank of values must match for all components")
        if not all(part.splits or part.values.ndim for part in parts):
            raise invalid("Each component without splits must have values with at least one axis")
        lengths = [len(part.splits[0]) - 1 if part.splits else len(part.values) for part in parts]
        inner = [
            ends(np.concatenate([np.diff(part.splits[axis]) for part in parts]), kind)
            for axis in range(count)
        ]
        values = np.concatenate([part.values for part in parts])
        return (*uniform(encoded.shape, kind), ends(np.array(lengths), kind), *inner, values)

    return decode


def _check(
    number: int, part: Any, count: int, values_type: dtypes.DType, splits_type: dtypes.DType
) -> None:
    """Raise InvalidArgumentError unless a variant is a ragged tensor with these types."""
    if not isinstance(part, RaggedVariant):
        shown = getattr(part, "type_name", "no value")
        raise invalid(f"Input Variant element at index {number} doesn't hold a Tensor: {shown}")
    if len(part.splits) != count:
        raise invalid(
            "Encoded input Variant must hold either input_ragged_rank + 1 Tensors or an empty "
            f"Tensor (zero splits Tensors, 1 values Tensor), input_ragged_rank: {count}, but it "
            f"holds {len(part.splits) + 1} Tensors"
        )
    for name, held, wanted in (
        *(("splits", splits, splits_type) for splits in part.splits),
        ("values", part.values, values_type),
    ):
        found = dtypes.as_dtype(held.dtype)
        if found is not wanted:
            raise invalid(
                f"Expected {name} Tensor dtype: {dtypes.cpp_name(wanted)}, found: "
                f"{dtypes.cpp_name(found)}"
            )


register(Kernel("RaggedTensorToVariant", _encode))
register(Kernel("RaggedTensorToVariantGradient", _gradient))
register(Kernel("RaggedTensorFromVariant", _decode))
