"""The random numbers of a GPU: each node has its own stream, on a device that is no NumPy."""

import contextlib
from collections.abc import Iterator
from typing import Any

import examples
import numpy as np
import pytest
import strict
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan as tf
from capstan.framework.raw import raw
from capstan.kernels import random_formulas, random_stream

pytestmark = pytest.mark.e2e

FORMULAS = {
    "RandomUniform": random_formulas.uniform,
    "RandomStandardNormal": random_formulas.normal,
    "TruncatedNormal": random_formulas.truncated,
}
FLOATS = [tf.float16, tf.float32, tf.float64]


@pytest.fixture(scope="module", autouse=True)
def _device() -> Iterator[None]:
    """Use the GPU that the tasks have, or a strict device."""
    with contextlib.nullcontext() if tf.test.is_gpu_available() else strict.installed():
        yield


def draw(make: Any, runs: int = 1) -> list[Any]:
    """Return the values of a node on the GPU in each step of a session."""
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/gpu:0"):
        numbers = make()
        return [session.run(numbers) for _ in range(runs)]


def expected(
    formula: Any, seeds: tuple[int, int], first: int, shape: tuple[int, ...], dtype: Any
) -> Any:
    """Return the numbers that start at a value of the counter, and the value after them."""
    kind, size = np.dtype(dtype), int(np.prod(shape))
    most = 2 if kind.itemsize == 8 else 4
    strips = next(strips for strips in (4, 2, 1) if strips <= most and size % strips == 0)
    key, stream = (np.array([seed], np.uint64) for seed in seeds)
    count = np.arange(first, first + size // strips, dtype=np.uint64)
    words: Any = random_formulas.philox(key, count, stream)
    if most == 2:
        words = [
            words[index].astype(np.uint64) << np.uint64(32) | words[index + 1].astype(np.uint64)
            for index in (0, 2)
        ]
    numbers = formula(np.concatenate(words[:strips]), kind).astype(kind)
    return numbers.reshape(shape), first + size // strips


@settings(max_examples=examples.share(3), deadline=None)
@given(
    op=st.sampled_from(sorted(FORMULAS)),
    dtype=st.sampled_from(FLOATS),
    shapes=st.lists(st.lists(st.integers(0, 6), max_size=3), min_size=1, max_size=3),
    seeds=st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(1, 2**63 - 1)),
)
def test_each_step_continues_the_stream_of_its_node(
    op: str, dtype: Any, shapes: list[list[int]], seeds: tuple[int, int]
) -> None:
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/gpu:0"):
        sizes = tf.placeholder(tf.int32, [None])
        numbers = getattr(raw, op)(sizes, dtype=dtype, seed=seeds[0], seed2=seeds[1])
        found = [session.run(numbers, {sizes: shape}) for shape in shapes]
    words, counter = (seeds[0] % 2**64, seeds[1]), 0
    for shape, value in zip(shapes, found, strict=True):
        wanted, counter = expected(FORMULAS[op], words, counter, tuple(shape), dtype.as_numpy_dtype)
        tolerance = 8 * np.finfo(value.dtype).eps
        np.testing.assert_allclose(value, wanted, rtol=tolerance, strict=True)


