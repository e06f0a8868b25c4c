"""Every value, gradient, shape and error of `tf.distributions` is TensorFlow's."""

from dataclasses import dataclass
from typing import Any

import genuine
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import capstan

pytestmark = genuine.MARKS

STATISTICS = ("entropy", "mean", "mode", "variance", "stddev", "covariance")
OF_VALUES = (
    *("log_prob", "prob", "log_cdf", "cdf", "log_survival_function", "survival_function"),
    "quantile",
)
FLOATS = (np.float32, np.float64)


@dataclass(frozen=True)
class Family:
    """Parameters that make two distributions of the batch shape (2, 3), and values of one."""

    parameters: dict[str, Any]
    others: dict[str, Any]
    values: Any
    has_divergence: bool = True

    def make(self, tf: Any, name: str, dtype: Any, given: dict[str, Any], **options: Any) -> Any:
        tensors = {key: tf.constant(value, dtype) for key, value in given.items()}
        return getattr(tf.distributions, name)(**tensors, **options), tensors


ERRORS = (NotImplementedError, ValueError, TypeError)

COLUMN = np.array([[0.7], [2.4]])
ROW = np.array([1.3, 3.1, 0.4])
GRID = np.array([[0.2, 0.5, 0.9], [0.35, 0.05, 0.6]])
SIGNED = np.array([[-1.5, 0.0, 2.2], [0.4, -7.0, 1.0]])
CLASSES = np.array([[[0.2, 0.5, 0.3]], [[0.6, 0.1, 0.3]]]) * np.ones((2, 3, 1))
LOGITS = np.random.default_rng(5).normal(size=(2, 3, 4))
COUNTS = np.array([[2.0, 1.0, 2.0], [0.0, 5.0, 0.0]])[:, None, :] * np.ones((2, 3, 1))
ONES = np.ones((2, 3))
SCALED = {"loc": ROW - 1, "scale": COLUMN}
OTHER_SCALED = {"loc": COLUMN, "scale": ROW}

FAMILIES = {
    "Bernoulli": Family({"logits": SIGNED}, {"probs": GRID}, np.array([[1, 0, 1], [0, 0, 1]])),
    # TensorFlow's Betainc does not broadcast.
    "Beta": Family(
        {"concentration1": COLUMN * ONES, "concentration0": ROW * ONES},
        {"concentration1": ROW * ONES, "concentration0": GRID},
        GRID,
    ),
    "Categorical": Family(
        {"logits": LOGITS}, {"probs": CLASSES[..., [0, 1, 2, 2]] / 1.3}, COUNTS[..., 0] % 3
    ),
    "Dirichlet": Family(
        {"concentration": CLASSES * 7}, {"concentration": CLASSES[::-1] + ROW}, CLASSES[::-1]
    ),
    "DirichletMultinomial": Family(
        {"total_count": 5.0, "concentration": CLASSES * 4},
        {"total_count": 5.0, "concentration": CLASSES + 1},
        COUNTS,
        has_divergence=False,
    ),
    "Exponential": Family({"rate": GRID}, {"rate": GRID + 1}, GRID * 3),
    "Gamma": Family(
        {"concentration": COLUMN, "rate": ROW}, {"concentration": ROW, "rate": COLUMN}, GRID * 3
    ),
    "Laplace": Family(SCALED, OTHER_SCALED, SIGNED, has_divergence=False),
    "Multinomial": Family(
        {"total_count": 5.0, "logits": LOGITS[..., :3]},
        {"total_count": 5.0, "probs": CLASSES},
        COUNTS,
        has_divergence=False,
    ),
    "Normal": Family(SCALED, OTHER_SCALED, SIGNED),
    "StudentT": Family(
        {"df": ROW * ONES + 0.5, "loc": 1 - ROW * ONES, "scale": COLUMN * ONES},
        {"df": 3 * ONES, "loc": COLUMN * ONES, "scale": ROW * ONES},
        SIGNED,
        has_divergence=False,
    ),
    "Uniform": Family(
        {"low": ROW - 3, "high": COLUMN + 1}, {"low": -1.0, "high": ROW}, SIGNED,
        has_divergence=False,
    ),
}  # fmt: skip
NAMES = sorted(FAMILIES)


