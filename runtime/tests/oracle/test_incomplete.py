"""The incomplete gamma and beta functions and their gradients are those of TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import outcome

import capstan
from capstan.kernels import incomplete

pytestmark = genuine.MARKS

GRID = np.array([0.01, 0.3, 1.0, 2.5, 7.0, 30.0, 200.0, 1000.0])
A, X = (axis.ravel() for axis in np.meshgrid(GRID, GRID))
P, Q, SHARE = (
    axis.ravel() for axis in np.meshgrid(GRID, GRID, np.array([0.0, 1e-3, 0.2, 0.5, 0.9, 1.0]))
)
EDGES = np.array([-1.0, 0.0, 0.5, 2.0, np.nan])
ODD = [axis.ravel() for axis in np.meshgrid(EDGES, EDGES, EDGES)]


def values(tf: Any, case: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(case(tf))


CASES = {
    "igamma": lambda tf: tf.igamma(A, X),
    "igammac": lambda tf: tf.math.igammac(A, X),
    "igamma of float32": lambda tf: tf.math.igamma(A.astype("f"), X.astype("f")),
    "igamma at edges": lambda tf: [tf.igamma(*ODD[:2]), tf.igammac(*ODD[:2])],
    "igamma of infinity": lambda tf: [tf.igamma(2.0, np.float32(np.inf))],
    "betainc": lambda tf: tf.betainc(P, Q, SHARE),
    "betainc of scalars": lambda tf: tf.math.betainc(np.float64(2), np.float64(0.5), SHARE),
    "betainc at edges": lambda tf: tf.betainc(*ODD),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_values_are_tensorflows(v1: Any, name: str) -> None:
    found, expected = values(capstan, CASES[name]), values(v1, CASES[name])
    # TensorFlow computes float32 in float32.
    rtol = 1e-3 if "float32" in name else 1e-9
    np.testing.assert_allclose(found, expected, rtol, 1e-14)


def test_the_gradients_are_tensorflows(v1: Any) -> None:
    a, x = (each.ravel() for each in np.meshgrid(GRID[:6], GRID[:6] * 1.1))

    def case(tf: Any) -> Any:
        operands, share = [tf.constant(a), tf.constant(x)], np.linspace(0.1, 0.9, a.size)
        shares = tf.constant(share)
        below = tf.betainc(*operands, shares)
        assert tf.gradients(below, operands) == [None, None]
        return [
            *tf.gradients(tf.igamma(*operands), operands),
            *tf.gradients(tf.igammac(*operands), operands),
            *tf.gradients(below, shares),
        ]

    for found, expected in zip(values(capstan, case), values(v1, case), strict=True):
        np.testing.assert_allclose(found, expected, 1e-7, 1e-12)


def test_the_gradients_of_betainc_at_its_ends_are_tensorflows(v1: Any) -> None:
    def case(tf: Any) -> Any:
        # The slopes are finite, 0 and infinite.
        a, b = tf.constant([1.0, 3.0, 2.0, 1.0, 3.0]), tf.constant([3.0, 1.0, 2.0, 1.0, 0.5])
        x = tf.constant([0.0, 1.0, 0.0, 1.0, 1.0])
        return tf.gradients(tf.betainc(a, b, x), x)

    np.testing.assert_allclose(values(capstan, case), values(v1, case), 1e-5)


def test_shapes_of_betainc_that_differ_are_refused_as_by_tensorflow(v1: Any) -> None:
    def case(tf: Any) -> Any:
        x = tf.placeholder_with_default(np.ones(3, np.float32), None)
        return tf.betainc([1.0, 2.0], x, 0.5)

    assert outcome(capstan, case)[0] == outcome(v1, case)[0] == "InvalidArgumentError"


@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-7), (np.float32, 2e-3)])
def test_a_sample_of_a_gamma_distribution_changes_with_alpha_as_in_tensorflow(
    v1: Any, dtype: Any, rtol: float
) -> None:
    # A sample is hardly ever further from its mean. There, TensorFlow's sums lose their digits.
    share = np.array([0.05, 0.3, 0.9, 1.0, 1.1, 2.0, 4.0])
    alpha, factor = np.meshgrid(GRID[:6], share)

    def sampled(tf: Any) -> Any:
        return tf.raw_ops.RandomGammaGrad(alpha=dtype(alpha), sample=dtype(alpha * factor))

    np.testing.assert_allclose(values(capstan, sampled), values(v1, sampled), rtol)


@pytest.mark.parametrize("a", [1e5, 5e6, 1e8, 1e12])
def test_half_of_a_large_gamma_function_is_below_its_parameter(a: float) -> None:
    mean = np.array(a)
    found = values(capstan, lambda tf: [tf.igamma(mean, mean), tf.igammac(mean, mean)])
    # DLMF 8.11.12
    expected = 0.5 + (1 / 3 + 1 / (540 * a)) / np.sqrt(2 * np.pi * a)
    np.testing.assert_allclose(found, [expected, 1 - expected], 1e-13)


@pytest.mark.parametrize("share", [-0.03, -0.01, -1e-3, 0.0, 1e-3, 0.01, 0.03])
@pytest.mark.parametrize("a", [1.5e5, 8e5])
def test_the_expansion_near_the_mean_agrees_with_the_series_and_the_fraction(
    a: float, share: float
) -> None:
    order, at = np.array([a]), np.array([a + 1 + share * a])
    rule, near = (
        (incomplete._lower, incomplete._near_lower)
        if share < 0
        else (incomplete._upper, incomplete._near_upper)
    )
    for found, expected in zip(near(order, at), rule(order, at), strict=True):
        np.testing.assert_allclose(found, expected, 1e-8)
