"""Every value, gradient, shape and error of `tf.distributions` is TensorFlow's."""

from typing import Any

import genuine
import numpy as np
import pytest
from distribution_families import FAMILIES, GRID, NAMES

import capstan

pytestmark = genuine.MARKS

STATISTICS = ("entropy", "mean", "mode", "variance", "stddev", "covariance")
OF_VALUES = (
    *("log_prob", "prob", "log_cdf", "cdf", "log_survival_function", "survival_function"),
    "quantile",
)
FLOATS = (np.float32, np.float64)


RANDOM = ("Multinomial", "RandomGamma", "RandomStandardNormal", "RandomUniform")
ERRORS = (NotImplementedError, ValueError, TypeError)


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


@pytest.mark.parametrize("name", NAMES)
def test_random_operations_have_the_seeds_of_tensorflow(v1: Any, name: str) -> None:
    family = FAMILIES[name]

    def seeds(tf: Any) -> set[int]:
        with tf.Graph().as_default() as graph:
            for seed in (3, 4):
                family.make(tf, name, np.float32, family.parameters)[0].sample(2, seed)
            operations = [each for each in graph.get_operations() if each.type in RANDOM]
            return {each.get_attr("seed2") for each in operations}

    assert seeds(capstan) == seeds(v1)
