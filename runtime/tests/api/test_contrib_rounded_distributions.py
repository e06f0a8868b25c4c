"""Rounded numbers, scaled vectors, moving statistics, seeds and conjugate normals of contrib."""

import hashlib
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import capstan as tf

DISTRIBUTIONS = tf.contrib.distributions
LOC, SCALE = np.array([0.3, -1.0]), np.array([0.8, 2.5])
WHOLE = np.array([[-3.0, -1.0], [0.0, 1.0], [2.0, 3.0], [9.0, -9.0]])
DRAWS = 20_000


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def rounded_cdf(known: Any, y: Any, low: Any, high: Any) -> Any:
    found = known.cdf(np.floor(y))
    found = found if low is None else np.where(np.floor(y) < low, 0.0, found)
    return found if high is None else np.where(np.floor(y) >= high, 1.0, found)


@pytest.mark.parametrize(("low", "high"), [(None, None), (-2.0, 2.0), (None, 1.0), (0.0, None)])
@pytest.mark.parametrize("kind", ["Normal", "Logistic", "Uniform"])
def test_rounded_numbers_have_the_probabilities_of_intervals(
    graph: Any, kind: str, low: Any, high: Any
) -> None:
    known = {
        "Normal": stats.norm(LOC, SCALE), "Logistic": stats.logistic(LOC, SCALE),
        "Uniform": stats.uniform(-5.0, 10.0),
    }[kind]  # fmt: skip
    ends = [np.full(2, -5.0), np.full(2, 5.0)]
    base = getattr(DISTRIBUTIONS, kind)(*(ends if kind == "Uniform" else [LOC, SCALE]))
    made = DISTRIBUTIONS.QuantizedDistribution(
        base, *(None if each is None else np.float64(each) for each in (low, high))
    )
    assert made.batch_shape.as_list() == [2]
    at = rounded_cdf(known, WHOLE, low, high)
    expected = {"prob": at - rounded_cdf(known, WHOLE - 1, low, high), "cdf": at}
    found = run(
        {
            **{name: getattr(made, name)(WHOLE) for name in (*expected, "log_prob", "log_cdf")},
            "between": made.cdf(WHOLE + 0.4),
            "survival": made.survival_function(WHOLE),
            "log_survival": made.log_survival_function(WHOLE),
        }
    )
    np.testing.assert_allclose(found["prob"], expected["prob"], atol=1e-9)
    np.testing.assert_allclose(found["cdf"], at, atol=1e-9)
    np.testing.assert_allclose(found["between"], at, atol=1e-9)
    np.testing.assert_allclose(found["survival"], 1 - at, atol=1e-9)
    np.testing.assert_allclose(np.exp(found["log_survival"]), 1 - at, atol=1e-9)
    np.testing.assert_allclose(np.exp(found["log_prob"]), expected["prob"], atol=1e-9)
    np.testing.assert_allclose(np.exp(found["log_cdf"]), at, atol=1e-9)


def test_far_numbers_keep_their_logarithms_and_slopes(graph: Any) -> None:
    loc = tf.constant(np.float64(0.0))
    made = DISTRIBUTIONS.QuantizedDistribution(DISTRIBUTIONS.Normal(loc, np.float64(1.0)))
    logs = made.log_prob(np.array([-20.0, 21.0]))
    found, slope = run([logs, tf.gradients(logs, loc)[0]])
    np.testing.assert_allclose(found, [stats.norm.logcdf(-20.0)] * 2, rtol=1e-6)
    assert np.isfinite(slope)


def test_samples_are_whole_numbers_between_the_ends(graph: Any) -> None:
    made = DISTRIBUTIONS.QuantizedDistribution(DISTRIBUTIONS.Normal(0.5, 2.0), -1.0, 2.0)
    assert (run(made.low), run(made.high)) == (-1.0, 2.0)
    assert isinstance(made.distribution, DISTRIBUTIONS.Normal)
    values, counts = np.unique(run(made.sample(DRAWS, seed=3)), return_counts=True)
    assert values.tolist() == [-1.0, 0.0, 1.0, 2.0]
    expected = run(made.prob(values.astype(np.float32)))
    np.testing.assert_allclose(counts / DRAWS, expected, atol=0.02)


