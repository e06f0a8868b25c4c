"""Samples of `tf.distributions`, classes of programs, and parameters that broadcast."""

from typing import Any

import numpy as np
import pytest
from distribution_families import FAMILIES, NAMES
from scipy import stats

import capstan as tf

DRAWS = 20_000


def run(build: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_samples_have_the_moments_of_their_distribution(name: str, dtype: Any) -> None:
    family = FAMILIES[name]

    def build() -> Any:
        made, _ = family.make(tf, name, dtype, family.parameters)
        drawn = made.sample(DRAWS, seed=7)
        assert drawn.dtype == made.dtype
        if name == "Categorical":
            classes = tf.one_hot(drawn, 4, dtype=dtype)
            return classes, made.probs, tf.sqrt(made.probs * (1 - made.probs))
        if name == "StudentT":  # the variance of its samples is infinite, or varies too much
            return made.cdf(drawn), tf.fill([2, 3], 0.5), tf.fill([2, 3], 12**-0.5)
        return drawn, made.mean(), made.stddev()

    drawn, mean, stddev = run(build)
    assert drawn.shape == (DRAWS, *mean.shape)
    assert np.all(np.abs(drawn.mean(0) - mean) < 5 * stddev / np.sqrt(DRAWS))
    np.testing.assert_allclose(drawn.std(0), stddev, rtol=0.1)


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_give_equal_samples(name: str) -> None:
    family = FAMILIES[name]

    def build() -> Any:
        made, _ = family.make(tf, name, np.float32, family.parameters)
        return [made.sample((2, 5), seed=seed) for seed in (3, 3, 4, None)]

    first, again, other, fresh = run(build)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, fresh)
    np.testing.assert_array_equal(first, run(build)[0])


@pytest.mark.parametrize("name", NAMES)
def test_samples_have_gradients_if_the_distribution_says_so(name: str) -> None:
    family = FAMILIES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        made, parameters = family.make(tf, name, np.float32, family.parameters)
        drawn = tf.cast(made.sample(4, seed=1), tf.float32)
        gradients = tf.gradients(drawn, list(parameters.values()))
        if made.reparameterization_type is tf.distributions.FULLY_REPARAMETERIZED:
            assert all(np.isfinite(value).all() for value in session.run(gradients))
        else:
            assert gradients == [None] * len(gradients)


def test_counts_have_the_sums_of_their_rows() -> None:
    totals = np.array([[3.0], [0.0], [7.0]], np.float32)

    def build() -> Any:
        probs = np.full((1, 2, 4), 0.25, np.float32)
        many = tf.distributions.Multinomial(totals, probs=probs).sample(6, seed=2)
        mixed = tf.distributions.DirichletMultinomial(totals[:, 0], probs[0, :1] * 8)
        return many, tf.distributions.Multinomial(0.0, [0.0, 1.0]).sample(2), mixed.mean()

    many, none, mean = run(build)
    assert many.shape == (6, 3, 2, 4)
    np.testing.assert_array_equal(many.sum(-1), np.broadcast_to(totals, (6, 3, 2)))
    np.testing.assert_array_equal(none, np.zeros((2, 2)))
    np.testing.assert_allclose(mean, totals / 4 * np.ones(4))


def test_parameters_broadcast_where_they_do_not_in_tensorflow() -> None:
    a, b, x = np.array([[0.5], [2.0]]), np.array([1.5, 4.0, 3.0]), np.array([0.1, 0.6, 0.9])
    df, y = np.array([[1.5], [9.0]]), np.array([-2.0, 0.0, 3.0])
    concentration = np.array([[2.0, 3.0, 5.0], [2.0, 0.5, 5.0]])

    def build() -> Any:
        student = tf.distributions.StudentT(df, np.float64(0), np.array([2.0, 1.0, 3.0]))
        return (
            tf.distributions.Beta(a, b).cdf(x[:, None, None]),
            *(student.cdf(y), student.variance(), student.stddev()),
            tf.distributions.Dirichlet(concentration).mode(),
        )

    cdf, of_student, variance, stddev, mode = run(build)
    np.testing.assert_allclose(cdf, stats.beta.cdf(x[:, None, None], a, b), rtol=1e-9)
    np.testing.assert_allclose(of_student, stats.t.cdf(y, df, 0, [2, 1, 3]), rtol=1e-9)
    expected = np.array([[np.inf] * 3, np.array([4.0, 1.0, 9.0]) * 9 / 7])
    np.testing.assert_allclose(variance, expected)
    np.testing.assert_allclose(stddev, np.sqrt(expected))
    np.testing.assert_allclose(mode, [[1 / 7, 2 / 7, 4 / 7], [np.nan] * 3])


class Triangular(tf.distributions.Distribution):
    """The distribution of numbers in (0, width) whose density falls to 0."""

    def __init__(self, width: Any, name: str = "Triangular") -> None:
        parameters = dict(locals())
        self.width = tf.convert_to_tensor(width)
        super().__init__(
            dtype=self.width.dtype,
            reparameterization_type=tf.distributions.FULLY_REPARAMETERIZED,
            validate_args=False,
            allow_nan_stats=True,
            parameters=parameters,
            graph_parents=[self.width],
            name=name,
        )

    def _prob(self, x: Any) -> Any:
        return 2 * (self.width - x) / tf.square(self.width)

    def _log_cdf(self, x: Any) -> Any:
        return tf.log1p(-tf.square(1 - x / self.width))

    def _stddev(self) -> Any:
        return self.width / np.sqrt(18)


