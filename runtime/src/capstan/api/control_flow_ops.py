"""Functions that order operations, and `Assert` (python/ops/control_flow_ops.py)."""

from collections.abc import Iterable
from typing import Any

from capstan.api import control_flow_nodes
from capstan.api.scoped import scoped
from capstan.framework import convert, grouping
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

__all__ = ["Assert", "Print", "group", "no_op", "tuple", "with_dependencies"]

group = grouping.group
no_op = grouping.no_op
tuple = grouping.tuple_of


def with_dependencies(
    dependencies: Iterable[Any], output_tensor: Any, name: str | None = None
) -> Any:
    """Return a copy of `output_tensor` that is available once `dependencies` have run.

    `output_tensor` is a tensor or an IndexedSlices. The copy of a reference is a reference.
    """
    with scoped(name, "control_dependency", (output_tensor,)) as scope:
        value = convert.convert_to_tensor_or_indexed_slices(output_tensor)
        with value.graph.colocate_with(value.op), value.graph.control_dependencies(dependencies):
            is_tensor = isinstance(value, graphs.Tensor)
            return control_flow_nodes.identity(value, name=scope if is_tensor else None)


def Assert(
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> graphs.Operation:
    """Return an operation that raises InvalidArgumentError with `data` unless `condition` holds.

    `summarize` is the number of elements of each tensor that the error prints. The default is 3,
    and -1 means all elements.
    """
    operation: graphs.Operation = raw.Assert(
        condition,
        list(data),
        summarize=3 if summarize is None else summarize,
        name=name or "Assert",
    )
    return operation


def Print(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Any:
    """Return a copy of `input_`. Computing the copy writes `message` and `data` to standard error.

    The task that computes the copy writes the line. It writes at most `first_n` lines, or any
    number if `first_n` is None or -1. `summarize` is the number of elements of each tensor to
    write. The default is 3, and -1 means all elements.
    """
    return raw.Print(
        input_,
        list(data),
        message=message or "",
        first_n=-1 if first_n is None else first_n,
        summarize=3 if summarize is None else summarize,
        name=name,
    )
