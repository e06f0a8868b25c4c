"""Every op gives the same results as TensorFlow for the same GraphDef.

TensorFlow runs it in this process, and Capstan runs it on a cluster.
"""

from dataclasses import dataclass
from typing import Any

import comparison
import genuine
import numpy as np
import op_cases
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capstan.core import dtypes, elementwise, tensor_shape
from capstan.framework import convert, gradients, indexed_slices, opdef
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

pytestmark = genuine.MARKS
few = settings(
    max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)

COMPARED = sorted(op_cases.CASES.keys() - op_cases.CRASHING)
REWRITTEN = {"SplitV"}
"""Ops whose kernels refuse some calls that TensorFlow answers when it rewrites a graph."""
TOLERANCE = {"bfloat16": 1e-2, "float16": 5e-3, "float32": 1e-5, "float64": 1e-10}


@dataclass(frozen=True)
class Call:
    """A graph for both runtimes: its GraphDef, the feeds by name, and the fetches.

    If `is_rewritten`, TensorFlow rewrites the graph before it runs it, as it usually does.
    """

    graph: bytes
    feeds: dict[str, Any]
    fetches: list[str]
    is_rewritten: bool = False


def call(op: str, case: op_cases.Case, form: str) -> Call:
    """Build a call of `op`. If `form` is "constant", the arguments are constants. Else they are
    fed, and their shapes are known if `form` is "shaped".
    """
    feeds: dict[str, Any] = {}

    def tensor(index: int, value: Any) -> Any:
        if form == "constant" or index in case.structural:
            return convert.constant(value)
        shape = tensor_shape.TensorShape(value.shape if form == "shaped" else None)
        placeholder = raw.Placeholder(dtype=dtypes.as_dtype(value.dtype), shape=shape)
        feeds[placeholder.name] = value
        return placeholder

    with graphs.Graph().as_default() as graph:
        arguments = [
            [tensor(index, element) for element in value] if isinstance(value, list)
            else tensor(index, value)
            for index, value in enumerate(case.inputs)
        ]  # fmt: skip
        outputs = getattr(raw, op)(*arguments, **case.attrs)
        serialized = graph.as_graph_def().SerializeToString()
        return Call(serialized, feeds, _names(outputs), op in REWRITTEN)


def _names(outputs: Any) -> list[str]:
    if isinstance(outputs, list | tuple):
        return [name for output in outputs for name in _names(output)]
    return [outputs.name]


def run(v1: Any, target: str, request: Call) -> Any:
    """Return the values of the fetches, or the error."""
    config = genuine.rewriting(v1) if request.is_rewritten else None
    with v1.Graph().as_default(), v1.Session(target, config=config) as session:
        v1.import_graph_def(v1.GraphDef.FromString(request.graph), name="")
        try:
            return session.run(request.fetches, request.feeds)
        except v1.errors.OpError as error:
            return error


def takes_bfloat16(op: str) -> bool:
    """Return whether a case of `op` can have elements of bfloat16."""
    row = opdef.lookup(op)
    allowed = row.types.get("T", (dtypes.bfloat16,))
    return dtypes.bfloat16 in allowed and "T" in {each.type for each in row.input_arguments}


def is_comparable(v1: Any, op: str, case: op_cases.Case, expected: Any) -> bool:
    """Return whether TensorFlow's result can be compared.

    TensorFlow declares some dtypes for which it has no CPU kernel, and it rounds integers to 0. Its
    neural network library raises AbortedError for scalars, and computes wrong products of float16
    batches with a single matrix. TensorFlow 2 refuses axes that repeat, and TensorFlow 1 does not.
    """
    if "duplicate dimension" in str(expected):
        return False
    if op.startswith("BatchMatMul") and case.inputs[0].dtype == np.float16:
        return False
    if op == "Round" and case.inputs[0].dtype.kind == "i":
        return False
    absent = (v1.errors.NotFoundError, v1.errors.UnimplementedError, v1.errors.AbortedError)
    return not isinstance(expected, absent) and "No OpKernel" not in str(expected)


def check_equal(expected: Any, found: Any) -> None:
    if isinstance(expected, Exception) or isinstance(found, Exception):
        assert type(found) is type(expected), f"{found!r}\ninstead of\n{expected!r}"
        return
    for value, wanted in zip(found, expected, strict=True):
        assert (value is None) == (wanted is None)
        if wanted is not None:
            check_equal_arrays(np.asarray(wanted), value)


def check_equal_arrays(expected: Any, found: Any) -> None:
    tolerance = TOLERANCE.get(expected.dtype.name, 0.0)
    # TensorFlow rounds each step of a function of bfloat16, and Capstan only the result.
    least = tolerance if expected.dtype.name == "bfloat16" else tolerance / 10
    comparison.close(found, expected, tolerance, least)


@pytest.mark.parametrize("op", COMPARED)
@few
@given(data=st.data())
def test_an_op_gives_the_same_results_as_tensorflow(
    v1: Any, tasks: genuine.Tasks, op: str, data: Any
) -> None:
    case = data.draw(op_cases.CASES[op](opdef.lookup(op)))
    request = call(op, case, data.draw(st.sampled_from(["constant", "shaped", "unknown"])))
    expected = run(v1, "", request)
    if is_comparable(v1, op, case, expected):
        check_equal(expected, run(v1, tasks.target(), request))


