"""The results of kernels that are more than one NumPy function, compared with plain NumPy."""

from typing import Any

import examples
import interpreter
import numpy as np
import op_cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capstan.core import dtypes
from capstan.framework import convert, opdef, ops  # noqa: F401 - fills the registry
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def dense_loss(x: Any, labels: Any) -> Any:
    return -(labels * np.log(softmax(x))).sum(-1), softmax(x) - labels


def sparse_loss(x: Any, labels: Any) -> Any:
    return dense_loss(x, np.eye(x.shape[1])[labels])


def biased(x: Any, bias: Any, data_format: str) -> Any:
    return x + (bias.reshape(-1, *(1,) * (x.ndim - 2)) if data_format == "NCHW" else bias)


def bias_slope(x: Any, data_format: str) -> Any:
    axis = 1 if data_format == "NCHW" else x.ndim - 1
    return x.sum(tuple(other for other in range(x.ndim) if other != axis))


def matmul(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
    return (a.T if transpose_a else a) @ (b.T if transpose_b else b)


def segment_sum(data: Any, ids: Any, count: Any) -> Any:
    result = np.zeros((int(count), *data.shape[ids.ndim :]), data.dtype)
    np.add.at(result, ids[ids >= 0], data[ids >= 0])
    return result


def one_hot(indices: Any, depth: Any, on: Any, off: Any, axis: int) -> Any:
    result = np.full((*indices.shape, int(depth)), off)
    for place, index in np.ndenumerate(indices):
        if index < depth:
            result[(*place, index)] = on
    return np.moveaxis(result, -1, axis)


def running(function: Any, start: float) -> Any:
    def run(x: Any, axis: Any, exclusive: bool, reverse: bool) -> Any:
        x = np.flip(x, axis) if reverse else x
        result = function(x, axis)
        if exclusive:
            first = np.full_like(x.take([0], axis), start)
            result = np.concatenate([first, np.delete(result, -1, axis)], axis)
        return np.flip(result, axis) if reverse else result

    return run


def reduced(function: Any) -> Any:
    def reduce(x: Any, axes: Any, keep_dims: bool) -> Any:
        return function(x, axis=tuple(axes.tolist()), keepdims=keep_dims)

    return reduce


def gathered(params: Any, ids: Any, axis: Any, batch_dims: int = 0) -> Any:
    at = int(axis) % params.ndim
    batch = batch_dims % ids.ndim if batch_dims < 0 else batch_dims
    result = np.empty((*params.shape[:at], *ids.shape[batch:], *params.shape[at + 1 :]))
    for place in np.ndindex(*params.shape[:batch]):
        result[place] = params[place].take(ids[place], at - batch)
    return result


REFERENCES = {
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Rsqrt": lambda x: x**-0.5,
    "TanhGrad": lambda y, dy: dy * (1 - y**2),
    "SigmoidGrad": lambda y, dy: dy * y * (1 - y),
    "Relu": lambda x: np.where(x > 0, x, 0),
    "ReluGrad": lambda g, x: np.where(x > 0, g, 0),
    "L2Loss": lambda x: (x**2).sum() / 2,
    "SquaredDifference": lambda x, y: (x - y) ** 2,
    "AddN": lambda *xs: sum(xs),
    "DivNoNan": lambda x, y: np.where(y == 0, 0, x / np.where(y == 0, 1, y)),
    "Softmax": softmax,
    "LogSoftmax": lambda x: np.log(softmax(x)),
    "SoftmaxCrossEntropyWithLogits": dense_loss,
    "SparseSoftmaxCrossEntropyWithLogits": sparse_loss,
    "BiasAdd": biased,
    "BiasAddGrad": bias_slope,
    "MatMul": matmul,
    "Sum": reduced(np.sum),
    "Mean": reduced(np.mean),
    "Prod": reduced(np.prod),
    "Max": reduced(np.max),
    "Min": reduced(np.min),
    "Cumsum": running(np.cumsum, 0),
    "Cumprod": running(np.cumprod, 1),
    "Tile": np.tile,
    "Pad": lambda x, margins: np.pad(x, margins) if x.ndim else x,
    "BroadcastTo": np.broadcast_to,
    "UnsortedSegmentSum": segment_sum,
    "OneHot": one_hot,
    "Gather": lambda params, ids: params[ids],
    "GatherV2": gathered,
    "Pack": lambda *xs, axis: np.stack(xs, axis),
    "ConcatV2": lambda *xs: np.concatenate(xs[:-1], int(xs[-1])),
}


@pytest.mark.e2e
@pytest.mark.parametrize("op", sorted(REFERENCES))
@settings(max_examples=examples.share(10), deadline=None)
@given(data=st.data())
def test_a_kernel_computes_its_formula(op: str, data: Any) -> None:
    row = opdef.lookup(op)
    case = data.draw(op_cases.CASES[op](row, None if op == "OneHot" else dtypes.float64))
    flat = [v for value in case.inputs for v in (value if isinstance(value, list) else [value])]
    expected = REFERENCES[op](*flat, **case.attrs)
    with graphs.Graph().as_default():
        arguments = [
            [convert.constant(element) for element in value]
            if isinstance(value, list)
            else convert.constant(value)
            for value in case.inputs
        ]
        results = interpreter.Interpreter().run(getattr(raw, op)(*arguments, **case.attrs))
    outputs = expected if isinstance(expected, tuple) else (expected,)
    for wanted, result in zip(outputs, results if len(outputs) > 1 else [results], strict=True):
        assert result.shape == np.shape(wanted)
        if result.dtype == object:
            np.testing.assert_array_equal(result, wanted)
        else:
            np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-12)