def test_numbers_that_are_not_whole_are_refused(graph: Any) -> None:
    normal = DISTRIBUTIONS.Normal(0.0, 1.0)
    made = DISTRIBUTIONS.QuantizedDistribution(normal, validate_args=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-integer components"):
        run(made.prob(tf.placeholder_with_default(0.5, ())))
    with pytest.raises(tf.errors.InvalidArgumentError, match="strictly less than high"):
        DISTRIBUTIONS.QuantizedDistribution(normal, 2.0, 1.0, validate_args=True)
    with pytest.raises(ValueError, match="float"):
        DISTRIBUTIONS.QuantizedDistribution(normal, np.float64(1.0))


@pytest.mark.parametrize("kind", ["VectorLaplaceDiag", "VectorExponentialDiag"])
@pytest.mark.parametrize("multiplier", [None, 0.5])
def test_scaled_vectors_have_the_statistics_of_their_elements(
    graph: Any, kind: str, multiplier: float | None
) -> None:
    scale = SCALE + (multiplier or 0.0)
    given = {} if multiplier is None else {"scale_identity_multiplier": np.float64(multiplier)}
    made = getattr(DISTRIBUTIONS, kind)(np.stack([LOC, LOC - 1]), SCALE, **given)
    known = (stats.laplace if kind == "VectorLaplaceDiag" else stats.expon)(
        np.stack([LOC, LOC - 1]), scale
    )
    values = np.stack([LOC, LOC - 1]) + np.array([[0.2, 1.5], [3.0, 0.1]])
    names = ("mean", "mode", "variance", "stddev", "covariance", "entropy")
    found = run(
        {
            **{name: getattr(made, name)() for name in names},
            "log_prob": made.log_prob(values),
            "drawn": made.sample(DRAWS, seed=5),
        }
    )
    assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([2], [2])
    np.testing.assert_allclose(found["log_prob"], known.logpdf(values).sum(1))
    np.testing.assert_allclose(found["entropy"], known.entropy().sum(1))
    np.testing.assert_allclose(found["mean"], known.mean())
    np.testing.assert_allclose(found["mode"], np.stack([LOC, LOC - 1]))
    np.testing.assert_allclose(found["variance"], known.var()[0])
    np.testing.assert_allclose(found["stddev"], known.std()[0])
    np.testing.assert_allclose(found["covariance"], np.diag(known.var()[0]))
    assert found["drawn"].shape == (DRAWS, 2, 2)
    np.testing.assert_allclose(found["drawn"].mean(0), known.mean(), atol=0.15)
    np.testing.assert_allclose(found["drawn"].std(0), known.std(), rtol=0.1)


@pytest.mark.parametrize("kind", ["VectorLaplaceDiag", "VectorExponentialDiag"])
def test_vectors_need_a_size(graph: Any, kind: str) -> None:
    make = getattr(DISTRIBUTIONS, kind)
    with pytest.raises(ValueError, match="must be a vector"):
        make(scale_identity_multiplier=2.0)
    with pytest.raises(ValueError, match="need an axis"):
        make(loc=1.0)
    assert run(make(scale_diag=[1.0, 2.0]).mode()).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("use_resource", [False, True])
def test_moving_statistics_follow_the_values_of_steps(graph: Any, use_resource: bool) -> None:
    value = tf.placeholder(tf.float64, (2,))
    with tf.variable_scope("", use_resource=use_resource):
        found = DISTRIBUTIONS.moving_mean_variance(value, 0.9)
    assert not tf.trainable_variables()
    mean, variance = np.zeros(2), np.zeros(2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for each in np.random.default_rng(2).normal(size=(5, 2)):
            new = session.run(found, {value: each})
            variance = 0.9 * (variance + 0.1 * (each - mean) ** 2)
            mean = 0.9 * mean + 0.1 * each
            np.testing.assert_allclose(new, [mean, variance], rtol=1e-12)
    names = sorted(each.op.name for each in tf.global_variables())
    assert names == [f"moving_mean_variance/moving_{each}" for each in ("mean", "variance")]


def test_a_moving_mean_of_exponentials_keeps_its_logarithm(graph: Any) -> None:
    value = tf.placeholder(tf.float64, (2,))
    variable = tf.Variable(np.array([700.0, -3.0]))
    moved = DISTRIBUTIONS.assign_log_moving_mean_exp(variable, value, 0.75)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(moved, {value: [701.0, 2.0]})
    logs, shares = np.array([[700.0, -3.0], [701.0, 2.0]]), np.array([[0.75], [0.25]])
    np.testing.assert_allclose(found, special.logsumexp(logs, 0, shares))


def test_moving_statistics_need_floats_of_one_type(graph: Any) -> None:
    whole, wide, narrow = (tf.Variable(np.zeros(2, kind)) for kind in ("i4", "f8", "f4"))
    with pytest.raises(TypeError, match="does not have float type"):
        DISTRIBUTIONS.assign_moving_mean_variance(whole, whole, [1, 2], 0.9)
    with pytest.raises(TypeError, match="variance_var"):
        DISTRIBUTIONS.assign_moving_mean_variance(wide, narrow, [1.0, 2.0], 0.9)
    with pytest.raises(TypeError, match="does not have float type"):
        DISTRIBUTIONS.moving_mean_variance(tf.constant(1), 0.9)


def test_a_stream_gives_different_seeds() -> None:
    stream, same = (DISTRIBUTIONS.SeedStream(7, "user") for _ in range(2))
    seeds = [stream() for _ in range(3)]
    assert seeds == [same() for _ in range(3)]
    assert len(set(seeds)) == 3
    assert seeds[0] == int(hashlib.sha512(b"(7, 1, 'user')").hexdigest(), 16)
    other = DISTRIBUTIONS.SeedStream(stream, "other")
    assert (other.original_seed, other.salt) == (7, "other")
    assert other() not in seeds
    assert DISTRIBUTIONS.SeedStream(None, "user")() is None


def test_observations_of_normal_numbers_narrow_their_mean(graph: Any) -> None:
    prior = DISTRIBUTIONS.Normal(np.array([0.0, 2.0]), np.array([3.0, 0.5]))
    seen = np.array([[1.0, 2.5], [0.5, 1.0], [2.0, 3.0]])
    given = (prior, np.float64(1.5), tf.constant(seen.sum(0)), 3)
    posterior = DISTRIBUTIONS.normal_conjugates_known_scale_posterior(*given)
    new = DISTRIBUTIONS.normal_conjugates_known_scale_predictive(*given)
    variance = 1 / (1 / np.array([9.0, 0.25]) + 3 / 2.25)
    mean = (np.array([0.0, 2.0]) / [9.0, 0.25] + seen.sum(0) / 2.25) * variance
    found = run([posterior.mean(), posterior.variance(), new.mean(), new.variance()])
    np.testing.assert_allclose(found, [mean, variance, mean, variance + 2.25])
    with pytest.raises(TypeError, match="instance of type Normal"):
        DISTRIBUTIONS.normal_conjugates_known_scale_posterior(None, 1.0, tf.constant(1.0), 2)
    with pytest.raises(TypeError, match="does not match prior"):
        DISTRIBUTIONS.normal_conjugates_known_scale_posterior(prior, 1.0, tf.constant(1.0), 2)
