"""Placeholders, no-ops and assertions."""

import interpreter
import numpy as np
import pytest

from capstan import errors
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.kernels import control


@pytest.fixture(autouse=True)
def graph() -> object:
    with graphs.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize(
    "dtype, shape, ending",
    [
        (dtypes.float32, [None, 2], "dtype float and shape [?,2]"),
        (dtypes.float64, [3], "dtype double and shape [3]"),
        (dtypes.float16, [], "dtype half"),
        (dtypes.string, None, "dtype string"),
    ],
)
def test_the_error_for_an_unfed_placeholder_shows_its_dtype_and_shape(
    dtype: dtypes.DType, shape: list[int | None] | None, ending: str
) -> None:
    x = raw.Placeholder(dtype=dtype, shape=tensor_shape.TensorShape(shape), name="x")
    with pytest.raises(errors.InvalidArgumentError) as raised:
        interpreter.Interpreter().run(x)
    assert str(raised.value) == f"You must feed a value for placeholder tensor 'x' with {ending}"


def test_a_placeholder_with_default_has_the_default_unless_it_is_fed() -> None:
    x = raw.PlaceholderWithDefault(convert.constant([1.0, 2.0]), shape=[None])
    assert x.shape.internal == (None,)
    runner = interpreter.Interpreter()
    np.testing.assert_array_equal(runner.run(x), [1, 2])
    np.testing.assert_array_equal(runner.run(x, {x: [3.0]}), [3])


@pytest.mark.parametrize(
    ("sizes", "declared", "message"),
    [
        ([2], [3], "Dimension 0 in both shapes must be equal, but are 2 and 3"),
        ([2], [2, 1], "Shapes must be equal rank, but are 1 and 2"),
        ([], [None], "Shapes must be equal rank, but are 0 and 1"),
        ([None, 2], [3, 3], "Dimension 1 in both shapes must be equal, but are 2 and 3"),
    ],
)
def test_a_default_of_another_shape_is_refused(
    sizes: list[int | None], declared: list[int | None], message: str
) -> None:
    default = raw.Placeholder(dtype=dtypes.float32, shape=tensor_shape.TensorShape(sizes))
    with pytest.raises(ValueError, match=message):
        raw.PlaceholderWithDefault(default, shape=declared)


@pytest.mark.parametrize(
    ("sizes", "declared"), [(None, [3, 2]), ([None, 2], [3, 2]), ([1, 2], [None, 2]), ([2], None)]
)
def test_a_placeholder_with_default_has_the_declared_shape(
    sizes: list[int | None] | None, declared: list[int | None] | None
) -> None:
    default = raw.Placeholder(dtype=dtypes.float32, shape=tensor_shape.TensorShape(sizes))
    x = raw.PlaceholderWithDefault(default, shape=tensor_shape.TensorShape(declared))
    assert x.shape.internal == (None if declared is None else tuple(declared))


def test_a_no_op_returns_none() -> None:
    assert interpreter.Interpreter().run(raw.NoOp()) is None


def test_the_error_of_an_assertion_shows_its_data() -> None:
    check = raw.Assert(False, ["x = ", np.array([[1, 2], [3, 4]])], summarize=3)
    with pytest.raises(errors.InvalidArgumentError) as raised:
        interpreter.Interpreter().run(check)
    assert str(raised.value) == "assertion failed: [x = ] [[1 2][3...]...]"


@pytest.mark.parametrize(
    "value, limit, text",
    [
        (np.array([1.5, 2.0]), -1, "1.5 2"),
        (np.array([True, False]), 1, "1..."),
        (np.arange(8).reshape(2, 2, 2), 2, "[[0 1]]..."),
        (np.arange(8).reshape(2, 2, 2), 5, "[[0 1][2 3]][[4...]]..."),
        (np.array([], np.float32), 3, ""),
        (np.arange(8).reshape(2, 2, 2), -1, "[[0 1][2 3]][[4 5][6 7]]"),
        (np.arange(8).reshape(2, 2, 2), 3, "[[0 1][2...]]..."),
        (np.full([1, 1, 1, 1], 7, np.uint8), 3, "[[[7]]]"),
        (np.zeros([2, 0, 3]), 3, ""),
        (np.array(b"\xff", object), 3, "\\xff"),
    ],
)
def test_a_summary_shows_at_most_limit_elements(value: object, limit: int, text: str) -> None:
    assert control.summary(value, limit) == text  # type: ignore[arg-type]
