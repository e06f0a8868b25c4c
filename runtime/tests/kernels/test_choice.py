"""Selection by a condition gives the values of `np.where`, bit by bit."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capstan.core import dtypes
from capstan.kernels import choice


@pytest.mark.parametrize("has_out", [False, True])
@pytest.mark.parametrize(
    "dtype",
    [
        np.bool_, np.uint8, np.float16, dtypes.bfloat16.as_numpy_dtype, np.float32, np.float64,
        np.complex64, np.complex128, np.int64, np.object_,
    ],
)  # fmt: skip
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 1000),
    size=st.sampled_from([0, 1, 8191, 8192, 40_000, 70_001]),
    kind=st.sampled_from(["flat", "matrix", "strided", "scalar", "broadcast"]),
)
def test_the_values_are_those_of_where(
    dtype: Any, has_out: bool, seed: int, size: int, kind: str
) -> None:
    draw = np.random.default_rng(seed)
    x, y = (draw.normal(size=size).astype(dtype) for _ in range(2))
    if x.dtype.kind == "f":
        x[::7], y[::5] = np.nan, -0.0
    condition = draw.random(size) > 0.5
    match kind:
        case "matrix":
            x, y, condition = (each[: size // 2 * 2].reshape(-1, 2) for each in (x, y, condition))
        case "strided":
            x, y, condition = (each[::-2] for each in (x, y, condition))
        case "scalar":
            condition = np.array(seed % 2 == 0)
        case "broadcast":
            y = np.ones((), dtype)
    before = x.copy(), y.copy(), condition.copy()
    out = np.empty_like(x) if has_out else None
    found = choice.choose(condition, x, y, out)
    expected = np.where(condition, x, y)
    assert found.dtype == expected.dtype
    assert out is None or found is out
    if dtype is np.object_:
        np.testing.assert_array_equal(found, expected)
    else:
        assert found.tobytes() == expected.tobytes()
    for one, other in zip(before, (x, y, condition), strict=True):
        assert one.tobytes() == other.tobytes()
