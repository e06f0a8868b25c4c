"""Functions that are compiled from Python compute what Python computes."""

import threading
import weakref
from collections.abc import Callable
from concurrent import futures
from typing import Any

import numpy as np
import pytest
import strict
from hypothesis import example, given
from hypothesis import strategies as st

from capstan.core.words import word
from capstan.hardware import cpu_loops, llvm_calls, llvm_python

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
WORD = 1 << 64
WORDS = st.integers(-(2**63), 2**63 - 1)
_LIMIT = 7


def compiled(function: Callable[..., Any], *arguments: Any) -> int:
    return cpu_loops.Loop(function)._call(*arguments)


def signed(number: int) -> int:
    return (number + WORD // 2) % WORD - WORD // 2


def operate(results: Any, x: int, y: int) -> int:
    results[0] = x + y
    results[1] = x - y
    results[2] = x * y
    results[3] = x & y
    results[4] = x | y
    results[5] = x ^ y
    results[6] = x << (y & 63)
    results[7] = -x
    results[8] = x < y
    results[9] = x <= y
    results[10] = x == y
    results[11] = not x >= y
    results[12] = (x > y) + (x != y)
    results[13] = min(x, y)
    results[14] = max(x, y)
    return len(results)


@pytest.mark.parametrize("axes", [1, 2])
def test_an_array_of_a_gpu_is_refused(axes: int) -> None:
    array = strict.Strict(GPU).put(np.zeros((3, 3)[:axes], np.int64))
    with pytest.raises(TypeError, match=r"cannot read strict_array\.StrictArray"):
        compiled(operate, array, 1, 2)


@given(WORDS, WORDS)
@example(-(2**63), -1)
def test_words_are_signed_and_wrap_around(x: int, y: int) -> None:
    expected: list[int] = [0] * 15
    operate(expected, x, y)
    found = np.zeros(15, np.int64)
    assert compiled(operate, found, x, y) == 15
    assert found.tolist() == [signed(int(each)) for each in expected]


def divide(results: Any, x: int, y: int) -> int:
    results[0] = x // y
    results[1] = x % y
    results[2] = x >> 3
    return 0


@given(WORDS, WORDS.filter(bool))
def test_quotients_remainders_and_right_shifts_are_unsigned(x: int, y: int) -> None:
    expected: list[int] = [0] * 3
    divide(expected, x % WORD, y % WORD)
    found = np.zeros(3, np.uint64)
    compiled(divide, found, x, y)
    assert found.tolist() == expected


def collatz(start: int, most: int) -> int:
    steps = 0
    while start != 1:
        if steps == most:
            break
        if start & 1:
            start = 3 * start + 1
        elif start > 0 and (start == 2 or start % 2 == 0):
            start = start // 2
        else:
            return -1
        steps += 1
    return steps


@given(st.integers(0, 10**6), st.integers(0, 200))
def test_branches_and_loops_are_those_of_python(start: int, most: int) -> None:
    if start == 0 and most:
        assert compiled(collatz, start, most) == -1
    else:
        assert compiled(collatz, start, most) == collatz(start, most)


def count_pairs(numbers: Any, begin: int, step: int) -> int:
    """Count pairs of different numbers, but no pair with a 3."""
    found = 0
    for at in range(begin, len(numbers), step):
        if numbers[at] == 3:
            continue
        for other in range(len(numbers)):
            if numbers[other] == 3 or numbers[at] == numbers[other]:
                continue
            found += 1
    return found


@given(st.lists(st.integers(0, 5)), st.integers(0, 3), st.integers(1, 3))
def test_ranges_are_those_of_python(numbers: list[int], begin: int, step: int) -> None:
    array = np.array(numbers, np.uint8)
    assert compiled(count_pairs, array, begin, step) == count_pairs(numbers, begin, step)


def first_two(numbers: Any, at: int) -> Any:
    if at + 1 >= len(numbers):
        return at, -1
    at += 1
    return numbers[at - 1], numbers[at]


def differences(numbers: Any) -> int:
    total = 0
    at = 0
    while at < _LIMIT:
        one, two = first_two(numbers, at)
        if two == -1:
            return total
        total += two - one
        at += 1
    return total


@given(st.lists(st.integers(0, 100)))
def test_functions_that_are_called_have_names_of_their_own(numbers: list[int]) -> None:
    assert compiled(differences, np.array(numbers, np.int32)) == differences(numbers)


def scale(numbers: Any, factors: Any, divisor: int) -> int:
    for at in range(len(numbers)):
        numbers[at] = numbers[at] * factors[at] / divisor - 0
        numbers[at] += divisor
    return 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floating_point_numbers_have_the_precision_of_their_arrays(dtype: Any) -> None:
    numbers, factors = np.random.default_rng(0).normal(size=(2, 50)).astype(dtype)
    expected = numbers * factors / dtype(3) + dtype(3)
    compiled(scale, numbers, factors, 3)
    np.testing.assert_array_equal(numbers, expected)


def keep_large(numbers: Any, least: Any, found: Any) -> int:
    count = 0
    for at in range(len(numbers)):
        value = numbers[at]
        found[at] = value if value >= least[0] else 0
        count += 1 if value == least[0] else 0 if value == value else 100
    return count


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_choice_takes_one_of_two_numbers(dtype: Any) -> None:
    numbers = np.array([1, 2, 3, np.nan, 2, np.inf, -np.inf], dtype)
    found, least = np.empty(7, dtype), np.array([2], dtype)
    assert compiled(keep_large, numbers, least, found) == 102
    np.testing.assert_array_equal(found, [0, 2, 3, 0, 2, np.inf, 0])


def add_all(tables: Any, sums: Any) -> int:
    for place in range(len(tables)):
        table = tables[place]
        for at in range(len(table)):
            sums[place] += table[at]
            table[at] = 0
    return len(tables)


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.float32]
)
def test_lists_of_arrays_are_read_and_changed(dtype: Any) -> None:
    tables = [np.arange(size).astype(dtype) - dtype(1) for size in (0, 1, 5)]
    sums = np.zeros(3, np.float64 if dtype is np.float32 else np.int64)
    sums = sums.astype(dtype) if dtype is np.float32 else sums
    expected = [int(table.sum(dtype=np.int64)) for table in tables]
    assert compiled(add_all, tables, sums) == 3
    assert sums.tolist() == expected
    assert not any(table.any() for table in tables)


