"""What the kernels of recurrent networks in one op share: checks of shapes, gates, precision."""

from collections.abc import Callable
from typing import Any

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.kernels.registry import Function, NodeContext
from capstan.kernels.rejection import invalid


def check_sizes(*wanted: tuple[str, Array, tuple[int, ...]]) -> None:
    """Check that each named array has the shape that is given with it.

    Raises:
        InvalidArgumentError: an array has another shape.
    """
    for name, array, shape in wanted:
        if array.shape == shape:
            continue
        if array.ndim != len(shape):
            raise invalid(f"{name} must be {len(shape)}D, but has the shape {show(array.shape)}")
        axis = next(axis for axis, size in enumerate(shape) if array.shape[axis] != size)
        raise invalid(
            f"{name}.dims({axis}) must be {shape[axis]} because of the shapes of x and the state, "
            f"but it is {array.shape[axis]}: {array.shape[axis]} vs. {shape[axis]}"
        )


def sigmoid(gates: Array) -> None:
    """Put the logistic function of each element in place of the element."""
    # For very negative elements, the exponential is infinite, and the result is 0, as it should be.
    np.negative(gates, gates)
    np.exp(gates, gates)
    np.add(gates, 1, gates)
    np.reciprocal(gates, gates)


def in_single_precision(make: Callable[[NodeContext], Function]) -> Callable[..., Function]:
    """Let a kernel with several outputs compute float16 in float32, which is faster and exacter."""

    def make_wide(node: NodeContext) -> Function:
        function = make(node)
        if node.output_dtypes[0] is not dtypes.float16:
            return function

        def run(*inputs: Array) -> Any:
            wide = (x.astype(np.float32) if x.dtype == np.float16 else x for x in inputs)
            return tuple(each.astype(np.float16) for each in function(*wide))

        return run

    return make_wide
