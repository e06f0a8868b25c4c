"""Rarer distributions of `tf.contrib.distributions`, and `percentile`, have SciPy's values."""

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import capstan as tf

DISTRIBUTIONS = tf.contrib.distributions
DRAWS = 20_000
DF, PROBS = np.array([3.0, 7.5]), np.array([[0.3], [0.8]])
CONCENTRATION, RATE = np.array([3.0, 6.5]), np.array([[1.5], [0.3]])
POSITIVE = np.array([[0.7, 2.0], [5.0, 0.1]])
SIGNED = np.array([[-0.7, 2.0], [5.0, -3.1]])
COUNTS = np.array([[0.0, 3.0], [7.0, 1.0]])
TOTAL = np.array([7.0, 9.0])


def run(build: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build())


FAMILIES: dict[str, Any] = {
    "Chi2": ({"df": DF}, stats.chi2(DF), POSITIVE),
    "Chi2WithAbsDf": ({"df": -DF}, stats.chi2(np.floor(DF)), POSITIVE),
    "Geometric": ({"probs": PROBS}, stats.geom(PROBS, -1), COUNTS),
    "NegativeBinomial": (
        {"total_count": TOTAL, "probs": PROBS},
        stats.nbinom(TOTAL, 1 - PROBS),
        COUNTS,
    ),
    "Binomial": ({"total_count": TOTAL, "probs": PROBS}, stats.binom(TOTAL, PROBS), COUNTS),
    "InverseGamma": (
        {"concentration": CONCENTRATION, "rate": RATE},
        stats.invgamma(CONCENTRATION, scale=RATE),
        POSITIVE,
    ),
    "InverseGammaWithSoftplusConcentrationRate": (
        {"concentration": np.log(np.expm1(CONCENTRATION)), "rate": np.log(np.expm1(RATE))},
        stats.invgamma(CONCENTRATION, scale=RATE),
        POSITIVE,
    ),
    "HalfNormal": ({"scale": RATE}, stats.halfnorm(scale=RATE), SIGNED),
    "Cauchy": ({"loc": DF, "scale": RATE}, stats.cauchy(DF, RATE), SIGNED),
}
"""The parameters of distributions of numbers, SciPy's, and values."""
DISCRETE = ("Geometric", "NegativeBinomial", "Binomial")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_values_and_shapes(name: str, dtype: Any) -> None:
    parameters, known, values = FAMILIES[name]
    density = known.logpmf if name in DISCRETE else known.logpdf
    with np.errstate(divide="ignore"):
        expected = {
            "log_prob": density(values),
            "prob": np.exp(density(values)),
            "cdf": known.cdf(values),
            "survival_function": known.sf(values),
        }
    given = {key: value.astype(dtype) for key, value in parameters.items()}

    def build() -> Any:
        made = getattr(DISTRIBUTIONS, name)(**given)
        shape = np.broadcast_shapes(*(np.shape(value) for value in given.values()))
        assert (made.batch_shape.as_list(), made.event_shape.as_list()) == (list(shape), [])
        assert (made.dtype.as_numpy_dtype, made.name) == (dtype, f"{name}/")
        fed = values.astype(dtype)
        copied = made.copy(**{key: given[key][..., :1] for key in given})
        return {
            **{method: getattr(made, method)(fed) for method in expected},
            "batch_shape": made.batch_shape_tensor(),
            "copied": copied.log_prob(fed[..., :1]),
        }

    found = run(build)
    tolerance = 1e-5 if dtype is np.float32 else 1e-9
    np.testing.assert_array_equal(found.pop("batch_shape"), known.mean().shape)
    np.testing.assert_allclose(found.pop("copied"), found["log_prob"][..., :1], tolerance)
    for method, value in found.items():
        assert value.dtype == dtype
        np.testing.assert_allclose(value, expected[method], tolerance, tolerance, err_msg=method)


STATISTICS = {
    **dict.fromkeys(("Chi2", "Binomial", "NegativeBinomial"), ("mean", "variance", "stddev")),
    **dict.fromkeys(("Geometric", "InverseGamma"), ("mean", "variance", "stddev", "entropy")),
    "HalfNormal": ("mean", "variance", "stddev", "entropy"),
    "Cauchy": ("entropy",),
}


@pytest.mark.parametrize("name", sorted(STATISTICS))
def test_statistics(name: str) -> None:
    parameters, known, _ = FAMILIES[name]
    names = {"stddev": "std", "variance": "var"}
    expected = {each: getattr(known, names.get(each, each))() for each in STATISTICS[name]}

    def build() -> Any:
        made = getattr(DISTRIBUTIONS, name)(**parameters)
        return {each: getattr(made, each)() for each in expected}

    for method, value in run(build).items():
        np.testing.assert_allclose(value, expected[method], rtol=1e-7, err_msg=method)


