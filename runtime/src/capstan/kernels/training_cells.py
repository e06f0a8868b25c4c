"""The variables of an optimizer's update: their locks, shapes and precision.

An update of several variables takes their locks in the order of `variable.in_lock_order`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from capstan.core import dtypes
from capstan.core.arrays import Array
from capstan.core.shapes import show
from capstan.framework import opdef
from capstan.kernels.registry import NodeContext
from capstan.kernels.rejection import invalid
from capstan.resources import variable

Cell = variable.Variable

_ARRAYS: Final = ("grad", "delta", "indices")
"""The names of the inputs of updates that are neither variables nor hyperparameters."""


def precision(node: NodeContext) -> Callable[[Iterable[Array]], Sequence[Array]]:
    """Return a function that returns arrays in the precision in which formulas compute."""
    return _wide if node.attrs["T"] is dtypes.bfloat16 else tuple


def _wide(arrays: Iterable[Array]) -> Sequence[Array]:
    return [array.astype(np.float32) for array in arrays]


def scalars(node: NodeContext, count: int) -> Callable[[Sequence[Any]], None]:
    """Return a function that checks the hyperparameters among the inputs of an update.

    The first `count` inputs are variables. The function raises InvalidArgumentError if a
    hyperparameter is not a scalar. It does not look at those that are known to be scalars.
    """
    arguments = opdef.lookup(node.op).input_arguments
    unknown = [
        (index, argument.name)
        for index, argument in enumerate(arguments)
        if index >= count and argument.name not in _ARRAYS and node.input_shapes[index] != ()
    ]

    def check(inputs: Sequence[Any]) -> None:
        for index, name in unknown:
            if inputs[index].ndim:
                raise invalid(f"{name} is not a scalar: {show(inputs[index].shape)}")

    return check


def same_type(cells: Sequence[Cell], arrays: Sequence[Array], dtype: np.dtype[Any]) -> None:
    """Check that an update of elements of `dtype` fits the values `arrays` of the variables.

    Raises:
        InvalidArgumentError: a variable has elements of another type.
    """
    for cell, array in zip(cells, arrays, strict=True):
        if array.dtype != dtype:
            raise invalid(
                f"Variable {cell.name!r} has elements of {dtypes.as_dtype(array.dtype).name}, but "
                f"the update has elements of {dtypes.as_dtype(dtype).name}"
            )


def same_shape(names: Sequence[str], arrays: Sequence[Array]) -> None:
    """Check that the named arrays have one shape.

    Raises:
        InvalidArgumentError: an array has another shape than the first.
    """
    shape = arrays[0].shape
    for name, array in zip(names, arrays, strict=True):
        if array.shape != shape:
            raise invalid(
                f"{names[0]} and {name} do not have the same shape{show(shape)} {show(array.shape)}"
            )


class Locked:
    """Holds the locks of several variables.

    Raises:
        InvalidArgumentError: a variable occurs twice, so its lock would be taken twice.
    """

    __slots__ = ("_cells",)

    def __init__(self, cells: Sequence[Cell]) -> None:
        if len(set(cells)) < len(cells):
            raise invalid(f"Variable {cells[0].name!r} cannot be its own slot")
        self._cells = variable.in_lock_order(*cells)

    def __enter__(self) -> None:
        for cell in self._cells:
            cell.lock.acquire()

    def __exit__(self, *_: object) -> None:
        for cell in self._cells:
            cell.lock.release()
