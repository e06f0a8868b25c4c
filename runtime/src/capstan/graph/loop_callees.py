"""Check and adapt the functions that a loop calls, the node `While`."""

from collections.abc import Sequence
from dataclasses import replace

from capstan import errors
from capstan.core import dtypes, function
from capstan.core import node as ir
from capstan.framework.ops import nodes as build


def deciding(cond: function.Function) -> function.Function:
    """Return the condition `cond` of a loop, changed so that its first result is a bool."""
    if not cond.results or cond.result_dtypes in ((), (dtypes.bool_,)):
        return cond
    name = "condition"
    while name in cond.nodes or name in {argument.name for argument in cond.arguments}:
        name += "_"
    node = build.to_bool(name, cond.results[0], cond.result_dtypes[0], "")
    return replace(
        cond,
        results=(ir.Edge(name), *cond.results[1:]),
        result_dtypes=(dtypes.bool_, *cond.result_dtypes[1:]),
        nodes={**cond.nodes, name: node},
    )


def without_waits(called: function.Function) -> function.Function:
    """Return `called` without control dependencies on arguments.

    All arguments are known when an iteration begins.
    """
    names = {argument.name for argument in called.arguments}
    nodes = {
        name: replace(node, control=tuple(each for each in node.control if each not in names))
        if not names.isdisjoint(node.control)
        else node
        for name, node in called.nodes.items()
    }
    return replace(called, nodes=nodes)


def check_fit(
    node: ir.Node,
    called: function.Function,
    arguments: Sequence[dtypes.DType],
    results: Sequence[dtypes.DType],
) -> None:
    """Check that a function takes `arguments` and returns as many values as `results` has types.

    Raises:
        InvalidArgumentError: it does not.
    """
    parameters = [argument.dtype for argument in called.arguments]
    if parameters != list(arguments) or len(called.results) != len(results):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Node '{node.name}' ({node.op}) passes {_names(arguments)} and expects "
            f"{_names(results)}, but function '{called.name}' takes {_names(parameters)} and "
            f"returns {len(called.results)} results",
        )


def _names(kinds: Sequence[dtypes.DType]) -> str:
    return f"({', '.join(kind.name for kind in kinds)})"
