"""The Wishart distributions of `tf.contrib.distributions` have SciPy's values."""

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import capstan as tf

DISTRIBUTIONS = tf.contrib.distributions
DRAWS = 20_000
FACTORS = np.array([[[1.5, 0.0], [0.7, 0.4]], [[0.6, 0.0], [-0.2, 2.0]]])
SCALES = FACTORS @ FACTORS.transpose(0, 2, 1)
DF = np.array([4.5, 3.0])
X = np.array([[[2.0, 0.3], [0.3, 1.0]], [[0.9, -0.4], [-0.4, 3.0]]])
KNOWN = [stats.wishart(df, scale) for df, scale in zip(DF, SCALES, strict=True)]


def run(build: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build())


def make(kind: str, **options: Any) -> Any:
    scale = FACTORS if kind == "WishartCholesky" else SCALES
    return getattr(DISTRIBUTIONS, kind)(tf.constant(DF), tf.constant(scale), **options)


@pytest.mark.parametrize("kind", ["WishartCholesky", "WishartFull"])
def test_values_and_statistics(kind: str) -> None:
    def build() -> Any:
        made = make(kind, validate_args=True)
        assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([2], [2, 2])
        return {
            "log_prob": made.log_prob(X),
            "of one matrix": made.log_prob(X[0]),
            "of samples": made.log_prob(np.stack([X, 2 * X])),
            "mean": made.mean(),
            "variance": made.variance(),
            "mode": made.mode(),
            "entropy": made.entropy(),
            "mean_log_det": made.mean_log_det(),
            "scale": made.scale(),
            "batch_shape": made.batch_shape_tensor(),
            "event_shape": made.event_shape_tensor(),
            "dimension": made.dimension,
        }

    halves = DF[:, None] / 2 - np.array([0, 0.5])
    log_det = special.digamma(halves).sum(1) + 2 * np.log(2) + np.linalg.slogdet(SCALES)[1]
    expected = {
        "log_prob": [each.logpdf(x) for each, x in zip(KNOWN, X, strict=True)],
        "of one matrix": [each.logpdf(X[0]) for each in KNOWN],
        "of samples": [
            [each.logpdf(factor * x) for each, x in zip(KNOWN, X, strict=True)] for factor in (1, 2)
        ],
        "mean": [each.mean() for each in KNOWN],
        "variance": [each.var() for each in KNOWN],
        # For df = 3, the density grows without limit towards singular matrices.
        "mode": [KNOWN[0].mode(), 0 * SCALES[1]],
        "entropy": [each.entropy() for each in KNOWN],
        "mean_log_det": log_det,
        "scale": SCALES,
        "batch_shape": [2],
        "event_shape": [2, 2],
        "dimension": 2,
    }
    for name, value in run(build).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-8, atol=1e-12, err_msg=name)


def test_the_mode_is_nan_below_the_least_degrees_of_freedom() -> None:
    mode = run(lambda: DISTRIBUTIONS.WishartFull(2.5, SCALES[0]).mode())
    assert np.isnan(mode).all()


@pytest.mark.parametrize("is_factor", [False, True])
def test_samples_are_positive_definite_matrices_or_their_factors(is_factor: bool) -> None:
    def build() -> Any:
        made = make("WishartCholesky", cholesky_input_output_matrices=is_factor)
        drawn = made.sample((DRAWS // 2, 2), seed=4)
        assert drawn.shape.as_list() == [DRAWS // 2, 2, 2, 2, 2]
        return drawn, made.log_prob(drawn), made.mean(), made.scale()

    drawn, density, mean, scale = run(build)
    flat = drawn.reshape(DRAWS, 2, 2, 2)
    if is_factor:
        np.testing.assert_array_equal(flat[..., 0, 1], 0)
        assert np.all(np.diagonal(flat, axis1=2, axis2=3) > 0)
        np.testing.assert_allclose(mean, np.sqrt(DF)[:, None, None] * FACTORS)
        np.testing.assert_allclose(scale, FACTORS)
        flat = flat @ flat.transpose(0, 1, 3, 2)
    wide = np.sqrt([each.var() for each in KNOWN])
    error = np.abs(flat.mean(0) - [each.mean() for each in KNOWN])
    assert np.all(error < 5 * wide / np.sqrt(DRAWS))
    np.testing.assert_allclose(flat.std(0), wide, rtol=0.05)
    expected = [each.logpdf(x) for each, x in zip(KNOWN, flat[7], strict=True)]
    np.testing.assert_allclose(density.reshape(DRAWS, 2)[7], expected, rtol=1e-6)


def test_samples_have_gradients_by_the_scale() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        factor = tf.constant(FACTORS[0])
        drawn = DISTRIBUTIONS.WishartCholesky(4.0, factor).sample(DRAWS, seed=1)
        [slope] = session.run(tf.gradients(tf.reduce_mean(tf.trace(drawn)), factor))
    # The mean of the trace is df * |factor|^2.
    np.testing.assert_allclose(np.tril(slope), 8 * FACTORS[0], rtol=0.1, atol=0.2)


def test_any_operator_may_be_the_scale_of_unknown_size() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        scale = tf.placeholder(tf.float64, None)
        made = DISTRIBUTIONS.WishartCholesky(DF, scale)
        found = session.run(
            [made.log_prob(X), made.sample(3), made.event_shape_tensor()], {scale: FACTORS}
        )
    expected = [each.logpdf(x) for each, x in zip(KNOWN, X, strict=True)]
    np.testing.assert_allclose(found[0], expected)
    assert found[1].shape == (3, 2, 2, 2)
    np.testing.assert_array_equal(found[2], [2, 2])


def test_invalid_parameters_are_refused() -> None:
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="cannot be less than"):
            DISTRIBUTIONS.WishartCholesky(1.5, FACTORS[0])
        with pytest.raises(TypeError, match="not a floating-point type"):
            DISTRIBUTIONS.WishartCholesky(4, np.eye(2, dtype=np.int32))
        with pytest.raises(ValueError, match="does not make sense"):
            make("WishartFull", cholesky_input_output_matrices=True).stddev()


@pytest.mark.parametrize(
    ("kind", "scale", "df", "message"),
    [
        ("WishartCholesky", [[1.0, 0.0], [0.0, -1.0]], 4.0, "scale must be positive definite"),
        ("WishartCholesky", [[1.0, 0.0]], 4.0, "scale must be square"),
        ("WishartFull", [[1.0, 0.5], [0.0, 1.0]], 4.0, "must be symmetric"),
        ("WishartCholesky", [[1.0, 0.0], [0.0, 1.0]], 1.5, "cannot be less than"),
    ],
)
def test_steps_check_parameters_on_request(kind: str, scale: Any, df: float, message: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fed, number = tf.placeholder(tf.float32, None), tf.placeholder(tf.float32, None)
        made = getattr(DISTRIBUTIONS, kind)(number, fed, validate_args=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(made.mean(), {fed: scale, number: df})
