"""The functions of tf.math that combine ops, and the Bessel functions, have TensorFlow's values."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare, outcome

import capstan
from capstan.kernels import bessel
from capstan.python.ops import math_ops, special_math_ops

pytestmark = genuine.MARKS

MATRIX = np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]])
WIDE = np.concatenate([[0.0, -0.0, 8.0, np.inf, -np.inf, np.nan], np.geomspace(1e-300, 1e300, 99)])

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "bessel_i0": lambda tf, x: tf.math.bessel_i0(x),
    "bessel_i0e": lambda tf, x: tf.math.bessel_i0e(x * 9),
    "bessel_i1": lambda tf, x: tf.math.bessel_i1(x),
    "bessel_i1e": lambda tf, x: tf.math.bessel_i1e(x * 9),
    "cumulative_logsumexp": lambda tf, x: tf.math.cumulative_logsumexp(x * 50, 1),
    "cumulative_logsumexp backwards": lambda tf, x: tf.math.cumulative_logsumexp(x, 0, True, True),
    "lbeta": lambda tf, x: tf.lbeta(tf.abs(x)),
    "math.lbeta": lambda tf, x: tf.math.lbeta(tf.abs(x)),
    "nextafter": lambda tf, x: tf.math.nextafter(x, x[:1]),
    "polyval": lambda tf, x: tf.math.polyval([2.0 * x, np.float64(3.0), x[0]], x),
    "polyval of nothing": lambda tf, x: tf.math.polyval([], x),
    "reciprocal_no_nan": lambda tf, x: tf.math.reciprocal_no_nan(tf.nn.relu(x)),
    "reduce_euclidean_norm": lambda tf, x: tf.math.reduce_euclidean_norm(x),
    "reduce_euclidean_norm of rows": lambda tf, x: tf.math.reduce_euclidean_norm(x, 1, True),
    "reduce_std": lambda tf, x: tf.math.reduce_std(x, axis=[0]),
    "reduce_variance": lambda tf, x: tf.math.reduce_variance(x, keepdims=True),
    "to_bfloat16": lambda tf, x: tf.cast(tf.to_bfloat16(x), tf.float64),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_shapes_and_gradients_are_those_of_tensorflow(v1: Any, name: str) -> None:
    found = []
    for tf in (v1, capstan):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float64, [2, 3])
            y = CALLS[name](tf, x)
            slope = tf.gradients(y, x)[0]
            fetches = [y] if slope is None else [y, slope]
            found.append((session.run(fetches, {x: MATRIX}), y.shape.as_list()))
    (expected, shape), (values, our_shape) = found
    assert our_shape == shape
    assert len(values) == len(expected)
    for value, other in zip(values, expected, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["bessel_i0e", "bessel_i1e"])
def test_bessel_functions_of_very_small_and_large_numbers_are_tensorflows(
    v1: Any, name: str
) -> None:
    numbers = np.concatenate([WIDE, -WIDE, np.linspace(-20, 20, 999)])
    with v1.Graph().as_default(), v1.Session() as session:
        expected = session.run(getattr(v1.math, name)(numbers))
    with np.errstate(all="ignore"):
        found = getattr(bessel, name.removeprefix("bessel_"))(numbers)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_other_arguments_have_the_outcome_of_tensorflow(v1: Any) -> None:
    compare(
        v1,
        [
            lambda tf: tf.math.reduce_euclidean_norm([3, 5]),
            lambda tf: tf.math.reduce_euclidean_norm(np.uint8([200, 200])),
            lambda tf: tf.math.reduce_variance([1, 2]),
            lambda tf: tf.math.reduce_std([1, 2]),
            lambda tf: tf.math.polyval((1, 2), 3),
            lambda tf: tf.math.cumulative_logsumexp([1.0, 2.0], exclusive=True),
            lambda tf: tf.math.cumulative_logsumexp([-np.inf, -np.inf, 2.0]),
            lambda tf: tf.math.nextafter([1.0, 2.0], [2.0, np.nan]),
            lambda tf: tf.math.is_non_decreasing([1, 1, 2]),
            lambda tf: tf.math.is_strictly_increasing([1, 1, 2]),
            lambda tf: tf.lbeta(np.zeros(0, np.float32)),
        ],
    )
    for case in (
        lambda tf: tf.math.bessel_i0e([1, 2]),
        lambda tf: tf.math.nextafter([1, 2], [1, 2]),
        lambda tf: tf.math.reciprocal_no_nan([2, 0]),
        lambda tf: tf.math.cumulative_logsumexp([1.0], tf.placeholder_with_default(2, None)),
    ):
        assert outcome(capstan, case)[0] == outcome(v1, case)[0]


def test_the_functions_have_tensorflows_other_names() -> None:
    assert special_math_ops.lbeta is capstan.math.lbeta is capstan.lbeta
    assert math_ops.reduce_std is capstan.math.reduce_std
    assert special_math_ops.bessel_i0 is capstan.math.bessel_i0


def test_the_slope_of_a_power_by_its_exponent_is_0_where_the_gradient_is_0(v1: Any) -> None:
    """The power times the logarithm is more than the largest float16, and 0 times it no number."""

    def run(tf: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            x, y = (tf.constant(np.array([2, 6], np.float16)) for _ in "xy")
            return session.run(tf.gradients(tf.pow(x, y), [x, y], np.array([1, 0], np.float16)))

    for value, wanted in zip(run(capstan), run(v1), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-3, strict=True)
