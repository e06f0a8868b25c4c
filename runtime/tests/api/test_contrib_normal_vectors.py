"""The normal vectors of `tf.contrib.distributions` that have a covariance."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import capstan as tf

DISTRIBUTIONS = tf.contrib.distributions
MEANS = np.array([[0.5, -1.0, 2.0], [0.0, 3.0, -0.5]])
FACTOR = np.array([[1.5, 9.0, 9.0], [0.4, -2.0, 9.0], [-0.3, 0.8, 0.7]])
"""The numbers above the diagonal have no effect."""
COVARIANCE = np.tril(FACTOR) @ np.tril(FACTOR).T
X = np.array([[0.3, -0.2, 1.0], [1.0, 2.0, 3.0]])
KNOWN = [stats.multivariate_normal(mean, COVARIANCE) for mean in MEANS]


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def made(kind: str, shape: Any = (2, 3), **options: Any) -> Any:
    loc = tf.placeholder_with_default(MEANS, shape)
    if kind == "tril":
        return DISTRIBUTIONS.MultivariateNormalTriL(loc, FACTOR, **options)
    return DISTRIBUTIONS.MultivariateNormalFullCovariance(loc, COVARIANCE, **options)


@pytest.mark.parametrize("shape", [(2, 3), (None, 3), None])
@pytest.mark.parametrize("kind", ["tril", "covariance"])
def test_normal_vectors_have_the_statistics_of_their_covariance(kind: str, shape: Any) -> None:
    vectors = made(kind, shape)
    found = run(
        {
            "log_prob": vectors.log_prob(X),
            "entropy": vectors.entropy(),
            "mean": vectors.mean(),
            "mode": vectors.mode(),
            "covariance": vectors.covariance(),
            "variance": vectors.variance(),
            "stddev": vectors.stddev(),
        }
    )
    densities = [known.logpdf(x) for known, x in zip(KNOWN, X, strict=True)]
    expected = {
        "log_prob": densities,
        "entropy": [known.entropy() for known in KNOWN],
        "mean": MEANS,
        "mode": MEANS,
        "covariance": COVARIANCE,
        "variance": np.diag(COVARIANCE),
        "stddev": np.sqrt(np.diag(COVARIANCE)),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9, err_msg=name)


def test_samples_have_the_covariance_and_a_gradient() -> None:
    vectors = made("tril")
    assert (vectors.batch_shape.as_list(), vectors.event_shape.as_list()) == ([2], [3])
    drawn = vectors.sample(20_000, seed=5)
    assert drawn.shape.as_list() == [20_000, 2, 3]
    samples, slope = run([drawn, tf.gradients(drawn, vectors.loc)[0]])
    np.testing.assert_allclose(samples.mean(0), MEANS, atol=0.06)
    for row in range(2):
        np.testing.assert_allclose(np.cov(samples[:, row].T), COVARIANCE, atol=0.12)
    np.testing.assert_array_equal(slope, np.full((2, 3), 20_000))


def test_the_divergence_of_normal_vectors_is_that_of_their_covariances() -> None:
    one, other = made("tril"), made("covariance")
    diagonal = DISTRIBUTIONS.MultivariateNormalDiag(X, [2.0, 0.5, 1.0])
    found = run(
        [one.kl_divergence(diagonal), diagonal.kl_divergence(other), one.kl_divergence(other)]
    )
    spread = np.diag([4.0, 0.25, 1.0])

    def divergence(p: Any, q: Any, distance: Any) -> Any:
        inverse = np.linalg.inv(q)
        logarithm = np.log(np.linalg.det(q) / np.linalg.det(p))
        square = np.einsum("bi,ij,bj->b", distance, inverse, distance)
        return 0.5 * (np.trace(inverse @ p) - 3 + logarithm + square)

    np.testing.assert_allclose(found[0], divergence(COVARIANCE, spread, X - MEANS))
    np.testing.assert_allclose(found[1], divergence(spread, COVARIANCE, X - MEANS))
    np.testing.assert_allclose(found[2], [0, 0], atol=1e-12)


def test_a_missing_mean_is_0_and_a_missing_scale_is_the_identity() -> None:
    centred = DISTRIBUTIONS.MultivariateNormalTriL(scale_tril=FACTOR)
    plain = DISTRIBUTIONS.MultivariateNormalTriL(MEANS)
    assert centred.loc is None
    mean, covariance = run([centred.mean(), plain.covariance()])
    np.testing.assert_array_equal(mean, np.zeros(3))
    np.testing.assert_array_equal(covariance, [np.eye(3)] * 2)
    for kind in (
        DISTRIBUTIONS.MultivariateNormalTriL,
        DISTRIBUTIONS.MultivariateNormalFullCovariance,
    ):
        with pytest.raises(ValueError, match="one or both"):
            kind()


def test_scales_are_linear_operators() -> None:
    diagonal = DISTRIBUTIONS.MultivariateNormalDiag(MEANS, [2.0, 0.5, 1.0])
    assert isinstance(diagonal.scale, tf.linalg.LinearOperatorDiag)
    assert isinstance(made("tril").scale, tf.linalg.LinearOperatorLowerTriangular)
    factor, spread = run([made("tril").scale.to_dense(), diagonal.scale.to_dense()])
    np.testing.assert_array_equal(factor, np.tril(FACTOR))
    np.testing.assert_array_equal(spread, np.diag([2.0, 0.5, 1.0]))


@pytest.mark.parametrize(
    "kind, matrix, message",
    [
        ("MultivariateNormalTriL", np.diag([1.0, 0.0, 1.0]), "Singular operator"),
        ("MultivariateNormalFullCovariance", np.triu(np.ones((3, 3))), "not symmetric"),
    ],
)
def test_validated_matrices_are_checked_in_the_step(kind: str, matrix: Any, message: str) -> None:
    vectors = getattr(DISTRIBUTIONS, kind)(MEANS, matrix, validate_args=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(vectors.log_prob(X))
