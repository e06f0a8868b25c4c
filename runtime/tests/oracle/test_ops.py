"""Every op computes what TensorFlow computes: the same GraphDef, in process and over the wire."""

from dataclasses import dataclass
from typing import Any

import genuine
import numpy as np
import op_cases
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capstan.core import dtypes, shapes
from capstan.framework import convert, gradients, indexed_slices, opdef
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

pytestmark = genuine.MARKS
few = settings(
    max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)

TOLERANCE = {"float16": 5e-3, "float32": 1e-5, "float64": 1e-10}


@dataclass(frozen=True)
class Call:
    """A graph that both run: its GraphDef, what is fed by name, what is fetched."""

    graph: bytes
    feeds: dict[str, Any]
    fetches: list[str]


def call(op: str, case: op_cases.Case, form: str) -> Call:
    """Build a call of `op`: everything a constant, or values fed with their shapes or without."""
    feeds: dict[str, Any] = {}

    def tensor(index: int, value: Any) -> Any:
        if form == "constant" or index in case.structural:
            return convert.constant(value)
        shape = shapes.TensorShape(value.shape if form == "shaped" else None)
        made = raw.Placeholder(dtype=dtypes.as_dtype(value.dtype), shape=shape)
        feeds[made.name] = value
        return made

    with graphs.Graph().as_default() as graph:
        arguments = [
            [tensor(index, item) for item in value] if isinstance(value, list)
            else tensor(index, value)
            for index, value in enumerate(case.inputs)
        ]  # fmt: skip
        made = getattr(raw, op)(*arguments, **case.attrs)
        return Call(graph.as_graph_def().SerializeToString(), feeds, _names(made))


def _names(made: Any) -> list[str]:
    if isinstance(made, list):
        return [name for item in made for name in _names(item)]
    return [made.name]


def run(v1: Any, target: str, asked: Call) -> Any:
    """The values, or the class of the error."""
    with v1.Graph().as_default(), v1.Session(target) as session:
        v1.import_graph_def(v1.GraphDef.FromString(asked.graph), name="")
        try:
            return session.run(asked.fetches, asked.feeds)
        except v1.errors.OpError as error:
            return error


def is_comparable(v1: Any, op: str, case: op_cases.Case, expected: Any) -> bool:
    """TensorFlow registers some types that its CPU has no kernel for, and rounds integers to 0.

    Aborted is what its library for neural networks says of a scalar, and the products that this
    library forms of batches of float16 with a single matrix are wrong.
    """
    if op.startswith("BatchMatMul") and case.inputs[0].dtype == np.float16:
        return False
    if op == "Round" and case.inputs[0].dtype.kind == "i":
        return False
    absent = (v1.errors.NotFoundError, v1.errors.UnimplementedError, v1.errors.AbortedError)
    return not isinstance(expected, absent) and "No OpKernel" not in str(expected)


def same(expected: Any, found: Any) -> None:
    if isinstance(expected, Exception) or isinstance(found, Exception):
        assert type(found) is type(expected), f"{found!r}\ninstead of\n{expected!r}"
        return
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if other is not None:
            same_array(np.asarray(other), np.asarray(one))


