"""Elementwise programs give the values of the code from which they were recorded."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import elementwise

BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.copysign, np.arctan2]
UNARY = [np.negative, np.absolute, np.sign, np.square, np.tanh, np.floor, np.arctan]


def recorded(code: Callable[..., Any], count: int, shape: Any = None) -> elementwise.Program:
    recorder = elementwise.Recorder(np.float32)
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
    recorder = elementwise.Recorder(np.float64)
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
    with pytest.raises(elementwise.Unrecordable):
        recorded(code, 2, shape=(None, 2))


def test_code_may_compare_static_shapes() -> None:
    recorder = elementwise.Recorder(np.float32)
    row, matrix = recorder.input((3,)), recorder.input((2, 1))
    assert np.add(row, matrix).shape == (2, 3)