@tf.distributions.RegisterKL(Triangular, Triangular)
def divergence(a: Triangular, b: Triangular, name: str | None = None) -> Any:
    return tf.identity(a.width - b.width, name)


class Narrow(Triangular):
    pass


class Narrowest(Narrow):
    pass


@tf.distributions.RegisterKL(Narrow, Triangular)
def narrow_divergence(a: Narrow, b: Triangular, name: str | None = None) -> Any:
    return tf.constant(-1.0)


def test_the_nearest_bases_give_the_divergence() -> None:
    def build() -> Any:
        wide, narrow, narrowest = Triangular(4.0), Narrow(3.0), Narrowest(1.0)
        return (
            *(wide.kl_divergence(narrowest), narrow.kl_divergence(wide)),
            narrowest.kl_divergence(narrow),
        )

    assert list(run(build)) == [3, -1, -1]


def test_gradients_are_finite_where_the_values_of_other_formulas_are_not() -> None:
    def build() -> Any:
        x, df = tf.constant(np.array([-40.0, 0.0, 40.0])), tf.constant(np.array([2.0, 6.0]))
        normal = tf.distributions.Normal(np.float64(0), np.float64(1))
        student = tf.distributions.StudentT(df, np.float64(0), np.float64(1))
        found = normal.log_cdf(x), normal.log_survival_function(x), student.variance()
        return [tf.gradients(y, at)[0] for y, at in zip(found, (x, x, df), strict=True)]

    below, above, spread = run(build)
    places = np.array([-40.0, 0.0, 40.0])
    ratio = np.exp(stats.norm.logpdf(places) - stats.norm.logcdf(places))
    np.testing.assert_allclose(below, ratio, rtol=1e-6)
    np.testing.assert_allclose(above, -below[::-1], rtol=1e-6)
    np.testing.assert_allclose(spread, [0, -1 / 8])


def test_related_methods_of_a_class_of_a_program_complete_each_other() -> None:
    def build() -> Any:
        made = Triangular(4.0)
        return (
            *(made.log_prob(1.0), made.cdf(1.0), made.survival_function(1.0)),
            *(made.log_survival_function(1.0), made.variance(), made.copy(width=9.0).stddev()),
            made.kl_divergence(Narrow(3.0)),
        )

    expected = [np.log(6 / 16), 7 / 16, 9 / 16, np.log(9 / 16), 16 / 18, 9 / np.sqrt(18), 1.0]
    np.testing.assert_allclose(run(build), expected, rtol=1e-6)


def test_a_method_that_is_missing_is_named() -> None:
    made = Triangular(2.0)
    for method in ("mean", "mode", "entropy", "covariance", "batch_shape_tensor"):
        with pytest.raises(NotImplementedError, match=f"{method} is not implemented: Triangular"):
            getattr(made, method)()
    with pytest.raises(NotImplementedError, match="quantile is not implemented: Triangular"):
        made.quantile(0.5)
    with pytest.raises(NotImplementedError, match="sample_n is not implemented: Triangular"):
        made.sample()
    with pytest.raises(NotImplementedError, match="_param_shapes not implemented: Triangular"):
        Triangular.param_shapes([2])
    assert made.batch_shape.ndims is made.event_shape.ndims is None


def test_divergences_are_registered_once() -> None:
    register = tf.distributions.RegisterKL
    with pytest.raises(ValueError, match="has already been registered"):
        register(Triangular, Triangular)(divergence)
    with pytest.raises(TypeError, match="must be callable"):
        register(Triangular, Narrow)(1)
    normal = tf.distributions.Normal(0.0, 1.0)
    with pytest.raises(NotImplementedError, match="type Triangular and distribution_b type Normal"):
        Triangular(1.0).kl_divergence(normal)


def test_subclasses_have_the_divergence_of_their_nearest_bases() -> None:
    def build() -> Any:
        distributions = tf.contrib.distributions
        rate = np.float32(np.log(np.expm1(1.5)))
        made = (
            *(distributions.Gamma(1.0, 1.5), distributions.Exponential(1.5)),
            distributions.ExponentialWithSoftplusRate(rate),
        )
        return [each.kl_divergence(distributions.Gamma(2.0, 0.5)) for each in made]

    found = run(build)
    np.testing.assert_allclose(found, [found[0]] * 3, rtol=1e-5)


def test_softplus_variants_have_the_parameters_of_their_arguments() -> None:
    distributions = tf.contrib.distributions
    plain = np.array([0.7, 1.9], np.float32)
    raw = np.log(np.expm1(plain))

    def build() -> Any:
        beta = distributions.BetaWithSoftplusConcentration(raw, raw[::-1])
        gamma = distributions.GammaWithSoftplusConcentrationRate(raw, raw[::-1])
        laplace = distributions.LaplaceWithSoftplusScale(0.0, raw)
        normal = distributions.NormalWithSoftplusScale(0.0, raw)
        student = distributions.StudentTWithAbsDfSoftplusScale(-3.7, 0.0, raw)
        assert normal.parameters["scale"] is raw
        assert normal.copy(loc=1.0).name == "NormalWithSoftplusScale_1/"
        return (
            *(beta.concentration1, beta.concentration0, gamma.concentration, gamma.rate),
            *(laplace.scale, normal.scale, student.scale, student.df),
        )

    *found, df = run(build)
    expected = [plain, plain[::-1], plain, plain[::-1], plain, plain, plain]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert df == 3
