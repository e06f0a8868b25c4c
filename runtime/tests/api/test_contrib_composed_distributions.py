"""Distributions of contrib that are made of others: their densities, moments and samples."""

import math
from typing import Any

import numpy as np
import pytest

import capstan as tf

DISTRIBUTIONS = tf.contrib.distributions


def derivative(distribution: Any, points: Any) -> Any:
    """Return the derivative of the distribution function at points, with the densities."""
    x = tf.constant(points)
    return tf.gradients(distribution.cdf(x), x)[0], distribution.prob(tf.identity(x))


def test_a_kumaraswamy_distribution_has_its_density_and_moments() -> None:
    made = DISTRIBUTIONS.Kumaraswamy(np.float64(2.0), np.float64(3.0))
    grid = (np.arange(2000) + 0.5) / 2000
    with tf.Session() as session:
        slope, density = session.run(derivative(made, np.array([0.1, 0.5, 0.9])))
        found = session.run(
            [made.prob(grid), made.mean(), made.variance(), made.mode(), made.entropy()]
        )
        samples = session.run(made.sample(2000, seed=3))
    np.testing.assert_allclose(density, slope, rtol=1e-9)
    np.testing.assert_allclose(
        density,
        6 * np.array([0.1, 0.5, 0.9]) * (1 - np.array([0.1, 0.5, 0.9]) ** 2) ** 2,
        rtol=1e-9,
    )
    probs, mean, variance, mode, entropy = found
    np.testing.assert_allclose(mean, np.mean(grid * probs), rtol=1e-5)
    np.testing.assert_allclose(variance, np.mean((grid - mean) ** 2 * probs), rtol=1e-4)
    # TensorFlow's formula, whose result is not the entropy.
    np.testing.assert_allclose(entropy, 1 / 2 + 2 / 3 * (1 + 1 / 2 + 1 / 3) + math.log(6))
    assert mode == pytest.approx(math.sqrt(1 / 5))
    assert abs(samples.mean() - mean) < 0.03
    assert tf.contrib.distributions.Kumaraswamy([1.0, 2.0], 3.0).batch_shape.as_list() == [2]


def test_tails_and_skewness_are_parameters() -> None:
    plain = DISTRIBUTIONS.SinhArcsinh(np.float64(1.0), np.float64(2.0))
    skew = DISTRIBUTIONS.SinhArcsinh(
        np.array([0.0, 1.0]), np.float64(2.0), skewness=0.5, tailweight=1.3, validate_args=True
    )
    normal = tf.distributions.Normal(np.float64(1.0), np.float64(2.0))
    with tf.Session() as session:
        same, expected = session.run([plain.log_prob([0.3, 4.0]), normal.log_prob([0.3, 4.0])])
        slope, density = session.run(derivative(skew, np.array([0.3, 4.0])))
        assert session.run(skew.sample(7, seed=2)).shape == (7, 2)
        image = session.run(skew.bijector.forward(np.float64(0.7)))
    # The scale is that at 2 without the skewness.
    factor = 2 * 2.0 / np.sinh(np.arcsinh(2.0) * 1.3)
    expected_image = np.array([0.0, 1.0]) + factor * np.sinh((np.arcsinh(0.7) + 0.5) * 1.3)
    np.testing.assert_allclose(image, expected_image, rtol=1e-9)
    np.testing.assert_allclose(same, expected, rtol=1e-9)
    np.testing.assert_allclose(density, slope, rtol=1e-9)
    assert skew.batch_shape.as_list() == [2]
    with pytest.raises(ValueError, match="base distribution not scalar"):
        DISTRIBUTIONS.SinhArcsinh(0.0, 1.0, distribution=tf.distributions.Normal([0.0, 1.0], 1.0))
    with pytest.raises(TypeError, match="dtype mismatch"):
        DISTRIBUTIONS.SinhArcsinh(
            np.float64(0), 1.0, distribution=tf.distributions.Normal(0.0, 1.0)
        )


