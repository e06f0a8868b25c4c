"""Normal numbers between bounds have their distribution, and TensorFlow's shapes and refusals.

All seeds are fixed, so the numbers are the same in every run.
"""

import math
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import outcome

import capstan
from capstan.framework import opdef
from capstan.python.ops import random_ops

pytestmark = genuine.MARKS

COUNT = 20_000
INF = np.inf


def drawn(*arguments: Any, runs: int = 1, graph_seed: int = 7, **more: Any) -> list[Any]:
    """Return the values of a new graph's numbers in some steps of one session."""
    with capstan.Graph().as_default(), capstan.Session() as session:
        capstan.set_random_seed(graph_seed)
        tensor = random_ops.parameterized_truncated_normal(*arguments, **more)
        return [session.run(tensor) for _ in range(runs)]


def share_below(x: Any, mean: float, deviation: float, least: float, most: float) -> Any:
    """Return the cumulative distribution of a truncated normal distribution at x."""
    x, low, high = ((each - mean) / deviation for each in (x, least, most))
    if low + high < 0:  # The function erfc is exact only in the upper tail.
        return 1 - share_below(-x, 0, 1, -high, -low)
    above = np.vectorize(lambda at: math.erfc(at / math.sqrt(2)))
    return (above(low) - above(x)) / (above(low) - above(high))


BOUNDS = {
    "both around the mean": (0.0, 1.0, -2.0, 2.0),
    "all but wide": (1.0, 1.0, -0.2, 2.2),
    "wide": (0.5, 2.0, -9.0, 30.0),
    "no lower": (1.0, 1.0, -INF, 1.5),
    "no upper": (1.0, 3.0, 0.0, INF),
    "close around the mean": (3.0, 2.0, 2.5, 4.0),
    "between the rules": (0.0, 1.0, 0.4, 3.5),
    "close above the mean": (0.0, 0.1, 0.05, 0.10),
    "shifted": (-1.0, 1.0, -2.0, 2.0),
    "right tail": (0.0, 1.0, 4.0, INF),
    "left tail": (0.0, 1.0, -INF, -4.0),
    "left tail with an end": (6.0, 1.0, -1.0, 1.0),
    "far tail": (0.0, 1.0, 30.0, 40.0),
    "far and close": (0.0, 1.0, -20.1, -20.0),
}


@pytest.mark.parametrize("name", sorted(BOUNDS))
def test_numbers_are_of_the_normal_distribution_between_the_bounds(name: str) -> None:
    (sample,) = drawn([COUNT], *BOUNDS[name], dtype=np.float64)
    assert BOUNDS[name][2] <= sample.min()
    assert sample.max() <= BOUNDS[name][3]
    below = share_below(np.sort(sample), *BOUNDS[name])
    ranks = np.arange(COUNT)
    # By the theorem of Kolmogorov, one sample in 100 000 is further away.
    assert np.abs(below - (ranks + 0.5) / COUNT).max() * np.sqrt(COUNT) < 2.5


@pytest.mark.parametrize("dtype", opdef.lookup("ParameterizedTruncatedNormal").types["dtype"])
def test_equal_seeds_give_equal_numbers_and_steps_and_other_seeds_give_others(dtype: Any) -> None:
    arguments = [40, 5], 0.0, 1.0, -1.0, 3.0, dtype
    first, again, other = (
        drawn(*arguments, runs=2),
        drawn(*arguments, runs=2),
        drawn(*arguments, seed=3),
    )
    np.testing.assert_array_equal(first, again)
    assert {each.dtype for each in first} == {np.dtype(dtype.as_numpy_dtype)}
    assert len({each.tobytes() for each in (*first, *other)}) == 3
    assert first[0].min() >= -1
    assert first[0].max() <= 3


