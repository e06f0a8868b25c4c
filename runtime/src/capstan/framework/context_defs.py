"""Conditionals and loops as protocol buffers. A MetaGraphDef holds them in the collections
`cond_context` and `while_context` (`to_proto` and `from_proto` of python/ops/control_flow_ops.py).

A program that imports a MetaGraphDef needs them to compute gradients of its loops.
"""

from collections.abc import Mapping
from typing import Any

from capstan.framework import control_context, facts
from capstan.framework.cond_context import CondContext
from capstan.framework.while_context import WhileContext


def decode_cond(message: Any, graph: Any, import_scope: str | None = None) -> CondContext:
    """Return the branch that a CondContextDef describes, with the contexts inside the branch.

    `graph` must already have the operations that the message names. If there is an `import_scope`,
    their names must begin with this scope.

    Raises:
        KeyError: the graph lacks a tensor that the message names.
    """
    pred = _tensor(graph, message.pred_name, import_scope)
    pivot = _tensor(graph, message.pivot_name, import_scope)
    context = CondContext(pred, pivot, bool(message.branch))
    _restore(context, message, graph, import_scope)
    return context


def decode_while(message: Any, graph: Any, import_scope: str | None = None) -> WhileContext:
    """Return the loop that a WhileContextDef describes, with the contexts inside the loop.

    `graph` must already have the operations that the message names. If there is an `import_scope`,
    their names must begin with this scope. The attribute `frame_name` of each Enter of the loop is
    then set to the name of the new context.

    Raises:
        KeyError: the graph lacks a tensor that the message names.
    """

    def tensor(name: str) -> Any:
        return _tensor(graph, name, import_scope)

    limit = message.maximum_iterations_name
    context = WhileContext(
        graph,
        tensor(limit) if limit else None,
        message.parallel_iterations,
        message.back_prop,
        message.swap_memory,
    )
    context.pivot = tensor(message.pivot_name)
    context.pivot_for_pred = tensor(message.pivot_for_pred_name)
    context.pivot_for_body = tensor(message.pivot_for_body_name)
    context.exits = [tensor(name) for name in message.loop_exit_names]
    context.enters = [tensor(name) for name in message.loop_enter_names]
    _restore(context, message, graph, import_scope)
    if import_scope:
        for op in {graph.as_graph_element(name).op for name in context.known_names}:
            if control_context.role(op) is facts.Role.ENTER and _is_in(op, context):
                op._set_attr("frame_name", context.name.encode())
    return context


def _is_in(op: Any, context: WhileContext) -> bool:
    return op.control_flow_context is context


def _restore(
    context: control_context.ControlFlowContext, message: Any, graph: Any, import_scope: str | None
) -> None:
    context.name = _prepended(message.context_name, import_scope)
    values = message.values_def
    known = {_prepended(name, import_scope) for name in values.values}
    replaced: Mapping[str, Any] = {
        _prepended(entry.key, import_scope): _tensor(graph, entry.value, import_scope)
        for entry in values.external_values
    }
    context.restore(known, replaced)
    for name in known - replaced.keys():
        graph.as_graph_element(name).op.control_flow_context = context
    with context.entered():
        for nested in message.nested_contexts:
            if nested.HasField("while_ctxt"):
                decode_while(nested.while_ctxt, graph, import_scope)
            else:
                decode_cond(nested.cond_ctxt, graph, import_scope)


def _tensor(graph: Any, name: str, import_scope: str | None) -> Any:
    return graph.as_graph_element(_prepended(name, import_scope))


def _prepended(name: str, scope: str | None) -> str:
    return f"{scope}/{name}" if scope else name
