"""The distributions and bijectors of `tf.contrib.distributions` have SciPy's values."""

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import capstan as tf

DISTRIBUTIONS = tf.contrib.distributions
BIJECTORS = DISTRIBUTIONS.bijectors
DRAWS = 20_000
LOC, SCALE = np.array([0.5, -2.0]), np.array([[1.5], [0.3]])
X = np.array([[-0.7, 0.2], [3.0, -1.0]])
COUNTS = np.array([[0.0, 3.0], [7.0, 1.0]])
VECTORS = np.array([[0.3, -1.0, 2.0], [0.0, 1.5, -0.4]])
PROBS = np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])


def run(build: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build())


def log_normal(loc: Any = LOC, scale: Any = SCALE) -> Any:
    normal = DISTRIBUTIONS.Normal(tf.constant(loc), tf.constant(scale))
    return DISTRIBUTIONS.TransformedDistribution(normal, BIJECTORS.Exp())


NUMBERS: dict[str, Any] = {
    "Logistic": (lambda: DISTRIBUTIONS.Logistic(LOC, SCALE), stats.logistic(LOC, SCALE), X),
    "Poisson": (lambda: DISTRIBUTIONS.Poisson(np.exp(LOC)), stats.poisson(np.exp(LOC)), COUNTS),
    "Poisson of logarithms": (
        lambda: DISTRIBUTIONS.Poisson(log_rate=LOC),
        stats.poisson(np.exp(LOC)),
        COUNTS,
    ),
    "LogNormal": (log_normal, stats.lognorm(SCALE, scale=np.exp(LOC)), np.exp(X)),
    "Sigmoid of a normal number": (
        lambda: DISTRIBUTIONS.TransformedDistribution(
            DISTRIBUTIONS.Logistic(np.zeros(2), np.ones(2)), BIJECTORS.Sigmoid()
        ),
        stats.uniform(np.zeros(2), 1),
        special.expit(X),
    ),
    "shifted": (
        lambda: DISTRIBUTIONS.TransformedDistribution(
            DISTRIBUTIONS.Normal(np.zeros((2, 2)), np.float64(1)),
            BIJECTORS.AffineScalar(LOC, SCALE),
        ),
        stats.norm(LOC, SCALE),
        X,
    ),
}
"""Distributions of numbers, SciPy's, and values."""


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_distributions_of_numbers(name: str) -> None:
    make, known, values = NUMBERS[name]
    density = known.logpmf if "Poisson" in name else known.logpdf
    expected = {
        "log_prob": density(values),
        "prob": np.exp(density(values)),
        "cdf": known.cdf(values),
        "log_cdf": known.logcdf(values),
        "survival_function": known.sf(values),
        "log_survival_function": known.logsf(values),
    }
    found = run(lambda: {method: getattr(make(), method)(values) for method in expected})
    for method, value in expected.items():
        np.testing.assert_allclose(found[method], value, rtol=1e-6, atol=1e-9, err_msg=method)
    drawn = run(lambda: make().sample(DRAWS, seed=3))
    error = 5 * known.std() / np.sqrt(DRAWS)
    assert np.all(np.abs(drawn.mean(0) - known.mean()) < error)
    assert drawn.shape[1:] == np.broadcast_shapes(np.shape(known.mean()), drawn.shape[1:])


def test_statistics_of_numbers() -> None:
    def build() -> Any:
        logistic, poisson = DISTRIBUTIONS.Logistic(LOC, SCALE), DISTRIBUTIONS.Poisson(np.exp(LOC))
        return (
            *(logistic.mean(), logistic.mode(), logistic.stddev(), logistic.entropy()),
            *(
                poisson.mean(),
                poisson.variance(),
                poisson.mode(),
                log_normal().quantile(0.3 * X**0),
            ),
            NUMBERS["shifted"][0]().entropy(),
        )

    known, rate = stats.logistic(LOC, SCALE), np.exp(LOC)
    centre = LOC * np.ones((2, 2))
    quantile = stats.lognorm(SCALE, scale=rate).ppf(0.3)
    entropy = stats.norm(LOC, SCALE).entropy() * np.ones((2, 2))
    expected = [
        *(centre, centre, known.std() * np.ones((2, 2)), known.entropy() * np.ones((2, 2))),
        *(rate, rate, np.floor(rate), quantile, entropy),
    ]
    for value, wanted in zip(run(build), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-6)


