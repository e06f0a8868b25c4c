"""The formulas of random numbers: known words of Philox, and the exactness of the distributions."""

import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from capstan.kernels import random_formulas
from capstan.resources import philox

NORMAL = statistics.NormalDist()
NARROW, WIDE = np.dtype(np.float32), np.dtype(np.float64)
DTYPES = [np.dtype(np.float16), NARROW, WIDE]


def words(bits: int, count: int) -> Any:
    """Return random words, and the words at both ends of the range."""
    dtype = np.uint32 if bits == 32 else np.uint64
    drawn = np.random.default_rng(8).integers(0, 2**bits - 1, count, dtype, endpoint=True)
    return np.concatenate([drawn, np.array([0, 1, 2, 3, 2**bits - 2, 2**bits - 1], dtype)])


def vector(word: int) -> Any:
    return np.array([word], np.uint64)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0), 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((2**64 - 1, 2**64 - 1), 2**64 - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0x85A308D3243F6A88, 0x0370734413198A2E),
            0x299F31D0A4093822,
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_the_words_are_the_known_answers_of_random123(
    counter: tuple[int, int], key: int, expected: str
) -> None:
    found = random_formulas.philox(*map(vector, (key, *counter)))
    assert " ".join(f"{word[0]:08x}" for word in found) == expected


def test_the_words_are_those_of_the_queues_of_the_host() -> None:
    seed, seed2 = 2**40 + 3, 2**33 + 1
    found = random_formulas.philox(vector(seed), np.arange(5, dtype=np.uint64), vector(seed2))
    expected = philox.numbers(seed, seed2)
    assert np.stack(found, 1).ravel().tolist() == [next(expected) for _ in range(20)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_uniform_numbers_are_the_leading_bits_of_the_words(dtype: np.dtype) -> None:
    bits, digits = (64, 53) if dtype == WIDE else (32, np.finfo(dtype).nmant + 1)
    drawn = words(bits, 200)
    found = random_formulas.uniform(drawn, dtype).astype(dtype)
    expected = [Fraction(word >> (bits - digits), 2**digits) for word in drawn.tolist()]
    assert [Fraction(float(number)) for number in found] == expected
    assert found.max() < 1


@pytest.mark.parametrize(("dtype", "tolerance"), [(NARROW, 1e-6), (WIDE, 4e-15)], ids=str)
def test_normal_numbers_are_exact_up_to_rounding(dtype: np.dtype, tolerance: float) -> None:
    bits = 8 * dtype.itemsize
    drawn = words(bits, 1000)
    found = random_formulas.normal(drawn, dtype)
    expected = [
        NORMAL.inv_cdf(float(Fraction(2 * (word >> 1) + 1, 2 ** (bits + 1))))
        * (1 if word & 1 else -1)
        for word in drawn.tolist()
    ]
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-15)


@pytest.mark.parametrize(("dtype", "tolerance"), [(NARROW, 1e-6), (WIDE, 4e-15)], ids=str)
def test_truncated_numbers_are_exact_and_within_two_deviations(
    dtype: np.dtype, tolerance: float
) -> None:
    bits = 8 * dtype.itemsize
    drawn = words(bits, 1000)
    found = random_formulas.truncated(drawn, dtype)
    half = NORMAL.cdf(2) - 0.5
    expected = [
        NORMAL.inv_cdf(0.5 + half * float(Fraction(2 * (word >> 1) + 1, 2**bits)))
        * (-1 if word & 1 else 1)
        for word in drawn.tolist()
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    assert np.abs(found).max() <= 2


@pytest.mark.parametrize("dtype", [NARROW, WIDE], ids=str)
def test_gumbel_numbers_are_finite_and_grow_with_the_word(dtype: np.dtype) -> None:
    drawn = np.sort(words(8 * dtype.itemsize, 1000))
    found = random_formulas.gumbel(drawn, dtype)
    assert np.isfinite(found).all()
    assert (np.diff(found) <= 0).all()
    middle = random_formulas.gumbel(np.array([2 ** (8 * dtype.itemsize - 1)], drawn.dtype), dtype)
    np.testing.assert_allclose(middle, -np.log(np.log(2)), rtol=1e-6)


def test_integers_are_the_rest_of_a_division_also_below_zero() -> None:
    drawn = words(64, 200)
    low, count = -(2**63), 2**64 - 1
    found = random_formulas.integers(
        drawn, np.dtype(np.int64), vector(low % 2**64), vector(count)
    ).astype(np.int64)
    assert found.tolist() == [word % count + low for word in drawn.tolist()]
