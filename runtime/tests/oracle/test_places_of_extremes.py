"""The places of the largest and the smallest numbers among NaN, as TensorFlow finds them."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS
NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("function", ["argmax", "argmin"])
def test_nan_is_neither_the_largest_nor_the_smallest_number(
    v1: Any, function: str, dtype: str
) -> None:
    rows = [[NAN, 1, 2], [1, NAN, 0], [NAN] * 3, [-INF, NAN, -INF], [NAN, INF, NAN], [3, 1, 2]]
    table = np.array(rows, dtype)

    def places(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            given = tf.placeholder(dtype, [None, 3])
            found = [getattr(tf, function)(given, axis) for axis in (0, 1)]
            return [each.tolist() for each in session.run(found, {given: table})]

    assert places(capstan) == places(v1)