def test_normal_vectors() -> None:
    diagonal, other = np.array([0.5, -2.0, 1.0]), np.array([1.0, 1.0, 3.0])

    def build() -> Any:
        made = DISTRIBUTIONS.MultivariateNormalDiag(VECTORS, diagonal)
        second = DISTRIBUTIONS.MultivariateNormalDiag(scale_diag=other)
        assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([2], [3])
        multiple = DISTRIBUTIONS.MultivariateNormalDiag(VECTORS, scale_identity_multiplier=2.0)
        softplus = DISTRIBUTIONS.MultivariateNormalDiagWithSoftplusScale(VECTORS, np.zeros(3))
        return {
            "log_prob": made.log_prob(VECTORS[::-1]),
            "entropy": made.entropy(),
            "covariance": made.covariance(),
            "stddev": multiple.stddev(),
            "softplus": softplus.stddev(),
            "mean": second.mean(),
            "divergence": made.kl_divergence(second),
            "sample": made.sample(DRAWS, seed=2),
        }

    found = run(build)
    known = [stats.multivariate_normal(mean, np.diag(diagonal**2)) for mean in VECTORS]
    densities = [each.logpdf(x) for each, x in zip(known, VECTORS[::-1], strict=True)]
    np.testing.assert_allclose(found["log_prob"], densities)
    np.testing.assert_allclose(found["entropy"], [each.entropy() for each in known])
    np.testing.assert_allclose(found["covariance"], np.diag(diagonal**2))
    np.testing.assert_allclose(found["stddev"], np.full(3, 2.0))
    np.testing.assert_allclose(found["softplus"], np.full(3, np.log(2)))
    np.testing.assert_array_equal(found["mean"], np.zeros(3))
    ratio = (diagonal / other) ** 2
    divergence = 0.5 * (ratio + (VECTORS / other) ** 2 - 1 - np.log(ratio)).sum(1)
    np.testing.assert_allclose(found["divergence"], divergence)
    assert found["sample"].shape == (DRAWS, 2, 3)
    np.testing.assert_allclose(found["sample"].mean(0), VECTORS, atol=0.08)
    np.testing.assert_allclose(found["sample"].std(0), np.abs([diagonal] * 2), rtol=0.05)


def test_a_batch_becomes_an_event() -> None:
    def build() -> Any:
        normal = DISTRIBUTIONS.Normal(VECTORS, np.float64(2))
        made = DISTRIBUTIONS.Independent(normal)
        diagonal = DISTRIBUTIONS.MultivariateNormalDiag(VECTORS, np.full(3, 2.0))
        both = DISTRIBUTIONS.Independent(normal, reinterpreted_batch_ndims=2)
        other = DISTRIBUTIONS.Independent(DISTRIBUTIONS.Normal(np.zeros((2, 3)), np.float64(1)))
        assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([2], [3])
        assert (both.batch_shape.as_list(), both.event_shape.as_list()) == ([], [2, 3])
        assert made.sample((4, 5)).shape.as_list() == [4, 5, 2, 3]
        return [
            *(made.log_prob(X[0, 0] * VECTORS), diagonal.log_prob(X[0, 0] * VECTORS)),
            *(made.entropy(), diagonal.entropy(), made.stddev(), diagonal.stddev() + 0 * VECTORS),
            *(both.entropy(), tf.reduce_sum(diagonal.entropy())),
            made.kl_divergence(other),
            tf.reduce_sum(normal.kl_divergence(other.distribution), -1),
        ]

    found = run(build)
    for mine, wanted in zip(found[::2], found[1::2], strict=True):
        np.testing.assert_allclose(mine, wanted)


def test_one_hot_vectors() -> None:
    marks = np.eye(3, dtype=np.int32)[[1, 2]]

    def build() -> Any:
        made = DISTRIBUTIONS.OneHotCategorical(probs=PROBS)
        classes = DISTRIBUTIONS.Categorical(probs=PROBS)
        second = DISTRIBUTIONS.OneHotCategorical(logits=VECTORS)
        assert made.sample(7).dtype == tf.int32
        return {
            "log_prob": (made.log_prob(marks), classes.log_prob([1, 2])),
            "entropy": (made.entropy(), classes.entropy()),
            "mode": (made.mode(), marks),
            "divergence": (
                made.kl_divergence(second),
                classes.kl_divergence(DISTRIBUTIONS.Categorical(logits=VECTORS)),
            ),
            "mean": (tf.reduce_mean(tf.to_double(made.sample(DRAWS, seed=4)), 0), PROBS),
            "covariance": (made.covariance(), [np.diag(p) - np.outer(p, p) for p in PROBS]),
        }

    found = run(lambda: {k: tuple(map(tf.convert_to_tensor, v)) for k, v in build().items()})
    for method, (mine, wanted) in found.items():
        np.testing.assert_allclose(mine, wanted, atol=0.02 if method == "mean" else 1e-6)


def test_relaxed_one_hot_vectors_have_gradients_and_a_normalized_density() -> None:
    places = (np.arange(4000) + 0.5) / 4000
    pairs = np.stack([places, 1 - places], 1)

    with tf.Graph().as_default(), tf.Session() as session:
        logits = tf.constant(np.log([0.3, 0.7]))
        made = DISTRIBUTIONS.RelaxedOneHotCategorical(0.8, logits=logits)
        assert made.reparameterization_type is DISTRIBUTIONS.FULLY_REPARAMETERIZED
        drawn = made.sample(DRAWS, seed=6)
        gradient = tf.gradients(drawn[:, 0], logits)[0]
        values = session.run(
            [made.prob(pairs), drawn, gradient, made.copy(temperature=0.1).sample()]
        )
    density, drawn, gradient, sharp = values
    np.testing.assert_allclose(density.mean(), 1, rtol=1e-3)
    np.testing.assert_allclose((density * places).mean(), drawn[:, 0].mean(), atol=0.02)
    assert gradient[0] > 0 > gradient[1]
    np.testing.assert_allclose(drawn.sum(1), 1)
    np.testing.assert_allclose(sharp.sum(), 1)


