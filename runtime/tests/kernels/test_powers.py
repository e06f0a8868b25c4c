"""Powers with one exponent for all numbers, compared with NumPy's in float64."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

NUMBERS = [0.0, -0.0, 1.0, -1.0, 1.5, -2.75, 1e-3, -1e-3, 30.0, -30.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("exponent", [-3, -2, -1, 0, 1, 1.5, 2, 3, 4, 5, 6, 7.5, np.inf, np.nan])
def test_powers(exponent: float, dtype: Any) -> None:
    x, y = np.array(NUMBERS, dtype), dtype(exponent)
    with tf.Graph().as_default(), tf.Session() as session:
        base, power = tf.placeholder(dtype, [None]), tf.placeholder(dtype, [])
        of_known_shape = tf.constant(x) ** power
        found = session.run([base**power, of_known_shape, base[2] ** power], {base: x, power: y})
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), np.float64(y)).astype(dtype)
    for values, wanted in zip(found, (expected, expected, expected[2]), strict=True):
        np.testing.assert_allclose(values, wanted, 4 * float(np.finfo(dtype).eps))
        np.testing.assert_array_equal(np.signbit(values), np.signbit(wanted))
