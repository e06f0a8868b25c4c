"""The types and the static shapes of the outputs of a new operation."""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.core import dtypes, shapes
from capstan.framework import inference, known_sizes, opdef
from capstan.framework.tensor import Tensor


def shapes_of(
    row: opdef.OpDef, name: str, attrs: Mapping[str, Any], inputs: Sequence[Tensor]
) -> Sequence[shapes.Shape] | None:
    """Return what is known of the shapes. `name` is that of the operation, for errors.

    Raises:
        ValueError: the inputs do not fit the op.
    """
    known = [tensor.static_shape for tensor in inputs]
    try:
        return inference.output_shapes(
            row,
            name,
            attrs,
            known,
            lambda index: known_sizes.value(inputs[index]),
            lambda index: known_sizes.of(inputs[index]),
        )
    except ValueError:
        # A value from outside a branch refuses an operation only if the branch runs.
        own = [not known_sizes.crosses_switch(tensor) for tensor in inputs]
        if all(own):
            raise
        return inference.output_shapes(
            row,
            name,
            attrs,
            known,
            lambda index: known_sizes.value(inputs[index]) if own[index] else None,
            lambda index: known_sizes.of(inputs[index]) if own[index] else None,
        )


def types_of(row: opdef.OpDef | None, attrs: Mapping[str, Any]) -> list[dtypes.DType]:
    """Return the types. They are reference types for outputs that are references."""
    if row is None:
        return []
    return [
        dtype.ref_dtype if is_ref else dtype
        for dtype, is_ref in opdef.expand(row.output_arguments, attrs)
    ]
