"""Rows that have the same index, combined by a function of NumPy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capstan.kernels import rows


@pytest.mark.parametrize(("ufunc", "empty"), [(np.maximum, -9), (np.minimum, 9), (np.multiply, 1)])
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    count=st.sampled_from([0, 1, 10, 1000]),
    below=st.sampled_from([1, 5, 600]),
    shape=st.sampled_from([(), (1,), (3,), (2, 2), (0,)]),
)
def test_rows_of_one_index_are_combined(
    ufunc: np.ufunc, empty: int, seed: int, count: int, below: int, shape: tuple[int, ...]
) -> None:
    draw: Any = np.random.default_rng(seed)
    indices = draw.integers(0, below, count)
    values = draw.choice([-2.0, -1.0, 0.5, 1.0], (count, *shape)).astype(np.float32)
    found, expected = (np.full((below, *shape), empty, np.float32) for _ in range(2))
    rows.combined(ufunc, found, indices, values)
    ufunc.at(expected, indices, values)
    np.testing.assert_array_equal(found, expected)
