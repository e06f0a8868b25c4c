"""The promises of every row of the registry, tested on random calls of each op."""

import ast
import re
from collections.abc import Mapping
from typing import Any

import examples
import interpreter
import numpy as np
import op_cases
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capstan.kernels  # noqa: F401 - registers the kernels
from capstan.core import dtypes, shapes
from capstan.framework import convert, opdef, ops  # noqa: F401 - registers the rows
from capstan.framework import graph as graphs
from capstan.framework.raw import raw
from capstan.kernels import registry

all_ops = pytest.mark.parametrize("op", sorted(op_cases.CASES))
few = settings(max_examples=examples.share(7), deadline=None)


def placeholder(value: Any, *, is_shape_known: bool) -> Any:
    shape = shapes.TensorShape(value.shape if is_shape_known else None)
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
    outputs = result if isinstance(result, list) else [result]
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
        np.testing.assert_array_equal(a, b, strict=False)


def test_every_row_is_tested() -> None:
    cases, elsewhere = set(op_cases.CASES), set().union(*op_cases.ELSEWHERE.values())
    rows = {row.name for row in opdef.all_rows() if registry.supports(row.name, "CPU", {})}
    assert cases <= rows <= cases | elsewhere


@all_ops
@few
@given(data=st.data())
def test_the_result_of_an_op_does_not_depend_on_static_knowledge(op: str, data: Any) -> None:
    """The interpreter also checks every result against the shape rule and dtypes of the row."""
    case = data.draw(op_cases.CASES[op](opdef.lookup(op)))
    expected = run(case, op, "constant", with_buffers=False)
    for form in ("constant", "shaped", "unknown"):
        for with_buffers in (False, True):
            assert_same(expected, run(case, op, form, with_buffers))


# The output shapes of the excluded ops depend on values that the shape rules do not use.
@pytest.mark.parametrize(
    "op", sorted(op_cases.CASES.keys() - {"Where", "Unique", "BroadcastGradientArgs"})
)
@few
@given(data=st.data())
def test_shape_rules_are_exact_when_everything_is_known(op: str, data: Any) -> None:
    case = data.draw(op_cases.CASES[op](opdef.lookup(op)))
    with graphs.Graph().as_default():
        outputs, feeds = build(case, op, lambda index, value: convert.constant(value))
        results = interpreter.Interpreter().run(outputs, feeds)
    for tensor, result in zip(outputs, results, strict=True):
        assert result is None or tensor.shape.internal == result.shape


@pytest.mark.parametrize("row", opdef.all_rows(), ids=lambda row: row.name)
def test_every_row_follows_tensorflows_conventions(row: opdef.OpDef) -> None:
    names = [argument.name for argument in (*row.input_arguments, *row.output_arguments)]
    assert len(set(names)) == len(names)
    implied = {a.type for a in row.input_arguments} | {a.number for a in row.input_arguments}
    for argument in row.output_arguments:
        known = argument.type in implied or argument.type in row.attrs or _is_type(argument.type)
        assert known, f"the row does not fix the type {argument.type} of {argument.name}"
        assert argument.number is None or argument.number in implied | set(row.attrs)
    assert not (row.gradient and row.not_differentiable)
    assert row.shape is not None
    assert re.fullmatch(r"[A-Z]\w+", row.name)


def _is_type(name: str) -> bool:
    try:
        dtypes.as_dtype(name)
    except TypeError:
        return False
    return True


# Const has no kernel: the compiler binds its value.
@pytest.mark.parametrize(
    "row", [row for row in opdef.all_rows() if row.name != "Const"], ids=lambda row: row.name
)
def test_every_type_that_a_row_allows_has_a_kernel(row: opdef.OpDef) -> None:
    for attribute, allowed in row.types.items():
        for dtype in allowed:
            attrs: Mapping[str, Any] = {attribute: dtype}
            assert registry.supports(row.name, "CPU", attrs), (attribute, dtype)


def kernels_that_emit() -> dict[str, registry.Kernel]:
    """Return by op the kernels that emit an expression for generated code."""
    kernels = {}
    for row in opdef.all_rows():
        choices: list[dict[str, Any]] = [{}]
        choices += [{name: dtype} for name, allowed in row.types.items() for dtype in allowed]
        for attrs in choices:
            kernel = registry.find(row.name, "CPU", attrs)
            if kernel is not None and kernel.emit is not None:
                kernels[row.name] = kernel
    return kernels


@pytest.mark.parametrize("op", kernels_that_emit())
def test_a_kernel_emits_the_same_expression_for_all_argument_names(op: str) -> None:
    emit = kernels_that_emit()[op].emit
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
    assert {"Identity", "NoOp", "ReadVariableOp"} <= kernels_that_emit().keys()