def test_each_row_may_have_its_own_parameters() -> None:
    means, deviations = np.array([0.0, 100.0, -1e6]), np.array([1.0, 5.0, 1e-3])
    least, most = means + deviations * [-1, 2, -INF], means + deviations * [1, INF, -3]
    (sample,) = drawn([3, 100, 2], means, deviations, least, most, np.float64)
    for row, *bounds in zip(sample, least, most, strict=True):
        assert bounds[0] <= row.min()
        assert row.max() <= bounds[1]
        assert np.unique(row).size > 150
    (sample,) = drawn([3, 100], means, 1.0, -INF, [1.0, 101.0, -1e6], np.float64)
    np.testing.assert_allclose(sample.mean(1), means - [0.3, 0.3, 0.8], atol=0.4)


def test_the_op_is_random_for_the_compiler_and_has_no_gradient() -> None:
    assert opdef.lookup("ParameterizedTruncatedNormal").effect.random
    with capstan.Graph().as_default():
        mean = capstan.constant(0.5)
        sample = random_ops.parameterized_truncated_normal([2], mean)
        assert sample.op.name == "parameterized_truncated_normal/ParameterizedTruncatedNormal"
        assert sample.shape.as_list() == [2]
        assert capstan.gradients(sample, mean) == [None]


REFUSED = {
    "bounds in the wrong order": ([2], 0.0, 1.0, 2.0, 1.0),
    "equal bounds": ([2], 0.0, 1.0, 1.0, 1.0),
    "no bound": ([2], 0.0, 1.0, -INF, INF),
    "no deviation": ([2], 0.0, 0.0, -1.0, 1.0),
    "a negative deviation": ([2], 0.0, -1.0, -2.0, 3.0),
    "a bound that is NaN": ([2], 0.0, 1.0, np.nan, 3.0),
    "one bad row": ([2], 0.0, [1.0, -1.0], -1.0, 3.0),
    "a matrix": ([2], [[0.0]], 1.0, -1.0, 3.0),
    "too few rows": ([4, 2], [0.0, 1.0], 1.0, -1.0, 3.0),
    "a negative size": ([-1], 0.0, 1.0, -1.0, 3.0),
    "no size": (np.zeros(0, np.int32), 0.0, 1.0, -1.0, 3.0),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_parameters_of_no_distribution_are_refused_as_by_tensorflow(v1: Any, name: str) -> None:
    def case(tf: Any) -> Any:
        names = ("means", "stdevs", "minvals", "maxvals")
        sizes, *rest = REFUSED[name]
        fed = [tf.placeholder_with_default(np.float32(each), None) for each in rest]
        parameters = dict(zip(names, fed, strict=True))
        shape = tf.placeholder_with_default(np.int32(sizes), [None])
        return tf.raw_ops.ParameterizedTruncatedNormal(shape=shape, **parameters)

    assert outcome(capstan, case)[0] == outcome(v1, case)[0] == "InvalidArgumentError"


@pytest.mark.parametrize(
    "parameters, fault",
    [
        *(((mean, 1.0, -1.0, 1.0), "Need a finite mean") for mean in (np.nan, INF, -INF)),
        ((0.0, [1.0, -2.0], -1.0, 1.0), r"got mean 0\.0, stdev -2\.0, minval -1\.0, maxval 1\.0"),
        (([0.0] * 3, 1.0, -1.0, 1.0), r"means must have one element or shape\[0\] = 2, got .*3"),
        ((0.0, 1.0, [[-1.0]], 1.0), "minvals must be a scalar or a vector"),
    ],
)
def test_an_error_names_the_parameters_that_are_refused(parameters: Any, fault: str) -> None:
    with pytest.raises(capstan.errors.InvalidArgumentError, match=fault):
        drawn([2], *parameters)


def test_bounds_too_far_away_for_a_float_end_the_step_too() -> None:
    (sample,) = drawn([2], 1e308, 1e-308, -1e308, -1e307, np.float64)
    assert np.isnan(sample).all()


def test_no_numbers_need_no_sound_parameters() -> None:
    assert drawn([0, 3], 0.0, 1.0, 2.0, 1.0)[0].shape == (0, 3)
