"""Elementwise programs give the values of the code from which they were recorded."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import elementwise, recording

BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.copysign, np.arctan2]
UNARY = [np.negative, np.absolute, np.sign, np.square, np.tanh, np.floor, np.arctan]


def recorded(code: Callable[..., Any], count: int, shape: Any = None) -> elementwise.Program:
    recorder = recording.Recorder(np.float32)
    inputs = [recorder.input(shape) for _ in range(count)]
    return recorder.program([code(*inputs)])


@given(steps=st.lists(st.tuples(st.integers(0, 13), st.integers(0, 99), st.integers(0, 99))))
def test_a_program_gives_the_values_of_the_recorded_code(steps: list[tuple[int, int, int]]) -> None:
    def code(*inputs: Any) -> Any:
        values = list(inputs)
        for function, one, other in steps:
            first, second = values[one % len(values)], values[other % len(values)]
            if function < len(BINARY):
                values.append(BINARY[function](first, second))
            else:
                values.append(UNARY[function - len(BINARY)](first))
        return np.add(values[-1], 0.5)

    inputs = [np.array([[-2, 0.5], [3, -0.0]], np.float32), np.array([1.5, -4], np.float32)]
    with np.errstate(all="ignore"):
        [found] = recorded(code, 2).run(inputs)
        np.testing.assert_array_equal(found, code(*inputs), strict=True)


def test_results_may_replace_inputs() -> None:
    recorder = recording.Recorder(np.float64)
    value, speed, slope = (recorder.input() for _ in range(3))
    np.multiply(speed, 0.5, speed)
    np.add(speed, slope, speed)
    np.subtract(value, speed, value)
    program = recorder.program([value, speed])
    arrays = [np.array([10.0]), np.array([4.0]), np.array([1.0])]
    program.run(arrays, arrays[:2])
    assert [array.item() for array in arrays] == [7, 3, 1]


def test_a_program_has_the_value_of_an_array_that_was_written() -> None:
    def code(x: Any) -> Any:
        out = np.empty_like(x)
        np.negative(x, out)
        np.copyto(out, 0, where=np.less(x, 1))
        return out

    [found] = recorded(code, 1).run([np.array([0, 1, 2], np.float32)])
    assert found.tolist() == [0, -1, -2]


@pytest.mark.parametrize(
    "code",
    [
        lambda x, y: np.sum(x),
        lambda x, y: np.add.reduce(x),
        lambda x, y: np.add(x, np.zeros(2)),
        lambda x, y: np.add(np.empty_like(x), y),
        lambda x, y: np.modf(x)[0],
        lambda x, y: np.add(x, y, where=np.array([True])),
        lambda x, y: np.floor_divide(x, y),
        lambda x, y: np.ceil(np.asarray(x)),
        lambda x, y: np.add(x, 1j),
        lambda x, y: x if x.shape == y.shape else y,
    ],
)
def test_code_that_does_more_cannot_be_recorded(code: Callable[..., Any]) -> None:
    with pytest.raises(recording.Unrecordable):
        recorded(code, 2, shape=(None, 2))


def test_code_may_compare_static_shapes() -> None:
    recorder = recording.Recorder(np.float32)
    row, matrix = recorder.input((3,)), recorder.input((2, 1))
    assert np.add(row, matrix).shape == (2, 3)


SUM_LIKE = [
    np.add, np.subtract, np.multiply, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.remainder,
]  # fmt: skip
SHIFTS = [np.left_shift, np.right_shift]


@given(
    dtype=st.sampled_from([np.uint32, np.uint64]),
    steps=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99), st.integers(0, 99))),
)
def test_a_program_of_words_gives_the_values_of_the_recorded_code(
    dtype: Any, steps: list[tuple[int, int, int]]
) -> None:
    def code(*inputs: Any) -> Any:
        values = list(inputs)
        for function, one, other in steps:
            first, second = values[one % len(values)], values[other % len(values)]
            if function < len(SUM_LIKE):
                values.append(SUM_LIKE[function](first, second))
            elif function < len(SUM_LIKE) + len(SHIFTS):
                values.append(SHIFTS[function - len(SUM_LIKE)](first, other % 32))
            else:
                values.append(np.where(first < second, first, 7))
        return values[-1].astype(np.float64) * 0.5

    recorder = recording.Recorder(np.float64)
    traced = [recorder.input(dtype=dtype) for _ in range(2)]
    program = recorder.program([code(*traced)])
    inputs = [np.array([0, 1, 5, np.iinfo(dtype).max], dtype), np.array([3], dtype)]
    with np.errstate(all="ignore"):
        [found] = program.run(inputs)
        np.testing.assert_array_equal(found, code(*inputs), strict=True)
    assert program.result_dtypes == (np.dtype(np.float64),)


def test_positions_count_the_elements_of_a_vector() -> None:
    recorder = recording.Recorder(np.float32)
    vector, first = recorder.input(), recorder.input(dtype=np.uint64)
    program = recorder.program([recorder.positions(vector) + first])
    [found] = program.run([np.zeros(4, np.float32), np.uint64(7)])
    assert found.tolist() == [7, 8, 9, 10]


@pytest.mark.parametrize(
    "code",
    [
        lambda word, wide, x: word + wide,
        lambda word, wide, x: word + x,
        lambda word, wide, x: word + -1,
        lambda word, wide, x: word + 2**32,
        lambda word, wide, x: word * 0.5,
        lambda word, wide, x: word + np.uint64(1),
        lambda word, wide, x: np.sqrt(wide),
        lambda word, wide, x: word / wide,
        lambda word, wide, x: x.astype(np.uint32),
        lambda word, wide, x: wide.astype(np.int64) + 1,
        lambda word, wide, x: x.astype(np.float16) + x,
    ],
)
def test_code_that_mixes_words_and_numbers_cannot_be_recorded(code: Callable[..., Any]) -> None:
    recorder = recording.Recorder(np.float32)
    word, wide = recorder.input(dtype=np.uint32), recorder.input(dtype=np.uint64)
    with pytest.raises(recording.Unrecordable):
        recorder.program([code(word, wide, recorder.input())])