def test_vectors_have_tails_and_skewness() -> None:
    made = DISTRIBUTIONS.VectorSinhArcsinhDiag(
        np.array([0.0, 1.0]), np.array([2.0, 3.0]), skewness=0.5, tailweight=1.3
    )
    numbers = DISTRIBUTIONS.SinhArcsinh(
        np.array([0.0, 1.0]), np.array([2.0, 3.0]), skewness=0.5, tailweight=1.3
    )
    at = np.array([[0.5, 0.2], [-1.0, 7.0], [0.0, 0.0]])
    with tf.Session() as session:
        found, expected = session.run([made.log_prob(at), tf.reduce_sum(numbers.log_prob(at), -1)])
        assert session.run(made.sample(4, seed=2)).shape == (4, 2)
        assert session.run(made.scale.diag_part()).tolist() == [2.0, 3.0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert made.event_shape.as_list() == [2]


@pytest.mark.parametrize(
    "scheme",
    [
        DISTRIBUTIONS.quadrature_scheme_lognormal_quantiles,
        DISTRIBUTIONS.quadrature_scheme_lognormal_gauss_hermite,
    ],
)
def test_rates_of_counts_are_log_normal(scheme: Any) -> None:
    made = DISTRIBUTIONS.PoissonLogNormalQuadratureCompound(
        np.array([0.0, -0.5]), np.array([1.0, 0.5]), quadrature_size=10, quadrature_fn=scheme
    )
    counts = np.arange(3000.0)[:, None]
    with tf.Session() as session:
        probs, mean, variance = session.run([made.prob(counts), made.mean(), made.variance()])
        grid, weights = session.run(scheme(np.array([0.0, -0.5]), np.array([1.0, 0.5]), 10))
        samples = session.run(made.sample(50, seed=4))
    np.testing.assert_allclose(probs.sum(0), 1, rtol=1e-6)
    np.testing.assert_allclose((probs * counts).sum(0), mean, rtol=1e-6)
    np.testing.assert_allclose((probs * (counts - mean) ** 2).sum(0), variance, rtol=1e-5)
    np.testing.assert_allclose((np.exp(grid) * weights).sum(-1), mean, rtol=1e-6)
    if scheme is DISTRIBUTIONS.quadrature_scheme_lognormal_gauss_hermite:
        expected = np.exp(np.array([0.0, -0.5]) + np.array([1.0, 0.5]) ** 2 / 2)
        np.testing.assert_allclose(mean, expected, rtol=1e-4)
    assert samples.shape == (50, 2)
    assert (made.quadrature_size, made.batch_shape.as_list()) == (10, [2])


def test_an_element_depends_on_those_before_it() -> None:
    factors = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], np.float32)

    def following(samples: Any = None) -> Any:
        loc = tf.zeros([3]) if samples is None else tf.tensordot(samples, factors, [[-1], [1]])
        return DISTRIBUTIONS.Independent(tf.distributions.Normal(loc, 0.1), 1)

    made = DISTRIBUTIONS.Autoregressive(following, tf.zeros([3]))
    x = np.array([0.2, 0.1, 0.3], np.float32)
    with tf.Session() as session:
        sample, found = session.run([made.sample(5, seed=3), made.log_prob(x)])
    assert (sample.shape, made.num_steps) == ((5, 3), 3)
    errors = (x - factors @ x) / 0.1
    expected = (-0.5 * errors**2 - math.log(0.1 * math.sqrt(2 * math.pi))).sum()
    assert found == pytest.approx(expected, rel=1e-5)
    with pytest.raises(ValueError, match="must be at least 1"):
        DISTRIBUTIONS.Autoregressive(following, num_steps=0)


def test_a_batch_gets_another_shape() -> None:
    inner = DISTRIBUTIONS.MultivariateNormalDiag(np.arange(12.0).reshape(6, 2), np.ones((6, 2)))
    made = DISTRIBUTIONS.BatchReshape(inner, [2, -1], validate_args=True)
    late = DISTRIBUTIONS.BatchReshape(inner, tf.placeholder_with_default([3, -1], [2]), True)
    x = np.linspace(0, 1, 24).reshape(2, 2, 3, 2)
    with tf.Session() as session:
        found, own = session.run([made.log_prob(x), inner.log_prob(x.reshape(2, 6, 2))])
        np.testing.assert_allclose(found, own.reshape(2, 2, 3))
        assert session.run(made.sample(4, seed=1)).shape == (4, 2, 3, 2)
        assert session.run(made.covariance()).shape == (2, 3, 2, 2)
        assert session.run([made.mean(), made.entropy()])[1].shape == (2, 3)
        assert session.run(late.log_prob(x.reshape(4, 3, 2, 1)[:, :, :, [0, 0]])).shape == (4, 3, 2)
    assert made.batch_shape.as_list() == [2, 3]
    with pytest.raises(NotImplementedError, match="too few batch and event dims"):
        made.log_prob(np.ones(2))
    with pytest.raises(ValueError, match="must match"):
        DISTRIBUTIONS.BatchReshape(inner, [4, 2])
    with pytest.raises(ValueError, match="must be >=-1"):
        DISTRIBUTIONS.BatchReshape(inner, [0, 6])


