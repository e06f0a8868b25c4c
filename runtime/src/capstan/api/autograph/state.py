"""The variables of a converted block, as tensors that a conditional or a loop passes on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from capstan.api.autograph.undefined import is_undefined
from capstan.framework import composite, convert, nest
from capstan.framework import graph as graphs
from capstan.framework.tensor_array import TensorArray

GetState = Callable[[], tuple[Any, ...]]
SetState = Callable[[Sequence[Any]], None]

_PLAIN = (bool, int, float, complex, str, bytes, np.ndarray, np.generic)


class Variables(NamedTuple):
    """The variables that a converted block shares with the function around it."""

    get: GetState
    set: SetState
    names: Sequence[str]


def is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor or a variable, whose value only a step knows."""
    return isinstance(value, graphs.Tensor) or (
        has(value, "_as_tensor") and has(value, "read_value")
    )


def has(value: Any, name: str) -> bool:
    """Return whether the class of a value has an attribute.

    A value of the program, such as a mock, may have all attributes, or raise any error for one.
    """
    return hasattr(type(value), name)


def can_be_passed(leaf: Any) -> bool:
    """Return whether a value can be a tensor of a conditional or a loop."""
    return (
        isinstance(leaf, (TensorArray, graphs.Tensor, *_PLAIN))
        or is_tensor(leaf)
        or composite.is_composite(leaf)
    )


def converted(leaf: Any) -> Any:
    """Return a leaf that can be passed as tensors."""
    if isinstance(leaf, TensorArray) or composite.is_composite(leaf):
        return leaf
    return convert.convert_to_tensor(leaf)


@dataclass(frozen=True, slots=True)
class Packing:
    """The structure of values, of which those that are not tensors stay what they are."""

    values: Sequence[Any]

    def passed(self, values: Sequence[Any] | None = None) -> list[Any]:
        """Return the leaves that are passed, of `values` or of the first values."""
        leaves = nest.flatten(list(self.values if values is None else values))
        return [converted(leaf) for leaf in leaves if can_be_passed(leaf)]

    def packed(self, passed: Sequence[Any]) -> list[Any]:
        """Return the values with the leaves that are passed replaced by `passed`."""
        rest = iter(passed)
        made: list[Any] = nest.mapped(
            lambda leaf: next(rest) if can_be_passed(leaf) else leaf, list(self.values)
        )
        return made


def undefined(names: Sequence[str], values: Sequence[Any]) -> list[str]:
    """Return the names whose values are undefined."""
    return [name for name, value in zip(names, values, strict=False) if is_undefined(value)]
