"""Random ops with tensors of parameters have TensorFlow's distributions, shapes and gradients.

All seeds are fixed, so the numbers are the same in every run.
"""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import outcome

import capstan
from capstan.framework import opdef

pytestmark = genuine.MARKS

COUNT = 20_000
CLASSIC = [np.float16, np.float32, np.float64]


def drawn(make: Callable[[], Any], runs: int = 1, seed: int = 7) -> list[Any]:
    """Return the values of a new graph's tensor in some steps of one session."""
    with capstan.Graph().as_default(), capstan.Session() as session:
        capstan.set_random_seed(seed)
        tensor = make()
        return [session.run(tensor) for _ in range(runs)]


def distance(sample: Any, cdf: Any) -> Any:
    """Return the largest difference of shares below a number, in units of 1 / sqrt(size).

    By the theorem of Kolmogorov, one sample in 100 000 has a distance above 2.5.
    """
    size = sample.size
    order = np.argsort(sample)
    below = cdf[order]
    ranks = np.arange(size)
    return np.sqrt(size) * max((below - ranks / size).max(), ((ranks + 1) / size - below).max())


def below(v1: Any, function: str, *operands: Any) -> Any:
    with v1.Graph().as_default(), v1.Session() as session:
        return session.run(getattr(v1.math, function)(*map(np.float64, operands)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha, beta", [(0.2, 1.0), (1.0, 4.0), (3.0, 0.1), (500.0, 2.0)])
def test_numbers_are_of_the_gamma_distribution(
    v1: Any, alpha: float, beta: float, dtype: Any
) -> None:
    (sample,) = drawn(lambda: capstan.random_gamma([COUNT], alpha, beta, dtype))
    assert sample.dtype == dtype
    assert distance(sample, below(v1, "igamma", np.full(COUNT, alpha), sample * beta)) < 2.5
    error = np.sqrt(alpha / COUNT) / beta
    assert abs(sample.mean() - alpha / beta) < 5 * error


@pytest.mark.parametrize("rate", [0.3, 4.0, 30.0, 5000.0])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_numbers_are_of_the_poisson_distribution(v1: Any, rate: float, dtype: Any) -> None:
    (sample,) = drawn(lambda: capstan.random_poisson(rate, [COUNT], dtype))
    assert sample.dtype == dtype
    values, counts = np.unique(sample, return_counts=True)
    expected = below(v1, "igammac", values + 1.0, np.full(values.size, rate))
    found = counts.cumsum() / COUNT
    assert np.sqrt(COUNT) * np.abs(found - expected).max() < 2.5
    assert abs(sample.mean() - rate) < 5 * np.sqrt(rate / COUNT)
    assert abs(sample.var() / rate - 1) < 0.1


def test_each_parameter_has_its_own_numbers() -> None:
    alphas, rates = [[1.0, 100.0], [1e4, 1e6]], [0.0, 1e3, 1e20]
    gammas, poissons = drawn(
        lambda: (
            capstan.random.gamma([50], alphas, [1.0, 10.0]),
            capstan.random.poisson(rates, [2, 25], capstan.float64),
        )
    )[0]
    np.testing.assert_allclose(gammas.mean(0), np.divide(alphas, [1, 10]), rtol=0.7)
    np.testing.assert_allclose(poissons.mean((0, 1)), rates, rtol=0.1)
    assert np.unique(gammas).size > 190
    assert np.unique(poissons[..., 2]).size > 45
    assert (np.abs(poissons[..., 2] - 1e20) < 1e11).all()


MAKERS: dict[str, Callable[[Any], Any]] = {
    "gamma": lambda dtype: capstan.random_gamma([40, 5], [2.0, 3.0], dtype=dtype),
    "poisson": lambda dtype: capstan.random_poisson([50.0, 70.0], [40, 5], dtype),
}


@pytest.mark.parametrize("name", sorted(MAKERS))
@pytest.mark.parametrize("dtype", CLASSIC)
def test_equal_seeds_give_equal_numbers_and_steps_and_other_seeds_give_others(
    name: str, dtype: Any
) -> None:
    def make() -> Any:
        return MAKERS[name](dtype)

    first, again, other = drawn(make, 2), drawn(make, 2), drawn(make, seed=8)
    np.testing.assert_array_equal(first, again)
    assert len({each.tobytes() for each in (*first, *other)}) == 3


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_two_random_nodes_are_never_merged(name: str) -> None:
    one, two = drawn(lambda: [MAKERS[name](np.float32) for _ in range(2)])[0]
    assert not np.array_equal(one, two)


def test_the_compiler_knows_that_the_ops_are_random() -> None:
    for name in ("RandomGamma", "RandomPoissonV2"):
        assert opdef.lookup(name).effect.random


def test_parameters_at_the_edges_give_the_numbers_of_tensorflow(v1: Any) -> None:
    def case(tf: Any) -> Any:
        alphas, rates = [-1.0, 0.0, np.inf, np.nan], [-1.0, 0.0, np.inf]
        gammas = tf.raw_ops.RandomGamma(shape=[2], alpha=np.float64(alphas))
        poissons = [
            tf.raw_ops.RandomPoissonV2(shape=[2], rate=np.float64(rates[:count]), dtype=dtype)
            for count, dtype in ((3, tf.float64), (2, tf.int32), (3, tf.float16))
        ]
        empty = tf.raw_ops.RandomGamma(shape=[0], alpha=np.float32(alphas))
        return [gammas, *poissons, empty]

    assert outcome(capstan, case) == outcome(v1, case)


def test_poisson_numbers_above_the_largest_integer_become_an_integer_close_to_it() -> None:
    for dtype in (np.int32, np.int64):
        (sample,) = drawn(lambda dtype=dtype: capstan.random_poisson([1e30, np.inf], [2], dtype))
        assert (sample > np.iinfo(dtype).max - 2000).all()


def test_the_gradient_by_alpha_and_beta_follows_the_sample_as_in_tensorflow(v1: Any) -> None:
    alpha, beta = np.array([0.5, 2.0, 20.0]), np.array([[1.0], [3.0]])
    weights = np.linspace(-1, 2, 24).reshape(4, 2, 3)

    def make() -> Any:
        operands = [capstan.constant(alpha), capstan.constant(beta)]
        sample = capstan.random_gamma([4], *operands, dtype=capstan.float64)
        return [sample, *capstan.gradients(sample * weights, operands)]

    sample, by_alpha, by_beta = drawn(make)[0]
    with v1.Graph().as_default(), v1.Session() as session:
        raw = genuine.tensorflow().raw_ops
        wide = np.broadcast_to(alpha, sample.shape)
        slope = session.run(raw.RandomGammaGrad(alpha=wide, sample=sample * beta))
    np.testing.assert_allclose(by_alpha, (weights * slope / beta).sum((0, 1)), 1e-7)
    expected = (-weights * sample / beta).sum((0, 2))[:, None]
    np.testing.assert_allclose(by_beta, expected, 1e-7)


def test_the_gradient_of_poisson_numbers_is_none() -> None:
    with capstan.Graph().as_default():
        rate = capstan.constant(2.0)
        assert capstan.gradients(capstan.random_poisson(rate, [3]), rate) == [None]


@pytest.mark.parametrize("rank", [None, 2])
def test_static_shapes_are_those_of_tensorflow(v1: Any, rank: int | None) -> None:
    def shapes(tf: Any) -> Any:
        with tf.Graph().as_default():
            sizes = tf.placeholder(tf.int32, None if rank is None else [rank])
            alpha = tf.placeholder(tf.float32, [None, 3])
            return [
                draw(parameter, shape).shape
                for draw in (lambda a, s: tf.random.gamma(s, a), tf.random.poisson)
                for parameter in (2.0, [1.0, 2.0], alpha)
                for shape in ([5], [], sizes)
            ]

    found, expected = ([str(each) for each in shapes(tf)] for tf in (capstan, v1))
    assert found == expected


@pytest.mark.parametrize("sizes", [[-2], [[2]]])
@pytest.mark.parametrize("op", ["RandomGamma", "RandomPoissonV2"])
def test_shapes_that_are_none_are_refused_as_by_tensorflow(v1: Any, op: str, sizes: Any) -> None:
    def case(tf: Any) -> Any:
        shape = tf.placeholder_with_default(np.int32(sizes), None)
        parameter = {"alpha" if op == "RandomGamma" else "rate": 2.0}
        return getattr(tf.raw_ops, op)(shape=shape, **parameter)

    assert outcome(capstan, case)[0] == outcome(v1, case)[0] == "InvalidArgumentError"


def test_dtypes_without_such_numbers_are_refused() -> None:
    with capstan.Graph().as_default():
        with pytest.raises(ValueError, match="can be float16, float32, float64"):
            capstan.random_gamma([2], 1.0, dtype=capstan.int32)
        with pytest.raises(ValueError, match="can be float16, float32, float64, int32, int64"):
            capstan.random_poisson(1.0, [2], capstan.bool)