class Shifted(DISTRIBUTIONS.ConditionalDistribution):
    """A distribution of a program, whose mean is a keyword."""

    def __init__(self) -> None:
        never = tf.distributions.NOT_REPARAMETERIZED
        super().__init__(tf.float32, never, False, True, name="Shifted")

    def _batch_shape(self) -> Any:
        return tf.TensorShape([])

    def _event_shape(self) -> Any:
        return tf.TensorShape([])

    def _sample_n(self, n: Any, seed: Any = None, loc: float = 0.0) -> Any:
        return tf.random_normal([n], seed=seed) * 0 + loc

    def _log_prob(self, x: Any, loc: float = 0.0) -> Any:
        return tf.distributions.Normal(loc, 1.0).log_prob(x)

    def _cdf(self, x: Any, loc: float = 0.0) -> Any:
        return tf.distributions.Normal(loc, 1.0).cdf(x)


def test_methods_take_keywords() -> None:
    made = Shifted()
    image = DISTRIBUTIONS.ConditionalTransformedDistribution(made, DISTRIBUTIONS.bijectors.Exp())
    keywords = {"distribution_kwargs": {"loc": 2.0}}
    normal = tf.distributions.Normal(2.0, 1.0)
    with tf.Session() as session:
        assert session.run(made.sample(3, loc=5.0)).tolist() == [5.0, 5.0, 5.0]
        found = session.run(
            [
                made.prob(1.0, loc=2.0), normal.prob(1.0),
                made.survival_function(1.0, loc=2.0), 1 - normal.cdf(1.0),
                image.log_prob(math.e, **keywords), normal.log_prob(1.0) - 1,
                image.cdf(math.e, **keywords), normal.cdf(1.0),
            ]
        )  # fmt: skip
        np.testing.assert_allclose(found[::2], found[1::2], rtol=1e-5)
        drawn = session.run(image.sample(2, **keywords))
    np.testing.assert_allclose(drawn, [math.exp(2)] * 2, rtol=1e-6)


def test_values_are_correlated_with_those_before_them() -> None:
    x = np.random.RandomState(0).normal(size=(2, 9)) + 3
    centred = x - x.mean(-1, keepdims=True)
    sums = [[row[lag:] @ row[: 9 - lag] / (9 - lag) for lag in range(5)] for row in centred]
    expected = np.array(sums) / np.array(sums)[:, :1]
    with tf.Session() as session:
        found = session.run(DISTRIBUTIONS.auto_correlation(x, max_lags=4))
        other = DISTRIBUTIONS.auto_correlation(x.T + 0j, axis=0, max_lags=4)
        np.testing.assert_allclose(session.run(other).real.T, found, atol=1e-9)
        plain = session.run(DISTRIBUTIONS.auto_correlation(x, center=False, normalize=False))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(plain[:, 0], (x**2).mean(-1), rtol=1e-9)
    assert (other.shape.as_list(), plain.shape) == ([5, 2], (2, 9))
    with pytest.raises(TypeError, match="either float or complex"):
        DISTRIBUTIONS.auto_correlation([1, 2])
    with pytest.raises(ValueError, match="2 axes, so there is no axis 2"):
        DISTRIBUTIONS.auto_correlation(x, axis=2)


def test_matrices_have_three_diagonals() -> None:
    with tf.Session() as session:
        found = session.run(DISTRIBUTIONS.tridiag([1.0, 2.0], [4.0, 5.0, 6.0], [8.0, 9.0]))
    assert found.tolist() == [[4.0, 8.0, 0.0], [1.0, 5.0, 9.0], [0.0, 2.0, 6.0]]
    with pytest.raises(ValueError, match="at least one"):
        DISTRIBUTIONS.tridiag()
