"""Python functions as functions of the graph, which datasets call (`StructuredFunctionWrapper`).

A function may read tensors of the graph around it. The dataset captures their values when it is
made, except for the values of resource variables, which the function reads in each call.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from capstan.api import data_structure, function_body
from capstan.api.autograph.operators import Operators
from capstan.core import dtypes, function
from capstan.framework import convert, facts, func_graph
from capstan.framework import graph as graphs


@dataclass(frozen=True, slots=True)
class Traced:
    """A function of the default graph, the tensors that it captures, and its result's structure."""

    reference: function.Reference
    captured: list[Any]
    spec: Any
    result: Any


def trace(
    func: Callable[..., Any], transformation: str, *specs: Any, unpack: bool = True
) -> Traced:
    """Add `func` to the default graph, for arguments with the structures `specs`.

    If there is one structure and it is a tuple, `func` gets its parts as arguments.

    Raises:
        TypeError: `func` returns a value that is not an element of a dataset.
    """
    outer = graphs.get_default_graph()
    body = func_graph.FuncGraph()
    body.seed = outer.seed
    with function_body.building(body):
        arguments = [
            data_structure.element(
                spec,
                [
                    body.add_argument("arg", leaf.packed_type, data_structure.argument_shape(leaf))
                    for leaf in data_structure.flatten(spec)
                ],
            )
            for spec in specs
        ]
        # A namedtuple is one argument.
        if len(specs) == 1 and type(arguments[0]) is tuple:
            arguments = list(arguments[0])
        returned = _converted(func)(*arguments)
        if isinstance(returned, list):
            # A list mostly comes from an op such as `py_func`, whose results do not stack.
            returned = tuple(returned)
        try:
            result = data_structure.converted(returned)
        except (TypeError, ValueError) as fault:
            raise TypeError(
                f"Unsupported return value from function passed to {transformation}: {returned}."
            ) from fault
        body.outputs = [body.capture(tensor) for tensor in data_structure.tensors(result)]
    made = _with_arguments(body, _base_name(func, transformation))
    _add(outer, body, made)
    spec = data_structure.spec_of(result)
    return Traced(function.Reference(made.name), body.captured_inputs, spec, result)


def _converted(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return `func` with control flow of Python that works on tensors, as in TensorFlow."""
    return Operators().converted(func, warns=False)  # type: ignore[no-any-return]


def of_integers(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return `func`, whose result is an int64 if it is a number of Python or NumPy."""
    call = _converted(func)

    @functools.wraps(func)
    def number(*arguments: Any) -> Any:
        return convert.convert_to_tensor(call(*arguments), preferred_dtype=dtypes.int64)

    return number


def check_predicate(spec: Any) -> None:
    """Check that a function returns a scalar bool.

    Raises:
        ValueError: it returns something else.
    """
    is_bool = isinstance(spec, data_structure.TensorSpec) and spec.dtype is dtypes.bool_
    if not is_bool or not spec.shape.is_compatible_with([]):
        raise ValueError(
            f"`predicate` return type must be convertible to a scalar boolean tensor. Was {spec}."
        )


def _base_name(func: Callable[..., Any], transformation: str) -> str:
    name = getattr(func, "__name__", type(func).__name__)
    return re.sub(r"[^A-Za-z0-9]+", "_", f"{transformation}_{name}").strip("_")


def _with_arguments(body: func_graph.FuncGraph, base_name: str) -> function.Function:
    """Return the function of a body, which also states the shapes of its arguments."""
    made = body.finished(base_name, base_name)
    arguments = tuple(
        replace(argument, shape=tensor.static_shape)
        for argument, tensor in zip(made.arguments, body.inputs, strict=True)
    )
    run = tuple(op.name for op in body.get_operations() if _must_run(op) and op.name in made.nodes)
    complete = replace(made, name="", arguments=arguments, control_results=run)
    library = {each.name: each for each in body.functions()}
    return func_graph.named_by_content(complete, base_name, library)


def _must_run(op: graphs.Operation) -> bool:
    row = op.row
    return row is not None and bool(row.effect.external or row.effect.changes or row.effect.calls)


def _add(outer: graphs.Graph, body: func_graph.FuncGraph, made: function.Function) -> None:
    for each in body.functions():
        outer.add_function(each, body.python_gradient(each.name))
    outer.add_function(made)


_READS_FILES = frozenset(("MatchingFiles", "ReadFile"))
"""The ops besides datasets that TensorFlow copies, although files may change their results."""


class _ByValue(func_graph.FuncGraph):
    """A body that copies the operations of the graph around it instead of capturing tensors."""

    def __init__(self) -> None:
        super().__init__()
        self._copies: dict[graphs.Operation, graphs.Operation] = {}

    def capture(self, tensor: graphs.Tensor) -> graphs.Tensor:
        if tensor.graph is self:
            return tensor
        copy = self._copied(tensor.op)
        return copy.outputs[tensor.value_index]

    def _copied(self, op: graphs.Operation) -> graphs.Operation:
        if op in self._copies:
            return self._copies[op]
        if op.type in ("Placeholder", "PlaceholderV2"):
            raise ValueError(
                f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value."
            )
        row = op.row
        may_copy = op.type in _READS_FILES or re.search(r"Dataset(V\d)?$", op.type)
        if row is not None and not may_copy and row.effect != facts.PURE:
            raise ValueError(
                f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value."
            )
        inputs = [self.capture(tensor) for tensor in op.inputs]
        kinds = [tensor.dtype for tensor in op.outputs]
        copy = self.create_op(op.type, inputs, kinds, name=op.name, attrs=dict(op.node.attrs))
        for tensor, original in zip(copy.outputs, op.outputs, strict=True):
            tensor.infer_shape(original.inferred_shape)
        self._copies[op] = copy
        return copy


def by_value(tensor: graphs.Tensor) -> function.Reference:
    """Add a function without arguments that computes `tensor` from copies of its operations.

    Raises:
        ValueError: the tensor depends on a placeholder or on a stateful operation.
    """
    outer = graphs.get_default_graph()
    body = _ByValue()
    with body.as_default():
        body.outputs = [body.capture(tensor)]
    made = body.finished(None, "_make_dataset")
    _add(outer, body, made)
    return function.Reference(made.name)