MODES = {
    "Chi2": np.maximum(DF - 2, 0),
    "Geometric": np.zeros((2, 1)),
    "NegativeBinomial": np.floor((TOTAL - 1) * PROBS / (1 - PROBS)),
    "Binomial": np.floor((1 + TOTAL) * PROBS),
    "InverseGamma": RATE / (1 + CONCENTRATION),
    "HalfNormal": np.zeros((2, 1)),
    "Cauchy": DF * np.ones((2, 2)),
}


@pytest.mark.parametrize("name", sorted(MODES))
def test_modes(name: str) -> None:
    mode = run(lambda: getattr(DISTRIBUTIONS, name)(**FAMILIES[name][0]).mode())
    np.testing.assert_allclose(mode, MODES[name], strict=True)


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - {"Binomial"}))
def test_samples(name: str) -> None:
    parameters, known, _ = FAMILIES[name]
    drawn, again = run(
        lambda: [
            getattr(DISTRIBUTIONS, name)(**parameters).sample((2, DRAWS // 2), seed=5)
            for _ in range(2)
        ]
    )
    assert drawn.shape == (2, DRAWS // 2, *known.mean().shape)
    flat, middle = drawn.reshape(DRAWS, -1), known.cdf(np.median(drawn, (0, 1))).reshape(-1)
    if name in DISCRETE:
        error = 5 * known.std() / np.sqrt(DRAWS)
        assert np.all(np.abs(flat.mean(0).reshape(known.mean().shape) - known.mean()) < error)
        np.testing.assert_array_equal(flat, np.floor(flat))
    else:
        np.testing.assert_allclose(middle, 0.5, atol=0.02)
    assert np.all(np.isfinite(again))


def test_binomial_numbers_have_no_samples_as_in_tensorflow() -> None:
    with tf.Graph().as_default(), pytest.raises(NotImplementedError, match="sample_n"):
        DISTRIBUTIONS.Binomial([3.0], probs=[0.5]).sample()


def test_undefined_statistics_are_nan_or_refused() -> None:
    def build() -> Any:
        gamma = DISTRIBUTIONS.InverseGamma([0.5, 1.5, 3.0], 1.0)
        cauchy = DISTRIBUTIONS.Cauchy(0.0, [1.0, 2.0])
        return gamma.mean(), gamma.variance(), cauchy.mean(), cauchy.stddev(), cauchy.variance()

    mean, variance, *of_cauchy = run(build)
    np.testing.assert_allclose(mean, [np.nan, 2, 0.5], rtol=1e-6)
    np.testing.assert_allclose(variance, [np.nan, np.nan, 0.25], rtol=1e-6)
    np.testing.assert_array_equal(of_cauchy, np.full((3, 2), np.nan))
    for statistic, limit in (("mean", 1), ("variance", 2)):
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=f"{statistic} undefined when any concentration <= {limit}",
        ):
            run(
                lambda statistic=statistic: getattr(
                    DISTRIBUTIONS.InverseGamma([0.5], 1.0, allow_nan_stats=False), statistic
                )()
            )
    with tf.Graph().as_default(), pytest.raises(ValueError, match="is undefined for Cauchy"):
        DISTRIBUTIONS.Cauchy(0.0, 1.0, allow_nan_stats=False).mean()


REFUSED: list[tuple[str, dict[str, Any], Any, str]] = [
    ("Chi2", {"df": [-1.0]}, [1.0], "> 0"),
    ("Geometric", {"probs": [0.0]}, [1.0], "> 0"),
    ("Geometric", {"probs": [0.5]}, [1.5], "cannot contain fractional components"),
    ("NegativeBinomial", {"total_count": [-1.0], "probs": [0.5]}, [1.0], "> 0"),
    ("Binomial", {"total_count": [1.5], "probs": [0.5]}, [1.0], "cannot contain fractional"),
    ("Binomial", {"total_count": [1.0], "probs": [0.5]}, [2.0], "not less than or equal to n"),
    ("InverseGamma", {"concentration": [1.0], "rate": [1.0]}, [-1.0], "> 0"),
    ("HalfNormal", {"scale": [-1.0]}, [1.0], "> 0"),
    ("Cauchy", {"loc": [0.0], "scale": [0.0]}, [1.0], "> 0"),
]


@pytest.mark.parametrize("name, parameters, value, message", REFUSED)
def test_invalid_parameters_and_values_are_refused_on_request(
    name: str, parameters: dict[str, Any], value: Any, message: str
) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        run(
            lambda: getattr(DISTRIBUTIONS, name)(
                **{
                    key: tf.placeholder_with_default(tf.constant(each), [1])
                    for key, each in parameters.items()
                },
                validate_args=True,
            ).log_prob(value)
        )


def test_a_number_below_zero_has_no_density_of_a_half_normal_number() -> None:
    def build() -> Any:
        made, x = DISTRIBUTIONS.HalfNormal(2.0), tf.constant([-1.0, 0.0, 1.0, 50.0])
        return made.prob(x), made.log_prob(x), tf.gradients(made.log_prob(x), x)[0], made.cdf(x)

    prob, log_prob, slope, cdf = run(build)
    assert prob[0] == cdf[0] == 0
    assert np.isneginf(log_prob[0])
    np.testing.assert_allclose(log_prob[1:], stats.halfnorm(scale=2).logpdf([0, 1, 50]), rtol=1e-6)
    np.testing.assert_allclose(slope, [0, 0, -0.25, -12.5])


def test_relaxed_bernoulli_numbers() -> None:
    logits = np.array([-1.0, 0.5, 2.0])
    places = ((np.arange(4000) + 0.5) / 4000)[:, None]

    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.constant(logits)
        made = DISTRIBUTIONS.RelaxedBernoulli(0.7, logits=given)
        other = DISTRIBUTIONS.RelaxedBernoulli(
            tf.constant(0.7, tf.float64), probs=special.expit(logits)
        )
        assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([3], [])
        assert made.reparameterization_type is DISTRIBUTIONS.FULLY_REPARAMETERIZED
        drawn = made.sample(DRAWS, seed=6)
        values = session.run(
            [
                *(made.prob(places), other.prob(places), made.cdf(places), made.probs),
                *(drawn, tf.gradients(drawn, given)[0], made.temperature),
                made.copy(temperature=0.01).sample(DRAWS),
            ]
        )
    density, same, cdf, probs, drawn, slopes, temperature, sharp = values
    np.testing.assert_allclose(density, same)
    np.testing.assert_allclose(density.mean(0), 1, rtol=1e-2)
    np.testing.assert_allclose((density * places).mean(0), drawn.mean(0), atol=0.02)
    np.testing.assert_allclose(np.cumsum(density, 0) / 4000, cdf, atol=0.02)
    np.testing.assert_allclose(probs, special.expit(logits))
    np.testing.assert_allclose(sharp.mean(0), probs, atol=0.02)
    assert np.all(slopes > 0)
    assert temperature == 0.7


VALUES = np.random.default_rng(3).normal(size=(3, 4, 5))
METHODS = {"lower": "lower", "higher": "higher", "nearest": "nearest", None: "nearest"}


@pytest.mark.parametrize("interpolation", METHODS)
@pytest.mark.parametrize("axis", [None, 1, -1, [0], [2, 0]])
@pytest.mark.parametrize("q", [0, 10.0, 33, 50, 77.0, 100])
def test_percentiles(interpolation: str | None, axis: Any, q: float) -> None:
    found, kept = run(
        lambda: [
            DISTRIBUTIONS.percentile(VALUES, q, axis, interpolation, keep_dims)
            for keep_dims in (False, True)
        ]
    )
    axes = axis if axis is None else tuple(np.atleast_1d(axis))
    expected = np.percentile(VALUES, q, axes, method=METHODS[interpolation], keepdims=True)
    if METHODS[interpolation] != "nearest" or q != 50:
        np.testing.assert_array_equal(kept, expected, strict=True)
    np.testing.assert_array_equal(found.reshape(-1), kept.reshape(-1))
    assert found.ndim == (0 if axis is None else 3 - len(axes))


def test_percentiles_of_tensors_of_unknown_sizes() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None])
        median = DISTRIBUTIONS.percentile(x, 50.0, axis=[0], validate_args=True)
        assert median.shape.as_list() == [None]
        everything = DISTRIBUTIONS.percentile(tf.placeholder_with_default(x, None), 100.0)
        found, most = session.run([median, everything], {x: [[1, 5], [2, 4], [9, 3]]})
        np.testing.assert_array_equal(found, [2, 4])
        assert most == 9
        with pytest.raises(ValueError, match="'interpolation' must be in"):
            DISTRIBUTIONS.percentile(x, 50.0, interpolation="linear")
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(DISTRIBUTIONS.percentile(x, 101.0, validate_args=True), {x: [[1]]})
        with pytest.raises(ValueError, match="dim 2 not in the interval"):
            DISTRIBUTIONS.percentile(x, 50.0, axis=[2])
