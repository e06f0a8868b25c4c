"""Operations that make tensors of a few numbers, and `Assert`."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from capstan.framework import opdef
from op_cases.drawing import Case, Draw, Strategy, numbers, small_shapes


@st.composite
def fill(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    sizes = np.array(draw(small_shapes), draw(st.sampled_from([np.int32, np.int64])))
    return Case([sizes, draw(numbers(row, dtype)).array(())], structural=frozenset({0}))


@st.composite
def range_(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    kind = (dtype or draw(st.sampled_from(row.types["Tidx"]))).as_numpy_dtype
    start, count = draw(st.integers(-5, 5)), draw(st.integers(0, 6))
    step = draw(st.sampled_from([1, 2, 3, -1, -2]))
    bounds = (start, start + step * count, step)
    return Case([np.asarray(kind(bound)) for bound in bounds], structural=frozenset({0, 1, 2}))


@st.composite
def line(draw: Draw, row: opdef.OpDef, dtype: Any = None) -> Case:
    give = draw(numbers(row, dtype))
    count = np.asarray(np.int32(draw(st.integers(1, 5))))
    return Case([give.array(()), give.array(()), count], structural=frozenset({0, 1, 2}))


def assertion(row: opdef.OpDef, dtype: Any = None) -> st.SearchStrategy[Case]:
    data = [np.array([1, 2], np.int32), np.array([b"x"], object)]
    return st.just(Case([np.asarray(np.bool_(True)), data]))


CASES: dict[str, Strategy] = {
    "Fill": fill, "Range": range_, "LinSpace": line, "Assert": assertion,
}  # fmt: skip
