"""A loop that computes one row of its results in each iteration."""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import while_ops
from capstan.framework import convert
from capstan.framework.raw import raw
from capstan.framework.tensor_array import TensorArray


def rows(stacked: Any, count: Any) -> TensorArray:
    """Return the `count` slices of a tensor along axis 0, for an iteration to read."""
    return TensorArray(stacked.dtype.base_dtype, count).unstack(stacked)


def results(
    iteration: Callable[[Any], Sequence[Any]], examples: Sequence[Any], count: Any
) -> list[Any]:
    """Return the results of `iteration` for the numbers below `count`, stacked along a new axis.

    Each iteration returns tensors with the types and static shapes of `examples`.
    """
    arrays = [
        TensorArray(example.dtype.base_dtype, count, element_shape=example.shape)
        for example in examples
    ]

    def step(i: Any, arrays: list[Any]) -> Any:
        row = iteration(i)
        return i + 1, [array.write(i, each) for array, each in zip(arrays, row, strict=True)]

    _, arrays = while_ops.while_loop(
        lambda i, _: raw.Less(i, count),
        step,
        (convert.constant(0), arrays),
        return_same_structure=True,
    )
    return [array.stack() for array in arrays]
