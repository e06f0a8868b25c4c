"""The zeta function and the derivatives of digamma have known values, also at their poles."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capstan as tf

NAN, INF = math.nan, math.inf
VALUES = {
    tf.zeta: [
        (2.0, 1.0, math.pi**2 / 6), (4.0, 1.0, math.pi**4 / 90), (2.0, 0.5, math.pi**2 / 2),
        (2.0, -0.5, math.pi**2 / 2 + 4), (3.0, -0.5, 0.41439832211716), (1.0, 2.0, INF),
        (0.5, 2.0, NAN), (2.0, 0.0, INF), (3.0, 0.0, NAN), (2.0, -7.0, INF), (2.5, -0.5, NAN),
        (2.0, -20.25, 19.691025351008708), (2.0, -1e-17, 1e34), (2.0, INF, 0.0),
        (2.0, -1e15 - 0.5, math.pi**2), (INF, 2.0, 0.0), (NAN, 1.0, NAN), (2.0, NAN, NAN),
    ],
    tf.polygamma: [
        (0.0, 0.5, -1.9635100260214227), (1.0, 1.0, math.pi**2 / 6), (1.0, -0.5, 8.93480220054468),
        (20.0, 2.0, -1160331221321.7373), (200.0, 0.5, -INF), (1.0, INF, 0.0), (1.0, 0.0, INF),
        (2.0, 0.0, NAN), (0.5, 2.0, NAN), (-1.0, 2.0, NAN), (NAN, 1.0, NAN),
    ],
}  # fmt: skip


@pytest.mark.parametrize("function", VALUES)
def test_the_values_are_the_known_ones(function: Callable[..., Any]) -> None:
    first, second, expected = map(np.array, zip(*VALUES[function], strict=True))
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(function(tf.constant(first), tf.constant(second)))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.e2e
@given(st.floats(-1e6, 1e6).filter(lambda x: abs(x - round(x)) > 1e-3), st.integers(2, 12))
def test_the_next_number_has_one_term_less(q: float, s: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        low, high = session.run(tf.zeta(np.float64(s), np.array([q, q + 1])))
    term = q**-s
    assert low - high == pytest.approx(term, rel=1e-9, abs=1e-12 * max(1, abs(low), abs(high)))
