"""The promises of every row of the registry, tested on random calls of each op."""

import ast
import pathlib
import re
from collections.abc import Mapping
from typing import Any

import examples
import interpreter
import ml_dtypes
import numpy as np
import op_cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan
import capstan.kernels
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, facts, opdef, ops  # noqa: F401 - registers the rows
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.graph import infer
from capstan.kernels import registry

all_ops = pytest.mark.parametrize("op", sorted(op_cases.CASES))
few = settings(max_examples=examples.share(7), deadline=None)
DATA_DECIDES = {
    "BroadcastGradientArgs", "ComputeAccidentalHits", "DynamicPartition", "ListDiff", "SegmentMax",
    "SegmentMean", "SegmentMin", "SegmentProd", "SegmentSum", "SparseAdd", "SparseFillEmptyRows",
    "SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSum", "SparseSparseMaximum",
    "SparseSparseMinimum", "Unique", "UniqueWithCounts", "Where",
}  # fmt: skip
"""Ops whose shapes depend on values that the compiler does not know."""


def placeholder(value: Any, *, is_shape_known: bool) -> Any:
    shape = tensor_shape.TensorShape(value.shape if is_shape_known else None)
    return raw.Placeholder(dtype=dtypes.as_dtype(value.dtype), shape=shape)


def build(case: op_cases.Case, op: str, wrap: Any) -> tuple[Any, dict[Any, Any]]:
    """Add the op to the default graph with `wrap(index, array)` as its arguments.

    Return the outputs, and the feeds of the placeholders.
    """
    feeds: dict[Any, Any] = {}

    def tensor(index: int, value: Any) -> Any:
        wrapped = wrap(index, value)
        if wrapped.op.type == "Placeholder":
            feeds[wrapped] = value
        return wrapped

    arguments = [
        [tensor(index, each) for each in value] if isinstance(value, list) else tensor(index, value)
        for index, value in enumerate(case.inputs)
    ]
    result = getattr(raw, op)(*arguments, **case.attrs)
    outputs = result if isinstance(result, list | tuple) else [result]
    flat = [t for part in outputs for t in (part if isinstance(part, list) else [part])]
    return flat, feeds


def run(case: op_cases.Case, op: str, form: str, with_buffers: bool) -> list[Any]:
    """Run one call and return its results.

    `form` says what is known before the step: all values ("constant"), only the shapes ("shaped"),
    or nothing ("unknown").
    """

    def wrap(index: int, value: Any) -> Any:
        if form == "constant" or (form == "shaped" and index in case.structural):
            return convert.constant(value)
        return placeholder(value, is_shape_known=form == "shaped")

    with graphs.Graph().as_default():
        outputs, feeds = build(case, op, wrap)
        results = interpreter.Interpreter(with_buffers=with_buffers).run(outputs, feeds)
    return [result for result in results if result is not None]


def assert_same(first: list[Any], second: list[Any]) -> None:
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert a.dtype == b.dtype
        if a.dtype == ml_dtypes.bfloat16:  # NumPy takes no two NaN of this type for equal.
            a, b = a.astype(np.float32), b.astype(np.float32)
        np.testing.assert_array_equal(a, b, strict=False)


def test_every_row_is_tested() -> None:
    cases, elsewhere = set(op_cases.CASES), set().union(*op_cases.ELSEWHERE.values())
    rows = {row.name for row in opdef.all_rows() if registry.supports(row.name, "CPU", {})}
    assert cases <= rows <= cases | elsewhere


@pytest.mark.e2e
@all_ops
@few
@given(data=st.data())
def test_the_result_of_an_op_does_not_depend_on_static_knowledge(op: str, data: Any) -> None:
    """The interpreter also checks every result against the shape rule and dtypes of the row."""
    case = data.draw(op_cases.CASES[op](opdef.lookup(op)))
    expected = run(case, op, "constant", with_buffers=False)
    assert_same(expected, run(case, op, "constant", with_buffers=True))
    for form in ("shaped", "unknown"):
        for with_buffers in (False, True):
            assert_same(expected, run(case, op, form, with_buffers))