def test_equal_seeds_repeat_the_numbers_and_other_nodes_draw_others() -> None:
    def numbers(seed: int | None) -> Any:
        if seed is not None:
            tf.set_random_seed(seed)
        ones = tf.ones([40])
        return [
            tf.random_uniform([40]), tf.random_uniform([40]), tf.random_normal([40], seed=1),
            tf.random_normal([40], seed=2), tf.nn.dropout(ones, 0.5), tf.nn.dropout(ones, 0.5),
            tf.random_uniform([40], 0, 1000, tf.int64), tf.multinomial(tf.zeros([4, 100]), 10),
        ]  # fmt: skip

    first, again, other = (draw(lambda seed=seed: numbers(seed), 2) for seed in (5, 5, 6))
    drawn = [value.tobytes() for step in (*first, *other) for value in step]
    assert len(set(drawn)) == len(drawn)
    assert drawn[: len(drawn) // 2] == [value.tobytes() for step in again for value in step]
    absent = [value.tobytes() for _ in range(2) for value in draw(lambda: numbers(None))[0][:2]]
    assert len(set(absent)) == 4


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("op", "bounds"),
    [
        ("RandomUniform", [0.25, 0.5, 0.75]),
        # The quartiles of the normal distribution, and of the truncated one.
        ("RandomStandardNormal", [-0.6744898, 0, 0.6744898]),
        ("TruncatedNormal", [-0.6395674, 0, 0.6395674]),
    ],
)
def test_a_quarter_of_the_numbers_is_between_two_quartiles(
    op: str, bounds: list[float], dtype: Any
) -> None:
    count = 40_000
    [numbers] = draw(lambda: getattr(raw, op)([count], dtype=dtype, seed=3, seed2=4))
    found = np.bincount(np.digitize(np.float64(numbers), bounds), minlength=4)
    # Five standard errors, and the numbers that half precision rounds to a bound.
    assert (np.abs(found - count / 4) < 5 * np.sqrt(count * 3 / 16) + 50).all()


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_integers_are_drawn_equally_often_between_their_bounds(dtype: Any) -> None:
    [numbers] = draw(lambda: tf.random_uniform([10_000], -3, 7, dtype, seed=1))
    found = np.bincount(numbers + 3)
    assert len(found) == 10
    assert (np.abs(found - 1000) < 5 * np.sqrt(900)).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Need minval < maxval, got 7 >= 7"):
        draw(lambda: tf.random_uniform([1], 7, 7, dtype))


def test_integers_may_come_from_the_whole_range() -> None:
    low, high = -(2**63), 2**63 - 1
    [numbers] = draw(lambda: tf.random_uniform([1000], low, high, tf.int64, seed=1))
    assert numbers.min() < low / 2
    assert numbers.max() > high / 2


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("output_dtype", [tf.int32, tf.int64])
def test_classes_are_drawn_by_their_logits(dtype: Any, output_dtype: Any) -> None:
    chances = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0]])
    with np.errstate(divide="ignore"):
        logits = np.log(chances).astype(dtype.as_numpy_dtype)
    count = 4000

    def drawn() -> Any:
        return tf.multinomial(tf.constant(logits), count, seed=2, output_dtype=output_dtype)

    [classes] = draw(drawn)
    assert classes.dtype == output_dtype.as_numpy_dtype
    for row, shares in zip(classes, chances, strict=True):
        error = np.bincount(row, minlength=3) - shares * count
        assert (np.abs(error) <= 5 * np.sqrt(shares * (1 - shares) * count)).all()
    assert draw(lambda: tf.multinomial(tf.zeros([2, 3]), 0))[0].shape == (2, 0)


def test_work_that_a_device_repeats_draws_new_numbers() -> None:
    streams = []
    for is_repeated in (False, True):
        home = strict.Strict("/device:GPU:0")
        stream = random_stream.Stream(home, (7, 8))
        target = home.allocate((3, 5), np.float32)

        def fill(stream: Any = stream, target: Any = target) -> list[Any]:
            stream.fill(random_formulas.normal, target)
            return [target]

        # A device refuses to record copies from the host, and waits.
        again = home.record(fill)[1] if is_repeated else fill
        found = []
        for _ in range(3):
            again()
            found.append(target.get())
        streams.append(found)
    np.testing.assert_array_equal(*streams)
    assert len({numbers.tobytes() for numbers in streams[0]}) == 3


def test_a_repeated_run_of_nodes_draws_the_numbers_of_its_stream() -> None:
    def numbers() -> Any:
        drawn = tf.random_normal([6], seed=4)
        return tf.reduce_max(drawn), tf.reduce_min(drawn), tf.tanh(drawn), drawn

    def alone() -> Any:
        return raw.RandomStandardNormal([6], dtype=tf.float32, seed=87654321, seed2=4)

    found, wanted = draw(numbers, 8), draw(alone, 8)
    np.testing.assert_array_equal([step[-1] for step in found], wanted)
