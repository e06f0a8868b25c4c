"""Static shapes of a new operation, from the shape rule of its OpDef."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from capstan.core import shapes
from capstan.core.arrays import Array
from capstan.framework import opdef


class _Constants(Mapping[int, Array]):
    """The known values of the inputs, looked up only when a shape rule reads them."""

    def __init__(self, value_of: Callable[[int], Array | None], count: int) -> None:
        self._value_of = value_of
        self._count = count
        self.asked: dict[int, Array] = {}

    def __getitem__(self, index: int) -> Array:
        value = self._value_of(index) if 0 <= index < self._count else None
        if value is None:
            raise KeyError(index)
        self.asked[index] = value
        return value

    def __iter__(self) -> Iterator[int]:
        return (index for index in range(self._count) if index in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def output_shapes(
    row: opdef.OpDef,
    name: str,
    attrs: Mapping[str, Any],
    input_shapes: Sequence[shapes.Shape],
    value_of: Callable[[int], Array | None],
    sizes_of: Callable[[int], shapes.Shape],
) -> Sequence[shapes.Shape] | None:
    """Return the static shape of every output of a node, or None if the op has no shape rule.

    Raises:
        ValueError: the inputs do not fit the op. The message is TensorFlow's.
    """
    if row.shape is None:
        return None
    constants = _Constants(value_of, len(input_shapes))
    try:
        return row.shape(opdef.ShapeContext(input_shapes, attrs, constants, sizes_of))
    except ValueError as error:
        given = ", ".join(shapes.show(shape) for shape in input_shapes)
        message = f"{error} for '{name}' (op: '{row.name}') with input shapes: {given}"
        if constants.asked:
            values = ", ".join(
                f"input[{index}] = <{_summary(value)}>"
                for index, value in sorted(constants.asked.items())
            )
            message += f" and with computed input tensors: {values}"
        raise ValueError(message + ".") from None


def _summary(value: Array) -> str:
    """Write a value as TensorFlow's Tensor::SummarizeValue does: up to ten elements, no commas."""
    return str(np.array2string(value, separator=" ", threshold=10, edgeitems=5))
