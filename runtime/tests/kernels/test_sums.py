"""Sums along axes: those of float64 numbers, whichever way they are computed."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.kernels import sums


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 1000),
    shape=st.sampled_from(
        [
            (), (5,), (4096,), (1, 4096), (4096, 1), (300, 8), (8, 300), (3, 40, 50), (50, 40, 3),
            (40, 3, 50), (4, 5, 6, 40), (600, 700), (0, 5), (2, 8, 8, 64), (3000, 2),
        ]
    ),
    keep=st.booleans(),
    has_out=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64, np.int64]),
    is_transposed=st.booleans(),
    data=st.data(),
)  # fmt: skip
def test_a_sum_is_that_of_numpy(
    seed: int,
    shape: tuple[int, ...],
    keep: bool,
    has_out: bool,
    dtype: Any,
    is_transposed: bool,
    data: Any,
) -> None:
    x = (np.random.default_rng(seed).normal(size=shape) * 100).astype(dtype)
    x = x.T if is_transposed else x
    every = list(range(-x.ndim, x.ndim))
    axes = tuple(data.draw(st.lists(st.sampled_from(every), max_size=x.ndim)) if every else [])
    axes = tuple({axis % x.ndim: axis for axis in axes}.values())
    wide = np.int64 if dtype is np.int64 else np.float64
    expected = np.sum(x, axes, wide, keepdims=keep)
    out = np.empty(expected.shape, dtype) if has_out else None
    found = sums.total(x, axes, dtype, out, keep)
    assert out is None or found is out
    assert found.dtype == dtype
    bound = np.sum(np.abs(x), axes, wide, keepdims=keep) * (1e-5 if dtype is np.float32 else 1e-13)
    assert found.shape == expected.shape
    assert (np.abs(found - expected) <= bound).all()


@pytest.mark.parametrize("axis", [0, 1])
def test_infinity_and_nan_stay_in_their_rows(axis: int) -> None:
    x = np.ones((100, 100), np.float32)
    x[3, 4], x[5, 6] = np.inf, np.nan
    x[7, 8], x[8, 8], x[7, 9] = np.inf, -np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(sums.total(x, axis), np.sum(x, axis))


@pytest.mark.parametrize("axes", [(0, 0), (2,), (-3,), (0, -2)])
def test_wrong_axes_are_refused_as_by_numpy(axes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="axis"):
        sums.total(np.ones((100, 100), np.float32), axes)


@pytest.mark.parametrize("axes", [[0, 0], [1, -1], [0, 1, -2]])
@pytest.mark.parametrize("is_known", [True, False])
def test_an_axis_that_repeats_counts_once(axes: list[int], is_known: bool) -> None:
    """TensorFlow 1.15 reduces along each axis once. TensorFlow 2 refuses such axes."""
    values = np.arange(1, 7).reshape(2, 3)
    x = tf.constant(values) if is_known else tf.placeholder(tf.int64)
    along = tf.constant(axes) if is_known else tf.placeholder(tf.int32)
    totals = [tf.reduce_sum(x, along), tf.reduce_max(x, along), tf.reduce_mean(x, along, True)]
    once = tuple({axis % 2 for axis in axes})
    with tf.Session() as session:
        found = session.run(totals, None if is_known else {x: values, along: axes})
    assert found[0].tolist() == values.sum(once).tolist()
    assert found[1].tolist() == values.max(once).tolist()
    assert found[2].tolist() == (values.sum(once, keepdims=True) // (6 // found[2].size)).tolist()