def read_word(data: Any, at: int) -> int:
    return word(data, at)


@given(st.binary(min_size=8, max_size=20), st.data())
def test_a_word_may_begin_at_each_byte(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(0, len(data) - 8))
    array = np.frombuffer(data, np.uint8)
    assert compiled(read_word, array, at) == signed(word(array, at))


def power(x: int) -> int:
    return x**2


def unknown(x: int) -> int:
    return x + DTYPE


def nested(x: int) -> int:
    with x:
        return 1


def uneven(x: int) -> Any:
    if x:
        return 1, 2
    return 1


DTYPE = "no number"


@pytest.mark.parametrize("function", [power, unknown, nested, uneven])
def test_other_functions_are_refused(function: Any) -> None:
    with pytest.raises(llvm_python.NotCompilable):
        llvm_calls.Compiled(function, [int])


def test_arrays_that_a_loop_would_misread_are_refused() -> None:
    for array in (np.zeros((4, 4))[:, 1], np.zeros(3, np.float16), np.array([b"a"], object)):
        with pytest.raises(ValueError, match="the loop takes no array of"):
            compiled(count_pairs, array, 0, 1)


def test_a_loop_is_compiled_when_its_calls_have_cost_as_much_as_its_compilation() -> None:
    loop = cpu_loops.Loop(count_pairs)
    sizes = iter([0, 0, 10**5, 10**9])
    found = [loop.after(size) for size in sizes]
    assert found == [None] * 4
    assert loop.after(0) is not None
    assert loop.after(0)(np.array([1, 2, 3], np.uint8), 0, 1) == 2


def test_threads_share_calls_of_a_loop() -> None:
    numbers = np.ones((20, 3), np.float32)
    factors = np.array([2, 5, 7], np.float32)
    cpu_loops.Loop(scale).share((row, factors, at + 1) for at, row in enumerate(numbers))
    expected = [[1.0, 1.0, 1.0] for _ in numbers]
    for at, row in enumerate(expected):
        scale(row, factors, at + 1)
    np.testing.assert_allclose(numbers, expected, rtol=1e-6)


def test_shared_arrays_that_a_loop_would_misread_are_refused() -> None:
    loop, factors = cpu_loops.Loop(scale), np.ones(2)
    with pytest.raises(ValueError, match="the loop takes no array of"):
        loop.share([(np.zeros(4), factors, 1), (np.zeros((4, 2))[:, 1], factors, 1)])
    with pytest.raises(ValueError, match="must take arguments of the same types"):
        loop.share([(each, each, 1) for each in (np.zeros(4), np.zeros(4, np.float32))])


def test_a_function_stays_while_a_thread_may_be_in_it() -> None:
    compiled = llvm_calls.Compiled(collatz, [int, int])
    alive, call = weakref.ref(compiled), compiled.call
    del compiled
    assert call(6, 100) == collatz(6, 100)
    assert alive() is not None


def test_threads_that_run_a_loop_compile_it_once() -> None:
    llvm_calls.compiled.cache_clear()
    loop, count = cpu_loops.Loop(count_pairs), 4
    ready = threading.Barrier(count)

    def call(_: int) -> int:
        ready.wait()
        return loop._call(np.array([1, 2, 3], np.uint8), 0, 1)

    with futures.ThreadPoolExecutor(count) as threads:
        assert list(threads.map(call, range(count))) == [2] * count
    assert llvm_calls.compiled.cache_info().misses == 1


def test_a_loop_without_source_is_never_compiled() -> None:
    bound: dict[str, Any] = {}
    exec("def loop(x):\n    return x", bound)
    loop = cpu_loops.Loop(bound["loop"])
    assert [loop.after(10**9) for _ in range(3)] == [None] * 3