def run(op: str, *arguments: Any, **attrs: Any) -> Any:
    with graphs.Graph().as_default():
        return interpreter.Interpreter().run(getattr(raw, op)(*arguments, **attrs))


def test_the_quotient_of_real_numbers_is_rounded_before_it_is_floored() -> None:
    """0.1 is a little more than a tenth, so that the floor of the exact quotient would be 19."""
    x, y = np.float32([2, -2, 1, 0, np.inf]), np.float32([0.1, 0.1, 0, 0, 1])
    np.testing.assert_array_equal(run("FloorDiv", x, y), [20, -20, np.inf, np.nan, np.inf])


@pytest.mark.parametrize(
    "op, x, y, expected",
    [
        ("Div", [7, -7, 7, -7], [2, 2, -2, -2], [3, -3, -3, 3]),
        ("FloorDiv", [7, -7, 7, -7], [2, 2, -2, -2], [3, -4, -4, 3]),
        ("FloorMod", [7, -7, 7, -7], [2, 2, -2, -2], [1, 1, -1, -1]),
    ],
)
def test_integer_division_rounds_as_in_tensorflow(
    op: str, x: list[int], y: list[int], expected: list[int]
) -> None:
    np.testing.assert_array_equal(run(op, x, y), expected)


def test_the_mean_of_integers_is_rounded_towards_zero() -> None:
    assert run("Mean", [-3, -4], [0]) == -3
    assert run("Mean", [3, 4], [0]) == 3


def test_a_reduction_of_no_elements_gives_the_neutral_element() -> None:
    nothing = np.zeros((2, 0), np.float32)
    for op, value in (("Sum", 0), ("Prod", 1), ("Max", -np.inf), ("Min", np.inf), ("Mean", np.nan)):
        np.testing.assert_array_equal(run(op, nothing, [1]), [value, value])
    assert run("Max", np.zeros(0, np.int32), [0]) == np.iinfo(np.int32).min


def test_losses_of_huge_logits_are_finite() -> None:
    logits = np.array([[1e30, 0.0], [-1e30, 0.0]], np.float32)
    loss, slope = run("SparseSoftmaxCrossEntropyWithLogits", logits, [0, 1])
    np.testing.assert_array_equal(loss, [0, 0])
    np.testing.assert_array_equal(slope, np.zeros((2, 2)))


def test_a_sigmoid_of_huge_numbers_is_zero_or_one() -> None:
    np.testing.assert_array_equal(run("Sigmoid", np.float32([-1e30, 1e30])), [0, 1])


def test_unique_keeps_the_order_of_first_appearance() -> None:
    values, places = run("Unique", [3, 1, 3, 2, 1])
    np.testing.assert_array_equal(values, [3, 1, 2])
    np.testing.assert_array_equal(places, [0, 1, 0, 2, 1])


def test_dynamic_stitch_keeps_the_last_row_for_a_repeated_index() -> None:
    merged = run("DynamicStitch", [[0, 2], [2]], [[[1.0], [2.0]], [[3.0]]])
    np.testing.assert_array_equal(merged, [[1], [0], [3]])


def test_in_top_k_accepts_ties_and_refuses_values_that_are_not_finite() -> None:
    predictions = np.float32([[1, 1, 0], [1, 2, 3], [np.nan, 1, 0], [0, 1, 2]])
    found = run("InTopK", predictions, np.int32([0, 0, 1, 5]), k=2)
    np.testing.assert_array_equal(found, [True, False, False, False])


def test_top_k_puts_the_smallest_integer_of_a_type_last() -> None:
    values, indices = run("TopKV2", np.int8([-128, 5, 127]), np.int32(3))
    assert (values.tolist(), indices.tolist()) == ([127, 5, -128], [2, 1, 0])


def test_strings_can_be_added_compared_and_selected() -> None:
    vector, scalar = np.array([b"a", b"bc"], object), np.array(b"x", object)
    assert run("Add", vector, scalar).tolist() == [b"ax", b"bcx"]
    assert run("Add", scalar, scalar).shape == ()
    assert run("Equal", vector, np.array([b"a", b"b"], object)).tolist() == [True, False]
    assert run("Gather", vector, 1) == b"bc"
    assert run("StridedSlice", vector, [0], [1], [1], shrink_axis_mask=1).shape == ()
    assert run("ZerosLike", vector).tolist() == [b"", b""]


def test_one_hot_takes_values_that_other_nodes_compute() -> None:
    """NumPy's functions return scalars, which are no arrays."""
    with graphs.Graph().as_default():
        hot = raw.OneHot(np.array([1, 0]), 2, raw.Add(1.0, 2.0), raw.Neg(1.0))
        found = interpreter.Interpreter().run(hot)
    np.testing.assert_array_equal(found, [[-1, 3], [3, -1]])
