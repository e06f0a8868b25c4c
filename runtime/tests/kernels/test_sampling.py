"""Random ops: seeds reproduce the numbers, and the numbers have the right distributions."""

from typing import Any

import interpreter
import numpy as np
import pytest

from capstan.core import dtypes
from capstan.framework import graph as graphs
from capstan.framework.ops import typesets
from capstan.framework.raw import raw

FLOATS = ["RandomUniform", "RandomStandardNormal", "TruncatedNormal"]


def draw(op: str, runs: int = 1, *, with_buffers: bool = False, **attrs: Any) -> list[Any]:
    """Return the values of one random node in `runs` steps."""
    with graphs.Graph().as_default():
        attrs = {"dtype": dtypes.float32, **attrs}
        sample = getattr(raw, op)([100, 50], **attrs)
        runner = interpreter.Interpreter(with_buffers=with_buffers)
        return [runner.run(sample).copy() for _ in range(runs)]


@pytest.mark.parametrize("op", FLOATS)
@pytest.mark.parametrize("dtype", typesets.FLOATING)
def test_equal_seeds_give_equal_streams(op: str, dtype: dtypes.DType) -> None:
    first = draw(op, 2, seed=1, seed2=2, dtype=dtype)
    again = draw(op, 2, seed=1, seed2=2, dtype=dtype, with_buffers=True)
    for sample, repeated in zip(first, again, strict=True):
        np.testing.assert_array_equal(sample, repeated)
    assert not np.array_equal(first[0], first[1])


@pytest.mark.parametrize("op", FLOATS)
def test_different_seeds_and_absent_seeds_give_different_streams(op: str) -> None:
    streams = [draw(op, seed=1, seed2=2), draw(op, seed=1, seed2=3), draw(op), draw(op)]
    assert len({sample.tobytes() for (sample,) in streams}) == 4


@pytest.mark.parametrize(
    "op, mean, deviation, low, high",
    [
        ("RandomUniform", 0.5, 12**-0.5, 0, 1),
        ("RandomStandardNormal", 0, 1, -8, 8),
        # The standard deviation of a normal distribution that is truncated at two deviations.
        ("TruncatedNormal", 0, 0.8796, -2, 2),
    ],
)
@pytest.mark.parametrize("dtype", typesets.FLOATING)
def test_samples_have_the_mean_and_deviation_of_their_distribution(
    op: str, mean: float, deviation: float, low: float, high: float, dtype: dtypes.DType
) -> None:
    sample = np.float64(draw(op, seed=5, seed2=6, dtype=dtype)[0])
    # The tolerance is five standard errors of 5000 numbers.
    assert abs(sample.mean() - mean) < 5 * deviation / np.sqrt(sample.size)
    assert abs(sample.std() - deviation) < 0.05
    assert low <= sample.min()
    assert sample.max() <= high


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_random_integers_are_below_the_upper_bound(dtype: Any) -> None:
    with graphs.Graph().as_default():
        sample = raw.RandomUniformInt([1000], dtype(-2), dtype(3), seed=1)
        found = interpreter.Interpreter().run(sample)
    assert found.dtype == dtype
    assert set(found.tolist()) == {-2, -1, 0, 1, 2}


def test_the_shape_may_be_unknown_before_the_step() -> None:
    with graphs.Graph().as_default():
        sizes = raw.Placeholder(dtype=dtypes.int32, shape=[None])
        sample = raw.RandomUniform(sizes, dtype=dtypes.float32)
        assert sample.shape.internal is None
        assert interpreter.Interpreter().run(sample, {sizes: [2, 0, 3]}).shape == (2, 0, 3)