@pytest.mark.parametrize("op", [op for op in COMPARED if takes_bfloat16(op)])
@settings(few, max_examples=2)
@given(data=st.data())
def test_an_op_of_bfloat16_gives_the_same_results_as_tensorflow(
    v1: Any, tasks: genuine.Tasks, op: str, data: Any
) -> None:
    case = data.draw(op_cases.CASES[op](opdef.lookup(op), dtypes.bfloat16))
    request = call(op, case, data.draw(st.sampled_from(["constant", "shaped", "unknown"])))
    expected = run(v1, "", request)
    if is_comparable(v1, op, case, expected):
        check_equal(expected, run(v1, tasks.target(), request))


@st.composite
def misshapen(draw: Any, case: op_cases.Case) -> op_cases.Case:
    """Draw a call in which one argument has another shape or is out of bounds."""
    inputs = list(case.inputs)
    at = draw(st.integers(0, len(inputs) - 1))
    value = inputs[at]
    if isinstance(value, list):
        index = draw(st.integers(0, len(value) - 1))
        value = [*value[:index], distorted(draw, value[index]), *value[index + 1 :]]
    else:
        value = distorted(draw, value)
    inputs[at] = value
    return op_cases.Case(inputs, case.attrs)


def distorted(draw: Any, value: Any) -> Any:
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


@pytest.mark.parametrize("op", COMPARED)
@few
@given(data=st.data())
def test_an_invalid_call_raises_the_same_error_as_in_tensorflow(
    v1: Any, tasks: genuine.Tasks, op: str, data: Any
) -> None:
    case = data.draw(misshapen(data.draw(op_cases.CASES[op](opdef.lookup(op)))))
    request = call(op, case, "unknown")
    expected = run(v1, "", request)
    if is_comparable(v1, op, case, expected):
        check_equal(expected, run(v1, tasks.target(), request))


@dataclass(frozen=True)
class Rows:
    """A sparse gradient, with the fields of TensorFlow's IndexedSlicesValue."""

    values: Any
    indices: Any
    dense_shape: Any


def dense(value: Any) -> Any:
    """Return a gradient as a dense array."""
    if not hasattr(value, "indices"):
        return np.asarray(value)
    array = np.zeros(tuple(value.dense_shape), value.values.dtype)
    np.add.at(array, value.indices, value.values)
    return array


@pytest.mark.parametrize(
    "op",
    sorted(row.name for row in opdef.all_rows() if row.gradient and row.name in COMPARED),
)
@few
@given(data=st.data())
def test_a_gradient_equals_the_gradient_of_tensorflow(
    v1: Any, tasks: genuine.Tasks, op: str, data: Any
) -> None:
    """Compare a gradient that Capstan builds and runs with one that TensorFlow builds and runs."""
    kinds = [dtypes.float32, dtypes.float64]
    # The gradient of Digamma is Polygamma, which does not take bfloat16.
    kinds += [dtypes.bfloat16] if takes_bfloat16(op) and op != "Digamma" else []
    kind = data.draw(st.sampled_from(kinds))
    case = data.draw(op_cases.CASES[op](opdef.lookup(op), kind))
    # TensorFlow cannot build the gradient of ExtractVolumePatches without a known shape.
    form = data.draw(st.sampled_from(["shaped", "unknown"][: 1 if "VolumeP" in op else None]))
    feeds: dict[str, Any] = {}
    xs: list[Any] = []

    def tensor(index: int, value: Any) -> Any:
        if index in case.structural or not elementwise.is_number(value.dtype):
            return convert.constant(value)
        shape = tensor_shape.TensorShape(value.shape if form == "shaped" else None)
        xs.append(raw.Placeholder(dtype=dtypes.as_dtype(value.dtype), shape=shape))
        feeds[xs[-1].name] = value
        return xs[-1]

    with graphs.Graph().as_default() as graph:
        arguments = [
            [tensor(index, element) for element in value] if isinstance(value, list)
            else tensor(index, value)
            for index, value in enumerate(case.inputs)
        ]  # fmt: skip
        outputs = getattr(raw, op)(*arguments, **case.attrs)
        ys = [graph.get_tensor_by_name(name) for name in _names(outputs)]
        # The second output of a loss is its gradient. TensorFlow differentiates that only partly.
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
    expected = tensorflow_gradients(v1, forward, [y.name for y in ys], [x.name for x in xs])
    if expected is None:
        return
    with v1.Graph().as_default(), v1.Session(tasks.target()) as session:
        v1.import_graph_def(v1.GraphDef.FromString(forward.graph), name="")
        found = session.run([name for name in fetches if name is not None], feeds)
    assert [name is None for name in fetches] == [slope is None for slope in expected]
    wanted = filter(lambda slope: slope is not None, expected)
    for value, wanted_value in zip(found, wanted, strict=True):
        slices = Rows(*value) if isinstance(value, tuple) else value
        check_equal_arrays(dense(wanted_value), dense(slices))


def tensorflow_gradients(v1: Any, forward: Call, ys: list[str], xs: list[str]) -> Any:
    """Return TensorFlow's gradient for each of `xs`, or None if TensorFlow cannot compute them."""
    with v1.Graph().as_default() as graph, v1.Session() as session:
        v1.import_graph_def(v1.GraphDef.FromString(forward.graph), name="")
        tensors = graph.get_tensor_by_name
        try:
            slopes = v1.gradients([tensors(y) for y in ys], [tensors(x) for x in xs])
        except (LookupError, TypeError, ValueError):
            return None  # TensorFlow refuses int64 axes and patches of unknown shapes
        try:
            found = iter(session.run([s for s in slopes if s is not None], forward.feeds))
        except (
            v1.errors.InvalidArgumentError
        ):  # TensorFlow refuses empty indices along a later axis
            return None
        return [None if slope is None else next(found) for slope in slopes]