def evaluated(tf: Any, calls: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the tensors that the calls make, or the types of errors, by name."""
    found: dict[str, Any] = {}
    with tf.Graph().as_default(), tf.Session() as session:
        for name, call in calls.items():
            try:
                found[name] = call(tf)
            except ERRORS as error:
                found[name] = type(error).__name__
            except tf.errors.InvalidArgumentError as error:
                found[name] = type(error).__name__
        tensors = {name: each for name, each in found.items() if not isinstance(each, str)}
        return {**found, **session.run(tensors)}


def check_equal(v1: Any, calls: dict[str, Any], tolerance: float = 1e-5) -> dict[str, Any]:
    ours, theirs = evaluated(capstan, calls), evaluated(v1, calls)
    for name, wanted in theirs.items():
        if isinstance(wanted, str) or isinstance(ours[name], str):
            assert (name, ours[name]) == (name, wanted)
        else:
            np.testing.assert_allclose(
                ours[name], wanted, rtol=tolerance, atol=tolerance, strict=True, err_msg=name
            )
    return theirs


def called(distribution: Any, method: str, values: Any, dtype: Any) -> Any:
    if method in STATISTICS:
        return getattr(distribution, method)()
    values = GRID if method == "quantile" else values
    return getattr(distribution, method)(np.asarray(values, dtype))


def methods(name: str, dtype: Any) -> list[str]:
    """Return the methods whose results TensorFlow computes with parameters of a dtype."""
    broken = {("StudentT", "variance"), ("StudentT", "stddev")} if dtype is np.float64 else set()
    broken.add(("Dirichlet", "mode"))
    return [each for each in (*STATISTICS, *OF_VALUES) if (name, each) not in broken]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_tensorflow(v1: Any, name: str, dtype: Any) -> None:
    family = FAMILIES[name]
    calls = {
        f"{method} of {list(given)}": lambda tf, method=method, given=given: called(
            family.make(tf, name, dtype, given)[0], method, family.values, dtype
        )
        for method in methods(name, dtype)
        for given in (family.parameters, family.others)
    }
    found = check_equal(v1, calls)
    assert any(not isinstance(value, str) for value in found.values())


@pytest.mark.parametrize("name", NAMES)
def test_gradients_by_parameters_are_those_of_tensorflow(v1: Any, name: str) -> None:
    family = FAMILIES[name]

    def gradient(tf: Any, method: str, parameter: str) -> Any:
        distribution, parameters = family.make(tf, name, np.float64, family.parameters)
        result = called(distribution, method, family.values, np.float64)
        if not result.dtype.is_floating:
            return "no float"
        found = tf.gradients(result, parameters[parameter])[0]
        return "none" if found is None else found

    calls = {
        f"{method} by {parameter}": lambda tf, method=method, parameter=parameter: gradient(
            tf, method, parameter
        )
        for method in methods(name, np.float64)
        for parameter in family.parameters
    }
    check_equal(v1, calls, 1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_divergences_are_those_of_tensorflow(v1: Any, name: str) -> None:
    family = FAMILIES[name]

    def found(tf: Any, function: Any) -> Any:
        first, tensors = family.make(tf, name, np.float64, family.parameters)
        second, others = family.make(tf, name, np.float64, family.others)
        return function(tf, first, second, [*tensors.values(), *others.values()])

    calls = {
        "divergence": lambda tf, a, b, _: a.kl_divergence(b),
        "other way": lambda tf, a, b, _: tf.distributions.kl_divergence(
            b, a, allow_nan_stats=False
        ),
        "cross entropy": lambda tf, a, b, _: a.cross_entropy(b),
        "gradients": lambda tf, a, b, leaves: tf.concat(
            [tf.reshape(each, [-1]) for each in tf.gradients(a.kl_divergence(b), leaves)], 0
        ),
    }
    calls = {
        key: lambda tf, function=function: found(tf, function) for key, function in calls.items()
    }
    theirs = check_equal(v1, calls, 1e-9)
    assert isinstance(theirs["divergence"], str) is not family.has_divergence


@pytest.mark.parametrize("is_known", [True, False], ids=["known rank", "unknown rank"])
@pytest.mark.parametrize("name", NAMES)
def test_shapes_that_only_the_step_knows(v1: Any, name: str, is_known: bool) -> None:
    family = FAMILIES[name]

    def made(tf: Any) -> Any:
        fed = {}
        for key, value in family.parameters.items():
            array = np.asarray(value, np.float32)
            shape = [None] * array.ndim if is_known else None
            fed[key] = tf.placeholder_with_default(array, shape)
        return getattr(tf.distributions, name)(**fed)

    def sampled(tf: Any, shape: Any) -> Any:
        count = tf.placeholder_with_default(np.array([2, 1], np.int32), [None])
        choices = {"vector": count, "number": count[0]}
        return tf.shape(made(tf).sample(choices.get(shape, shape)))

    functions = ("batch_shape_tensor", "event_shape_tensor", "is_scalar_batch", "is_scalar_event")
    calls = {each: lambda tf, each=each: getattr(made(tf), each)() for each in functions}
    calls["log_prob"] = lambda tf: made(tf).log_prob(family.values.astype(np.float32))
    for shape in ((), 3, (2, 4), "vector", "number"):
        calls[f"sample {shape}"] = lambda tf, shape=shape: sampled(tf, shape)
    check_equal(v1, calls)


@pytest.mark.parametrize("name", NAMES)
def test_static_shapes_are_those_of_tensorflow(v1: Any, name: str) -> None:
    family = FAMILIES[name]

    def shapes(tf: Any, unknown: Any) -> list[str]:
        with tf.Graph().as_default():
            given = {
                key: tf.placeholder_with_default(np.asarray(value), unknown(np.shape(value)))
                for key, value in family.parameters.items()
            }
            made = getattr(tf.distributions, name)(**given)
            sizes = tf.placeholder(tf.int32, [2])
            return [
                str(shape)
                for shape in (
                    *(made.batch_shape, made.event_shape),
                    *(made.sample(each).shape for each in ((), 3, [2, 4], sizes)),
                )
            ]

    kinds: list[Any] = [lambda shape: shape, lambda shape: [None] * len(shape)]
    for unknown in kinds:
        assert shapes(capstan, unknown) == shapes(v1, unknown)


@pytest.mark.parametrize("name", NAMES)
def test_properties_are_those_of_tensorflow(v1: Any, name: str) -> None:
    family = FAMILIES[name]

    def described(tf: Any) -> Any:
        with tf.Graph().as_default():
            first, _ = family.make(tf, name, np.float32, family.parameters)
            made = first.copy(validate_args=True, name="again")
            assert first.reparameterization_type in (
                tf.distributions.FULLY_REPARAMETERIZED,
                tf.distributions.NOT_REPARAMETERIZED,
            )
            try:
                shapes = str(getattr(tf.distributions, name).param_static_shapes([3, 2]))
            except NotImplementedError:
                shapes = "none"
            return (
                *(made.dtype.name, made.name, made.allow_nan_stats, made.validate_args),
                *(str(made), repr(made), sorted(made.parameters), shapes),
                repr(made.reparameterization_type),
                made.log_prob(np.asarray(family.values, np.float32)).name.split("/")[:2],
            )

    assert described(capstan) == described(v1)


STRICT = {"validate_args": True, "allow_nan_stats": False}
REFUSED: list[Any] = [
    lambda d: d.Bernoulli(probs=1.2, **STRICT).probs,
    lambda d: d.Bernoulli(probs=-0.2, **STRICT).probs,
    lambda d: d.Bernoulli(logits=0.0, probs=0.5),
    lambda d: d.Bernoulli(),
    lambda d: d.Bernoulli(probs=1),
    lambda d: d.Bernoulli(probs=0.3, **STRICT).log_prob(2),
    lambda d: d.Bernoulli(probs=0.3, **STRICT).log_prob(0.5),
    lambda d: d.Bernoulli(probs=0.3, **STRICT).log_prob(1.0),
    lambda d: d.Beta(-1.0, 2.0, **STRICT).mean(),
    lambda d: d.Beta(1.0, 2.0, **STRICT).mode(),
    lambda d: d.Beta(2.0, 1.0, **STRICT).mode(),
    lambda d: d.Beta(2.0, 1.5, **STRICT).mode(),
    lambda d: d.Beta(2.0, 1.5, **STRICT).log_prob(1.5),
    lambda d: d.Beta(2.0, 1.5, **STRICT).log_prob(0.0),
    lambda d: d.Beta(2.0, np.float64(1.5)).mean(),
    lambda d: d.Beta(2, 1),
    lambda d: d.Categorical(probs=[0.2, 0.2], **STRICT).probs,
    lambda d: d.Categorical(probs=[1.2, -0.2], **STRICT).probs,
    lambda d: d.Categorical(probs=[1.0], **STRICT),
    lambda d: d.Categorical(logits=[1.0], **STRICT),
    lambda d: d.Categorical(logits=1.0),
    lambda d: d.Categorical(logits=[1.0, 2.0], **STRICT).log_prob(0.5),
    lambda d: d.Categorical(logits=[1.0, 2.0], **STRICT).log_prob(-1),
    lambda d: d.Categorical(logits=[1.0, 2.0], **STRICT).log_prob(1.0),
    lambda d: d.Categorical(logits=[1.0, 2.0], **STRICT).cdf(1),
    lambda d: d.Categorical(logits=[1.0, 2.0]).log_prob("one"),
    lambda d: d.Dirichlet([1.0, -2.0], **STRICT).mean(),
    lambda d: d.Dirichlet([1.0], **STRICT).mean(),
    lambda d: d.Dirichlet([1.0, 2.0], **STRICT).mode(),
    lambda d: d.Dirichlet([1.5, 2.0], **STRICT).mode(),
    lambda d: d.Dirichlet([1.0, 2.0]).mode(),
    lambda d: d.Dirichlet([1.5, 2.0], **STRICT).log_prob([0.5, 0.6]),
    lambda d: d.Dirichlet([1.5, 2.0], **STRICT).log_prob([0.0, 1.0]),
    lambda d: d.Dirichlet([1.5, 2.0], **STRICT).log_prob([0.4, 0.6]),
    lambda d: d.DirichletMultinomial(-1.0, [1.0, 2.0], **STRICT).mean(),
    lambda d: d.DirichletMultinomial(2.5, [1.0, 2.0], **STRICT).mean(),
    lambda d: d.DirichletMultinomial(2.0, [1.0, -2.0], **STRICT).mean(),
    lambda d: d.DirichletMultinomial(2.0, [1.0], **STRICT),
    lambda d: d.DirichletMultinomial(2.0, [1.0, 2.0], **STRICT).log_prob([1.0, 2.0]),
    lambda d: d.DirichletMultinomial(2.0, [1.0, 2.0], **STRICT).log_prob([1.0, 1.0]),
    lambda d: d.DirichletMultinomial(2.0, [1.0, 2.0], **STRICT).log_prob([0.5, 1.5]),
    lambda d: d.Exponential(-1.0, **STRICT).mean(),
    lambda d: d.Exponential(2.0, **STRICT).mode(),
    lambda d: d.Exponential(2.0).mode(),
    lambda d: d.Exponential(2.0, **STRICT).log_prob(-1.0),
    lambda d: d.Exponential(1),
    lambda d: d.Gamma(-1.0, 2.0, **STRICT).mean(),
    lambda d: d.Gamma(1.0, -2.0, **STRICT).mean(),
    lambda d: d.Gamma(1.0, 2.0, **STRICT).mode(),
    lambda d: d.Gamma(1.5, 2.0, **STRICT).mode(),
    lambda d: d.Gamma(1.5, 2.0, **STRICT).log_prob(0.0),
    lambda d: d.Gamma(1.5, 2.0, **STRICT).cdf(-1.0),
    lambda d: d.Gamma(1.5, 2.0).log_prob(np.float64(1)),
    lambda d: d.Laplace(0.0, -1.0, **STRICT).mean(),
    lambda d: d.Multinomial(-1.0, [1.0, 2.0], **STRICT).mean(),
    lambda d: d.Multinomial(1.5, [1.0, 2.0], **STRICT).mean(),
    lambda d: d.Multinomial(2.0, [1.0, 2.0], **STRICT).log_prob([1.0, 2.0]),
    lambda d: d.Multinomial(2.0, [1.0, 2.0], **STRICT).log_prob([1.0, 1.0]),
    lambda d: d.Multinomial(2.0, probs=[0.2, 0.3], **STRICT).mean(),
    lambda d: d.Normal(0.0, -1.0, **STRICT).mean(),
    lambda d: d.Normal(0.0, 0.0, **STRICT).mean(),
    lambda d: d.Normal(0.0, -1.0).log_prob(0.0),
    lambda d: d.Normal(0.0, np.float64(1.0)),
    lambda d: d.Normal(0, 1),
    lambda d: d.Normal([0.0, 1.0], [1.0, 1.0, 1.0]).batch_shape_tensor(),
    lambda d: d.Normal(0.0, 1.0).sample([[2, 3]]),
    lambda d: d.Normal(0.0, 1.0).kl_divergence(d.Normal(0.0, 0.0)),
    lambda d: d.Normal(0.0, 0.0, allow_nan_stats=False).kl_divergence(d.Normal(0.0, 0.0)),
    lambda d: d.Normal(0.0, 1.0).kl_divergence(d.Laplace(0.0, 1.0)),
    lambda d: d.Exponential(1.5).kl_divergence(d.Gamma(2.0, 0.5)),
    lambda d: d.StudentT(-1.0, 0.0, 1.0, **STRICT).mode(),
    lambda d: d.StudentT(1.0, 0.0, 1.0, **STRICT).mean(),
    lambda d: d.StudentT(1.0, 0.0, 1.0, **STRICT).variance(),
    lambda d: d.StudentT(1.5, 0.0, 1.0, **STRICT).mean(),
    lambda d: d.StudentT(1.5, 0.0, 1.0, **STRICT).variance(),
    lambda d: d.Uniform(1.0, 1.0, **STRICT).mean(),
    lambda d: d.Uniform(1.0, 0.0).mean(),
    lambda d: d.Uniform(1.0, 2.0, **STRICT).log_prob(np.float32(np.nan)),
    lambda d: d.Distribution("float32", d.NOT_REPARAMETERIZED, False, True).mean(),
    lambda d: d.Distribution("float32", d.NOT_REPARAMETERIZED, False, True, graph_parents=[1]),
    lambda d: d.Normal.param_static_shapes(None),
]


def outcome(tf: Any, case: Any) -> Any:
    """Return the value of a tensor, or the type of the error while it is made or computed."""
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            return session.run(case(tf.distributions))
        except (*ERRORS, tf.errors.InvalidArgumentError) as error:
            return type(error).__name__


@pytest.mark.parametrize("part", range(8))
def test_the_same_arguments_are_refused(v1: Any, part: int) -> None:
    for number, case in enumerate(REFUSED[part::8]):
        ours, theirs = outcome(capstan, case), outcome(v1, case)
        place = f"case {part + 8 * number}"
        if isinstance(theirs, str):
            assert (place, ours) == (place, theirs)
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, strict=True, err_msg=place)


def fed(tf: Any, name: str, parameters: Any) -> Any:
    """Return a function of parameters and values, whose graph is made once."""
    with tf.Graph().as_default() as graph:
        inputs = [tf.placeholder(tf.float64, [None]) for _ in (*parameters, "value")]
        made = getattr(tf.distributions, name)(**dict(zip(parameters, inputs, strict=False)))
        results = [getattr(made, method)(inputs[-1]) for method in OF_VALUES[:-1]]
        results += [made.entropy(), made.mean()]
    session = tf.Session(graph=graph)
    return lambda *arrays: session.run(results, dict(zip(inputs, arrays, strict=True)))


POSITIVE = st.floats(0.01, 50)
REAL = st.floats(-40, 40)
RANGES = {
    "Beta": ({"concentration1": POSITIVE, "concentration0": POSITIVE}, st.floats(0.001, 0.999)),
    "Gamma": ({"concentration": POSITIVE, "rate": POSITIVE}, POSITIVE),
    "Exponential": ({"rate": POSITIVE}, POSITIVE),
    "Laplace": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "Normal": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "StudentT": ({"df": POSITIVE, "loc": REAL, "scale": POSITIVE}, REAL),
    "Uniform": ({"low": st.floats(-40, 0), "high": POSITIVE}, REAL),
}


@pytest.mark.parametrize("name", sorted(RANGES))
def test_all_parameters_give_the_values_of_tensorflow(v1: Any, name: str) -> None:
    parameters, values = RANGES[name]
    both = [fed(tf, name, parameters) for tf in (capstan, v1)]

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.tuples(
            *(
                arrays.arrays(np.float64, 8, elements=each)
                for each in (*parameters.values(), values)
            )
        )
    )
    def check(drawn: Any) -> None:
        ours, theirs = (run(*drawn) for run in both)
        for mine, wanted in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=1e-6, atol=1e-9)

    check()


@given(arrays.arrays(np.float64, 30, elements=st.floats(1e-12, 1 - 1e-12)))
@settings(max_examples=30, deadline=None)
def test_quantiles_of_the_normal_distribution(p: Any) -> None:
    from scipy import stats

    with capstan.Graph().as_default(), capstan.Session() as session:
        normal = capstan.distributions.Normal(np.float64(0), np.float64(1))
        found = session.run(normal.quantile(p))
    np.testing.assert_allclose(found, stats.norm.ppf(p), rtol=1e-9, atol=1e-12)
