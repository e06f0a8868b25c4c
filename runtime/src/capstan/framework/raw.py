"""Any op by name: `raw.MatMul(a, b, transpose_a=True)` adds one operation to the graph.

The positional arguments are the op's inputs in order. Attributes and `name` are keywords. Python
and NumPy values become constants of the type that the op's other arguments fix. The result is the
Operation if the op has no outputs, a Tensor if it has one, and a namedtuple such as
`Unique(y, idx)` if it has several. An output that is a list of tensors is a list in the result.
The error messages are the messages of python/framework/op_def_library.py.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from capstan import errors
from capstan.core import dtypes
from capstan.framework import arguments, attributes, opdef
from capstan.framework import graph as graphs
from capstan.framework import ops as rows

__all__ = ["raw", "rows"]


class Raw:
    """A namespace with one function for each row of the registry."""

    def __getattr__(self, op_name: str) -> Callable[..., Any]:
        try:
            row = opdef.lookup(op_name)
        except errors.NotFoundError:
            raise AttributeError(f"there is no op {op_name!r}") from None

        def build(*inputs: Any, name: str | None = None, **keywords: Any) -> Any:
            return add(row, inputs, keywords, name)

        build.__name__ = build.__qualname__ = op_name
        # The next access finds the function without calling `__getattr__`.
        self.__dict__[op_name] = build
        return build


def add(
    row: opdef.OpDef, inputs: Sequence[Any], keywords: Mapping[str, Any], name: str | None
) -> Any:
    """Add an operation of `row` to the graph of its tensors, or to the default graph.

    The name "" puts the operation outside of all name scopes, as in TensorFlow.

    Raises:
        TypeError: an argument is missing or unknown, or its type does not fit.
        ValueError: the shapes do not fit, or the tensors belong to different graphs.
    """
    given = arguments.bind(row, inputs, keywords)
    graph = graphs.graph_of(given.values())
    if graph is graphs.get_default_graph():
        return _add_to(graph, row, given, keywords, name)
    with graph.as_default():
        return _add_to(graph, row, given, keywords, name)


def _add_to(
    graph: graphs.Graph,
    row: opdef.OpDef,
    given: Mapping[str, Any],
    keywords: Mapping[str, Any],
    name: str | None,
) -> Any:
    attrs = attributes.given(row, keywords)
    with graph.name_scope(row.name if name is None else name) as scope, ExitStack() as blocks:
        tensors, refs = arguments.tensors(row, given, attrs)
        attributes.complete(row, attrs)
        for ref in refs:
            blocks.enter_context(graph.colocate_with(ref.op))
        op = graph.create_op(row.name, tensors, name=scope or row.name, attrs=attrs)
    return _result(row, op, attrs)


def _result(row: opdef.OpDef, op: graphs.Operation, attrs: Mapping[str, Any]) -> Any:
    outputs = op.outputs
    results: list[Any] = []
    for argument in row.output_arguments:
        kind = attrs.get(argument.type)
        if isinstance(kind, list | tuple):
            count, is_list = len(kind), True
        else:
            is_list = argument.number is not None
            count = attrs[argument.number] if argument.number is not None else 1
        part, outputs = outputs[:count], outputs[count:]
        results.append(part if is_list else part[0])
    if row.results is not None:
        return row.results(*results)
    return results[0] if results else op


raw = Raw()


def dtype_of(value: Any) -> dtypes.DType | None:
    """Return the base type of a tensor or variable, or None for any other value."""
    return arguments.dtype_of(value)
