"""A random call, and the numbers, types and shapes from which strategies draw its arguments."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from capstan.core import dtypes, elementwise
from capstan.framework import opdef


@dataclass(frozen=True)
class Case:
    """The arguments of one call: arrays, or lists of them.

    `structural` holds the positions of shapes, axes and indices.
    """

    inputs: Sequence[Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    structural: frozenset[int] = frozenset()


Draw = Callable[[Any], Any]
Strategy = Callable[..., st.SearchStrategy[Case]]

small_shapes = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
solid_shapes = arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=3)


class Numbers:
    """Gives out distinct pseudo-random numbers of one type."""

    def __init__(self, seed: int, dtype: Any, count: int = 200) -> None:
        self.random = np.random.default_rng(seed)
        self.dtype = np.dtype(dtype)
        pool = self.random.permutation(count)
        if elementwise.is_number(self.dtype):
            self.pool = ((pool + 0.5 - count / 2) * 0.1).astype(self.dtype)
        elif self.dtype.kind == "b":
            self.pool = pool % 2 == 0
        elif self.dtype.kind == "O":
            self.pool = np.array([b"%d" % number for number in pool], object)
        else:
            # The numbers fit int8 and are never 0.
            self.pool = (pool % 90 + 1).astype(self.dtype)
        self.at = 0

    def array(self, shape: Sequence[int]) -> Any:
        count = int(np.prod(shape))
        self.at += count
        assert self.at <= len(self.pool)
        return self.pool[self.at - count : self.at].reshape(tuple(shape))


def element_types(row: opdef.OpDef, attribute: str = "T") -> tuple[dtypes.DType, ...]:
    """Return the types to test: for ops that take any type, a selection of types.

    `oracle/test_complex_arithmetic.py` tests complex numbers, which have no order.
    """
    common = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.bool_, dtypes.string)
    allowed = row.types.get(attribute, common)
    return tuple(each for each in allowed if each is not dtypes.variant and not each.is_complex)


@st.composite
def numbers(
    draw: Draw, row: opdef.OpDef, dtype: dtypes.DType | None, attribute: str = "T"
) -> Numbers:
    kind = dtype or draw(st.sampled_from(element_types(row, attribute)))
    return Numbers(draw(st.integers(0, 1000)), kind.as_numpy_dtype)


@st.composite
def unary(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    return Case([draw(numbers(row, dtype)).array(draw(small_shapes))])


@st.composite
def ranked(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw one operand that is not a scalar."""
    shape = draw(arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3))
    return Case([draw(numbers(row, dtype)).array(shape)])


@st.composite
def several(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    """Draw a list of operands of one shape."""
    give, shape = draw(numbers(row, dtype)), draw(small_shapes)
    return Case([[give.array(shape) for _ in range(draw(st.integers(1, 4)))]])
