"""The error functions of large arrays are those of Python's `math`."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf
from capstan.kernels import error_function

PAIRS = {"erf": (error_function.erf, math.erf), "erfc": (error_function.erfc, math.erfc)}
KNOWN = [math.nan, math.inf, -math.inf, 0.0, -0.0, 30.0, -30.0, 1e-320, 0.5, -0.5, 1e300]


@pytest.mark.parametrize("name", PAIRS)
@given(
    st.lists(st.floats(-26, 26), min_size=1, max_size=50),
    st.lists(st.floats(-1, 1), min_size=1, max_size=50),
)
def test_the_relative_error_is_below_1e_14(name: str, wide: list[float], near: list[float]) -> None:
    function, exact = PAIRS[name]
    expected = [exact(x) for x in wide + near]
    np.testing.assert_allclose(function(np.array(wide + near)), expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", PAIRS)
def test_large_and_small_tensors_of_every_type_have_the_values_of_math(
    name: str, dtype: type
) -> None:
    with np.errstate(over="ignore"):
        numbers = np.concatenate([KNOWN, np.linspace(-7, 7, 8989)]).astype(dtype)
    small, large = numbers[:15], numbers.reshape(2, -1).T
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run([getattr(tf, name)(tf.constant(x)) for x in (small, large)])
    for values, given_numbers in zip(found, (small, large), strict=True):
        exact = [PAIRS[name][1](x) for x in given_numbers.ravel().tolist()]
        assert (values.dtype, values.shape) == (dtype, given_numbers.shape)
        tolerance = max(1e-14, 2 * float(np.finfo(dtype).eps))
        tiny = float(np.finfo(dtype).tiny)
        np.testing.assert_allclose(values.ravel(), exact, rtol=tolerance, atol=tiny)


@given(
    st.lists(st.floats(width=32), min_size=1, max_size=50),
    st.lists(st.floats(-4.5, 4.5, width=32), min_size=1, max_size=50),
)
def test_the_error_of_single_numbers_is_below_three_units(
    wide: list[float], near: list[float]
) -> None:
    x = np.array(wide + near, np.float32)
    with np.errstate(all="ignore"):
        found = error_function.erf_of_single(x)
    exact = np.array([math.erf(each) for each in x.tolist()])
    unit = np.spacing(np.abs(exact).astype(np.float32))
    assert found.dtype == np.float32
    assert np.array_equal(np.isnan(found), np.isnan(exact))
    assert np.array_equal(np.signbit(found[~np.isnan(x)]), np.signbit(x[~np.isnan(x)]))
    assert np.nanmax(np.abs(found - exact) / unit, initial=0) <= 3
