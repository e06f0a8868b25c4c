"""Kernels of optionals and of `FakeParam` (core/kernels/optional_ops.cc)."""

from typing import Any

import numpy as np

from capstan.core import dtypes, shapes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels import variants
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid
from capstan.kernels.stack import keeper
from capstan.resources import variant
from capstan.resources.optional import Optional
from capstan.resources.tensor_list import shown


def _none() -> Array:
    return variant.scalar(Optional())


def _from_value(node: NodeContext) -> Function:
    types, keep = tuple(node.attrs["Toutput_types"]), keeper(node)

    def from_value(*components: Any) -> Array:
        return variant.scalar(Optional(tuple(map(keep, components)), types))

    return from_value


def _optional_in(tensor: Any, op: str) -> Optional:
    if tensor.ndim:
        raise invalid(
            f"Input to {op} must be a scalar tensor containing an OptionalVariant object."
        )
    found = tensor.item()
    if not isinstance(found, Optional):
        raise invalid(f"Input to {op} must be an OptionalVariant object.")
    return found


def _has_value(tensor: Any) -> Any:
    return np.bool_(_optional_in(tensor, "OptionalHasValue").values is not None)


def _get_value(node: NodeContext) -> Function:
    types = node.attrs["output_types"]
    declared = [shape.internal for shape in node.attrs["output_shapes"]]

    def get_value(tensor: Any) -> Any:
        found = _optional_in(tensor, "OptionalGetValue")
        if found.values is None:
            raise invalid("The given optional does not have a value.")
        if len(found.values) != len(types):
            raise invalid(
                f"The given optional has {len(found.values)} components, expected {len(types)}"
            )
        for index, value in enumerate(found.values):
            _check_component(index, value, found.types[index], types[index], declared[index])
        return found.values[0] if len(types) == 1 else found.values

    return get_value


def _check_component(
    index: int, value: Any, kind: dtypes.DType, wanted: dtypes.DType, shape: shapes.Shape
) -> None:
    if kind is not wanted:
        raise invalid(
            f"The given optional does not match the expected type for component {index}. Expected: "
            f"{dtypes.cpp_name(wanted)}. Actual: {dtypes.cpp_name(kind)}."
        )
    if not shapes.is_compatible(shape, value.shape):
        raise invalid(
            f"The given optional does not match the expected shape for component {index}. "
            f"Expected: {shown(shape)}. Actual: {show(value.shape)}."
        )


def _fake(node: NodeContext) -> Function:
    dtype, shape = node.attrs["dtype"], node.attrs["shape"].internal
    if dtype is dtypes.resource:
        return lambda: None
    value = variants.zeros_of(node)(tuple(size or 0 for size in shape or ()), dtype)
    return lambda: value


register(Kernel("OptionalNone", constantly(_none)))
register(Kernel("OptionalFromValue", _from_value))
register(Kernel("OptionalHasValue", constantly(_has_value)))
register(Kernel("OptionalGetValue", _get_value))
register(Kernel("FakeParam", _fake))