def test_a_deterministic_vector() -> None:
    def build() -> Any:
        made = DISTRIBUTIONS.VectorDeterministic(VECTORS, rtol=0.1, validate_args=True)
        assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([2], [3])
        factors = np.array([[1.05], [1.2]])
        return made.sample(2), made.prob(VECTORS * factors), made.entropy(), made.mean()

    drawn, prob, entropy, mean = run(build)
    np.testing.assert_array_equal(drawn, [VECTORS] * 2)
    np.testing.assert_array_equal(prob, [1, 0])
    np.testing.assert_array_equal(entropy, [0, 0])
    np.testing.assert_array_equal(mean, VECTORS)


def test_a_deterministic_number() -> None:
    def build() -> Any:
        made = DISTRIBUTIONS.Deterministic([1.0, 2.0], atol=0.1)
        return (
            *(made.sample(3), made.prob([1.05, 1.5]), made.cdf([0.5, 2.5])),
            *(made.mean(), made.variance(), made.entropy()),
        )

    drawn, *rest = run(build)
    np.testing.assert_array_equal(drawn, [[1, 2]] * 3)
    np.testing.assert_array_equal(rest, [[1, 0], [0, 1], [1, 2], [0, 0], [0, 0]])


@pytest.mark.parametrize("is_batch", [True, False])
def test_mixtures(is_batch: bool) -> None:
    weights, means, widths = np.array([0.3, 0.7]), np.array([-1.0, 4.0]), np.array([0.5, 2.0])

    def build() -> Any:
        cat = DISTRIBUTIONS.Categorical(probs=weights)
        if is_batch:
            made = DISTRIBUTIONS.MixtureSameFamily(cat, DISTRIBUTIONS.Normal(means, widths))
        else:
            parts = [DISTRIBUTIONS.Normal(*each) for each in zip(means, widths, strict=True)]
            made = DISTRIBUTIONS.Mixture(cat, parts)
        assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([], [])
        at = np.array([0.0, 3.0])
        return (
            *(made.prob(at), made.cdf(at), made.mean(), made.variance(), made.stddev()),
            *(made.sample(DRAWS, seed=8), made.sample((2, 3)), made.sample(5, seed=8)),
        )

    prob, cdf, mean, variance, stddev, drawn, few, _ = run(build)
    parts = stats.norm(means, widths)
    np.testing.assert_allclose(prob, parts.pdf([[0], [3]]) @ weights)
    np.testing.assert_allclose(cdf, parts.cdf([[0], [3]]) @ weights)
    np.testing.assert_allclose(mean, weights @ means)
    np.testing.assert_allclose(variance, weights @ (widths**2 + (means - mean) ** 2))
    np.testing.assert_allclose(stddev, np.sqrt(variance))
    assert abs(drawn.mean() - mean) < 5 * stddev / np.sqrt(DRAWS)
    np.testing.assert_allclose(drawn.std(), stddev, rtol=0.05)
    assert few.shape == (2, 3)


def test_mixtures_of_vectors() -> None:
    def build() -> Any:
        cat = DISTRIBUTIONS.Categorical(probs=PROBS[:, :2] / PROBS[:, :2].sum(1, keepdims=True))
        means = np.stack([VECTORS, VECTORS + 1], 1)
        family = DISTRIBUTIONS.MultivariateNormalDiag(means, np.full(3, 0.5))
        first, second = (
            DISTRIBUTIONS.MultivariateNormalDiag(means[:, index], np.full(3, 0.5))
            for index in (0, 1)
        )
        same = DISTRIBUTIONS.MixtureSameFamily(cat, family)
        made = DISTRIBUTIONS.Mixture(cat, [first, second])
        assert same.sample(4).shape.as_list() == made.sample(4).shape.as_list() == [4, 2, 3]
        results = []
        for each in (same, made):
            results += [each.log_prob(VECTORS * 0.5), each.mean(), each.variance()]
            results.append(tf.reduce_mean(each.sample(DRAWS, seed=1), 0))
        return [*results, same.covariance(), made.entropy_lower_bound(), first.entropy()]

    *found, covariance, bound, entropy = run(build)
    np.testing.assert_allclose(np.diagonal(covariance, axis1=1, axis2=2), found[2])
    np.testing.assert_allclose(covariance[:, 0, 1], covariance[:, 0, 0] - 0.25)
    for mine, wanted in zip(found[:3], found[4:7], strict=True):
        np.testing.assert_allclose(mine, wanted)
    for sampled in (found[3], found[7]):
        np.testing.assert_allclose(sampled, found[1], atol=0.05)
    np.testing.assert_allclose(bound, entropy)