def same_array(expected: Any, found: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind == "f":
        near = TOLERANCE[expected.dtype.name]
        np.testing.assert_allclose(found, expected, rtol=near, atol=near / 10)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("op", sorted(op_cases.CASES))
@few
@given(data=st.data())
def test_an_op_computes_what_tensorflow_computes(
    v1: Any, tasks: genuine.Tasks, op: str, data: Any
) -> None:
    case = data.draw(op_cases.CASES[op](opdef.lookup(op)))
    asked = call(op, case, data.draw(st.sampled_from(["constant", "shaped", "unknown"])))
    expected = run(v1, "", asked)
    if is_comparable(v1, op, case, expected):
        same(expected, run(v1, tasks.target(), asked))


@st.composite
def misshapen(draw: Any, case: op_cases.Case) -> op_cases.Case:
    """The same call with one argument of another shape, or out of bounds."""
    inputs = list(case.inputs)
    at = draw(st.integers(0, len(inputs) - 1))
    value = inputs[at]
    if isinstance(value, list):
        index = draw(st.integers(0, len(value) - 1))
        value = [*value[:index], bent(draw, value[index]), *value[index + 1 :]]
    else:
        value = bent(draw, value)
    inputs[at] = value
    return op_cases.Case(inputs, case.attrs)


def bent(draw: Any, value: Any) -> Any:
    kinds = ["grown", "wrapped"]
    kinds += ["first"] if value.ndim and value.size else []
    kinds += ["large", "negative"] if value.dtype.kind == "i" else []
    kind = draw(st.sampled_from(kinds))
    if kind == "grown":
        return np.concatenate([value, value], -1) if value.ndim else np.stack([value, value])
    if kind == "first":
        return value[0] if isinstance(value[0], np.ndarray) else np.asarray(value[0], value.dtype)
    if kind == "wrapped":
        return value[None]
    return np.asarray(value + 50 if kind == "large" else -value - 1).astype(value.dtype)


@pytest.mark.parametrize("op", sorted(op_cases.CASES))
@few
@given(data=st.data())
def test_a_call_that_does_not_fit_is_tensorflows_error(
    v1: Any, tasks: genuine.Tasks, op: str, data: Any
) -> None:
    case = data.draw(misshapen(data.draw(op_cases.CASES[op](opdef.lookup(op)))))
    asked = call(op, case, "unknown")
    expected = run(v1, "", asked)
    if is_comparable(v1, op, case, expected):
        same(expected, run(v1, tasks.target(), asked))


@dataclass(frozen=True)
class Rows:
    """A gradient by rows, as TensorFlow's IndexedSlicesValue."""

    values: Any
    indices: Any
    dense_shape: Any


def dense(value: Any) -> Any:
    """A gradient as an array; of rows, each at its place."""
    if not hasattr(value, "indices"):
        return np.asarray(value)
    whole = np.zeros(tuple(value.dense_shape), value.values.dtype)
    np.add.at(whole, value.indices, value.values)
    return whole


@pytest.mark.parametrize(
    "op",
    sorted(row.name for row in opdef.all_rows() if row.gradient and row.name in op_cases.CASES),
)
@few
@given(data=st.data())
def test_a_gradient_is_tensorflows_gradient(
    v1: Any, tasks: genuine.Tasks, op: str, data: Any
) -> None:
    """Built by Capstan and run by it, against built by TensorFlow and run by that."""
    kind = data.draw(st.sampled_from([dtypes.float32, dtypes.float64]))
    case = data.draw(op_cases.CASES[op](opdef.lookup(op), kind))
    form = data.draw(st.sampled_from(["shaped", "unknown"]))
    feeds: dict[str, Any] = {}
    xs: list[Any] = []

    def tensor(index: int, value: Any) -> Any:
        if index in case.structural or value.dtype.kind != "f":
            return convert.constant(value)
        shape = shapes.TensorShape(value.shape if form == "shaped" else None)
        xs.append(raw.Placeholder(dtype=dtypes.as_dtype(value.dtype), shape=shape))
        feeds[xs[-1].name] = value
        return xs[-1]

    with graphs.Graph().as_default() as graph:
        arguments = [
            [tensor(index, item) for item in value] if isinstance(value, list)
            else tensor(index, value)
            for index, value in enumerate(case.inputs)
        ]  # fmt: skip
        made = getattr(raw, op)(*arguments, **case.attrs)
        ys = [graph.get_tensor_by_name(name) for name in _names(made)]
        # What a loss gives besides is its gradient; TensorFlow follows that only in part.
        ys = [y for y in ys if y.dtype.is_floating][: 1 if "CrossEntropy" in op else None]
        slopes = gradients.gradients(ys, xs, stop_gradients=None)
        fetches = [
            None if slope is None
            else (slope.values.name, slope.indices.name, slope.dense_shape.name)
            if isinstance(slope, indexed_slices.IndexedSlices)
            else slope.name
            for slope in slopes
        ]  # fmt: skip
        forward = Call(graph.as_graph_def().SerializeToString(), feeds, [])
    expected = their_gradients(v1, forward, [y.name for y in ys], [x.name for x in xs])
    if expected is None:
        return
    with v1.Graph().as_default(), v1.Session(tasks.target()) as session:
        v1.import_graph_def(v1.GraphDef.FromString(forward.graph), name="")
        found = session.run([name for name in fetches if name is not None], feeds)
    assert [name is None for name in fetches] == [slope is None for slope in expected]
    for one, other in zip(found, filter(lambda slope: slope is not None, expected), strict=True):
        slices = Rows(*one) if isinstance(one, tuple) else one
        same_array(dense(other), dense(slices))


def their_gradients(v1: Any, forward: Call, ys: list[str], xs: list[str]) -> Any:
    """What TensorFlow finds; None where it has no gradient."""
    with v1.Graph().as_default() as graph, v1.Session() as session:
        v1.import_graph_def(v1.GraphDef.FromString(forward.graph), name="")
        tensors = graph.get_tensor_by_name
        try:
            slopes = v1.gradients([tensors(y) for y in ys], [tensors(x) for x in xs])
        except (LookupError, TypeError):  # it takes no axes of int64 where no shape is known
            return None
        try:
            found = iter(session.run([s for s in slopes if s is not None], forward.feeds))
        except v1.errors.InvalidArgumentError:  # it cannot look up nothing along a later axis
            return None
        return [None if slope is None else next(found) for slope in slopes]
