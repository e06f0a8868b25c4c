"""TensorArrays refuse the same operations as TensorFlow's, in TensorFlow's words."""

import re
from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

pytestmark = genuine.MARKS


def _array(v1: Any, size: Any = 3, **more: Any) -> Any:
    return v1.TensorArray(v1.float32, size, **more)


def _read_twice(v1: Any) -> Any:
    array = _array(v1).write(0, 1.0)
    return array.read(0) + array.read(0)


def _write_another_shape(v1: Any) -> Any:
    value = v1.placeholder_with_default([1.0, 2.0, 3.0], None)
    return _array(v1, element_shape=[2], infer_shape=False).write(0, value).read(0)


CASES: dict[str, Callable[[Any], Any]] = {
    "write beyond the end": lambda v1: _array(v1).write(5, 1.0).read(0),
    "read before the start": lambda v1: _array(v1).read(-1),
    "read beyond the end": lambda v1: _array(v1).write(0, 1.0).read(7),
    "read twice": _read_twice,
    "write twice": lambda v1: _array(v1).write(0, 1.0).write(0, 2.0).read(0),
    "read what was not written": lambda v1: _array(v1, infer_shape=False).read(1),
    "write another shape": _write_another_shape,
    "stack different shapes": lambda v1: (
        _array(v1, 2, infer_shape=False).write(0, [1.0]).write(1, [1.0, 2.0]).stack()
    ),
    "stack nothing": lambda v1: _array(v1, 0, infer_shape=False).stack(),
    "stack zeros": lambda v1: _array(v1, 2, element_shape=[2]).write(0, [1.0, 2.0]).stack(),
    "split too little": lambda v1: _array(v1, 2).split([1.0, 2.0, 3.0], [1, 1]).stack(),
    "scatter beyond the end": lambda v1: _array(v1, 2).scatter([0, 5], [1.0, 2.0]).stack(),
    "grow": lambda v1: _array(v1, 0, dynamic_size=True).unstack([1.0, 2.0]).stack(),
}


@pytest.mark.parametrize("case", CASES)
def test_an_array_answers_as_tensorflow_does(
    tf: Any, v1: Any, tasks: genuine.Tasks, case: str
) -> None:
    fetch = CASES[case](v1)
    outcomes = []
    for target in (tasks.target(), ""):
        with v1.Session(target) as session:
            try:
                outcomes.append(session.run(fetch).tolist())
            except tf.errors.OpError as fault:
                outcomes.append((type(fault), _words(fault.message)))
    assert outcomes[0] == outcomes[1]


def _words(message: str) -> str:
    """Return the sentence about the array, without places in programs and unique names."""
    said = r"^.*(?:Tried|Could not|TensorArray has|Expected|Max).*$"
    line = re.findall(said, message, re.MULTILINE)[0]
    return re.sub(r"^TensorArray [^:]*: ", "", line.strip())


def test_an_array_keeps_its_elements_when_the_loop_overwrites_their_memory(
    v1: Any, tasks: genuine.Tasks
) -> None:
    start = v1.placeholder(v1.float32, [2])
    array = v1.TensorArray(v1.float32, 4)

    def body(i: Any, x: Any, a: Any) -> Any:
        y = x * 2.0
        return i + 1, y + 1.0, a.write(i, y)

    _, _, array = v1.while_loop(lambda i, x, a: i < 4, body, [v1.constant(0), start, array])
    with v1.Session(tasks.target()) as session:
        found = session.run(array.stack(), {start: [1.0, 2.0]})
    x, expected = np.array([1.0, 2.0]), []
    for _ in range(4):
        expected.append(x * 2)
        x = x * 2 + 1
    np.testing.assert_array_equal(found, expected)