# The output shapes of the excluded ops depend on values that the shape rules do not use.
@pytest.mark.e2e
@pytest.mark.parametrize("op", sorted(op_cases.CASES.keys() - DATA_DECIDES))
@few
@given(data=st.data())
def test_shape_rules_are_exact_when_everything_is_known(op: str, data: Any) -> None:
    case = data.draw(op_cases.CASES[op](opdef.lookup(op)))
    with graphs.Graph().as_default():
        outputs, feeds = build(case, op, lambda index, value: convert.constant(value))
        results = interpreter.Interpreter().run(outputs, feeds)
    for tensor, result in zip(outputs, results, strict=True):
        assert result is None or tensor.shape.internal == result.shape


class Asked(dict[int, Any]):
    """The values of inputs, by index. It records the indices that a rule asks for."""

    def __init__(self, values: Mapping[int, Any]) -> None:
        super().__init__(values)
        self.indices: set[int] = set()

    def get(self, index: int, default: Any = None) -> Any:
        self.indices.add(index)
        return super().get(index, default)


@pytest.mark.e2e
@all_ops
@few
@given(data=st.data())
def test_an_input_whose_value_decides_a_shape_lives_in_host_memory(op: str, data: Any) -> None:
    row = opdef.lookup(op)
    case = data.draw(op_cases.CASES[op](row))
    with graphs.Graph().as_default():
        (output, *_), _ = build(case, op, lambda index, value: convert.constant(value))
        operation = output if isinstance(output, graphs.Operation) else output.op
        node = operation.node
        values = [tensor.op.constant_value() for tensor in operation.inputs]
    asked = Asked(dict(enumerate(values)))
    assert row.shape is not None
    row.shape(opdef.ShapeContext([value.shape for value in values], infer.attributes(node), asked))
    host = infer.inputs_of(node, row.host)
    assert {node.inputs[index] for index in asked.indices} <= set(host)


# Tests of simple facts loop over all rows. pytest would need more time for one test of each row.
def test_every_row_follows_tensorflows_conventions() -> None:
    for row in opdef.all_rows():
        names = [argument.name for argument in (*row.input_arguments, *row.output_arguments)]
        assert len(set(names)) == len(names), row.name
        implied = {a.type for a in row.input_arguments} | {a.number for a in row.input_arguments}
        for argument in row.output_arguments:
            kind = argument.type
            known = kind in implied or kind in row.attrs or _is_type(kind)
            assert known, f"{row.name} does not fix the type {kind} of {argument.name}"
            number = argument.number
            assert number is None or number in implied | set(row.attrs), row.name
        assert not (row.gradient and row.not_differentiable), row.name
        assert row.shape is not None, row.name
        assert re.fullmatch(r"_?[A-Z]\w+", row.name)


def test_every_op_that_takes_a_reference_or_makes_a_variable_says_what_it_does() -> None:
    for row in opdef.all_rows():
        takes_state = any(a.is_ref or a.type == "resource" for a in row.input_arguments)
        gives_state = any(a.is_ref or a.type == "resource" for a in row.output_arguments)
        if takes_state:
            passes_it_on = row.role in {*facts.CONTROL_FLOW, facts.Role.IDENTITY}
            is_stated = row.effect != facts.PURE or passes_it_on or row.name == "RefSelect"
            assert is_stated, f"{row.name}: state effect=facts.reads(...) or facts.changes(...)"
        elif gives_state:
            assert row.effect.makes, f"{row.name}: state effect=facts.MAKES"


def test_a_fact_about_an_argument_that_the_op_does_not_have_is_refused() -> None:
    for fact in ({"effect": facts.changes("nothing")}, {"host": ("nothing",)}):
        with pytest.raises(ValueError, match="op Unheard has no argument nothing"):
            opdef.define(opdef.OpDef("Unheard", ("x: T",), ("y: T",), **fact))


SOURCES = pathlib.Path(capstan.__file__).parent
ROWS_AND_KERNELS = ("framework/ops", "kernels")
BUILDERS = (
    "api",
    "compat",
    "contrib",
    "framework/convert.py",
    "framework/operand.py",
    "framework/operators.py",
    "python",
)
"""The public functions, and the operators of Python, create operations by name. Some classes have
the name of an op, in the tables of TensorFlow's modules."""
KINDS = ("resources",)
"""A queue tells its kind in error messages."""
ARRAYS = ("framework/list_array.py", "framework/tensor_array.py")
"""The class of arrays, and scopes of names, are called as operations of old graphs are."""
QUOTED = re.compile(r"""["'](\w+)["']""")


