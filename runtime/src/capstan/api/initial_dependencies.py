"""Initial values that use other variables, which may not be initialized yet.

All variables of a program are usually initialized in one step, in any order. An initial value that
reads a variable therefore uses the initial value of that variable while the variable has none
(python/ops/variables.py, `_try_guard_against_uninitialized_dependencies`).
"""

from typing import Any, Final

from capstan.framework import collections
from capstan.framework import graph as graphs

_VARIABLES: Final = frozenset(("Variable", "VariableV2"))
_ENDS: Final = frozenset(
    (
        "Enter",
        "Exit",
        "If",
        "IsVariableInitialized",
        "Merge",
        "RefEnter",
        "RefExit",
        "RefMerge",
        "RefSwitch",
        "StatelessIf",
        "StatelessWhile",
        "Switch",
        "While",
    )
)
"""Conditionals and loops are not copied, also not those of `initialized_value`."""


def guarded(name: str, initial: graphs.Tensor) -> graphs.Tensor:
    """Return the initial value of the new variable `name`, which never reads a variable too early.

    If `initial` reads reference variables, the operations between them and `initial` are copied,
    and the copies use `Variable.initialized_value`. Else the result is `initial`. Variables that
    are in no collection, resource variables, and operations in loops and conditionals are read as
    before.
    """
    ancestors = _ancestors(initial.op)
    states = [op for op in ancestors if op.type in _VARIABLES]
    if not states:
        return initial
    graph: Any = initial.graph
    known = _variables(graph)
    copies: dict[graphs.Operation, list[graphs.Tensor]] = {}
    with graph.name_scope(None):
        for op in sorted(ancestors, key=lambda each: each.creation_index):
            if op in known:
                copies[op] = [known[op].initialized_value()]
            elif any(tensor.op in copies for tensor in op.inputs):
                copies[op] = _copy(op, name, copies)
    return copies[initial.op][initial.value_index] if initial.op in copies else initial


def _ancestors(last: graphs.Operation) -> set[graphs.Operation]:
    """Return the operations that may be copied: `last`, and those before it."""
    found: set[graphs.Operation] = set()
    waiting = [last]
    while waiting:
        op = waiting.pop()
        if op not in found and not _is_end(op):
            found.add(op)
            if op.type not in _VARIABLES:
                waiting.extend(tensor.op for tensor in op.inputs)
    return found


def _is_end(op: graphs.Operation) -> bool:
    if op.type in _ENDS or op.control_flow_context is not None:
        return True
    row = op.row
    return row is not None and any(argument.is_ref for argument in row.input_arguments)


def _variables(graph: graphs.Graph) -> dict[graphs.Operation, Any]:
    """Return the reference variables in the collections of a graph, by their operations."""
    keys = collections.GraphKeys
    members = graph.get_collection(keys.LOCAL_VARIABLES) + graph.get_collection(
        keys.GLOBAL_VARIABLES
    )
    return {
        each.op: each
        for each in members
        if hasattr(each, "initialized_value") and hasattr(each, "op")
    }


def _copy(
    op: graphs.Operation, name: str, copies: dict[graphs.Operation, list[graphs.Tensor]]
) -> list[graphs.Tensor]:
    inputs = [
        copies[tensor.op][tensor.value_index] if tensor.op in copies else tensor
        for tensor in op.inputs
    ]
    types = [output.dtype.base_dtype for output in op.outputs]
    graph: Any = op.graph
    outputs: list[graphs.Tensor] = graph.create_op(
        op.type, inputs, types, name=f"{op.name}_{name}".replace(":", "_"), attrs=op.node.attrs
    ).outputs
    return outputs