def op_names_in(text: str) -> list[tuple[int, str]]:
    """Return line and text of each string that is the name of an op.

    The names of nodes do not count: the argument `name` of a call, and its default.
    """
    if not any(map(opdef.is_defined, QUOTED.findall(text))):
        return []  # most modules, and to parse them would take longest
    parts = list(ast.walk(ast.parse(text)))
    names = set()
    for part in parts:
        if isinstance(part, ast.Call):
            names |= {id(word.value) for word in part.keywords if word.arg == "name"}
        elif isinstance(part, ast.arguments):
            last = (*part.posonlyargs, *part.args)[
                len(part.posonlyargs + part.args) - len(part.defaults) :
            ]
            pairs = [
                *zip(last, part.defaults, strict=True),
                *zip(part.kwonlyargs, part.kw_defaults, strict=True),
            ]
            names |= {id(default) for argument, default in pairs if argument.arg == "name"}
    return [
        (part.lineno, part.value)
        for part in parts
        if isinstance(part, ast.Constant)
        and isinstance(part.value, str)
        and opdef.is_defined(part.value)
        and id(part) not in names
    ]


@pytest.mark.e2e
def test_no_module_outside_the_rows_and_kernels_names_an_op() -> None:
    """A module that decides by a fact about an op asks the op's row for the fact.

    A pass that adds a node calls a function of `framework.ops.nodes`.
    """
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        module = str(path.relative_to(SOURCES))
        if not module.startswith((*ROWS_AND_KERNELS, *BUILDERS, *KINDS, *ARRAYS)):
            found[module] = op_names_in(path.read_text(encoding="utf-8"))
    assert len(found) > 100
    assert {module: names for module, names in found.items() if names} == {}


def test_the_name_of_an_op_in_a_string_is_found() -> None:
    text = 'def f(name="Switch", op="Merge"):\n    return op == "Const" and f(name="Identity")'
    assert op_names_in(text) == [(1, "Merge"), (2, "Const")]


def _is_type(name: str) -> bool:
    try:
        dtypes.as_dtype(name)
    except TypeError:
        return False
    return True


QUANTIZED = op_cases.ELSEWHERE["oracle/test_quantized.py"]


def test_every_type_that_a_row_allows_has_a_kernel() -> None:
    for row in opdef.all_rows():
        for attribute, allowed in row.types.items():
            for dtype in allowed:
                attrs: Mapping[str, Any] = {attribute: dtype}
                has_kernel = any(registry.supports(row.name, on, attrs) for on in ("CPU", "GPU"))
                # Const has no kernel: the compiler binds its value. TensorFlow's quantized ops
                # allow more types than its kernels, too.
                is_exempt = row.name == "Const" or row.name in QUANTIZED
                assert has_kernel or is_exempt, (row.name, attribute, dtype)


def kernels_that_emit() -> dict[str, registry.Kernel]:
    """Return the kernels that emit an expression for generated code, by op."""
    kernels = {}
    for row in opdef.all_rows():
        choices: list[dict[str, Any]] = [{}]
        choices += [{name: dtype} for name, allowed in row.types.items() for dtype in allowed]
        for attrs in choices:
            kernel = registry.find(row.name, "CPU", attrs)
            if kernel is not None and kernel.emit is not None:
                kernels[row.name] = kernel
    return kernels


KERNELS_THAT_EMIT = kernels_that_emit()


@pytest.mark.parametrize("op", KERNELS_THAT_EMIT)
def test_a_kernel_emits_the_same_expression_for_all_argument_names(op: str) -> None:
    emit = KERNELS_THAT_EMIT[op].emit
    assert emit is not None
    count = len(opdef.lookup(op).inputs)
    templates = set()
    for prefix in ("t", "other"):
        names = [f"{prefix}{index}_0" for index in range(count)]
        text = emit(names)
        assert "\n" not in text
        tree = ast.parse(text, mode="eval")
        used = [part for part in ast.walk(tree) if isinstance(part, ast.Name)]
        assert {name.id for name in used} <= set(names)
        constants = [part.value for part in ast.walk(tree) if isinstance(part, ast.Constant)]
        assert constants in ([], [None])
        templates.add(re.sub(rf"\b{prefix}(\d+)_0\b", r"{\1}", text))
    assert len(templates) == 1


def test_some_kernels_emit() -> None:
    assert {"Identity", "NoOp", "ReadVariableOp"} <= KERNELS_THAT_EMIT.keys()
