"""The two functions of a loop: one computes its condition, the other the next loop variables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from capstan.core import dtypes, function
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import infer
from capstan.graph.frames import Role, refused, role_of
from capstan.graph.loop_frame import LoopFrame


def cond_and_body(frame: LoopFrame) -> tuple[function.Function, function.Function]:
    """Return the functions of a loop. Both take the loop variables and the captured tensors.

    Raises:
        InvalidArgumentError: `while_loop` never builds such a frame.
    """
    decision, arguments = frame.decision, frame.arguments
    waits = [wait for switch in frame.switches for wait in switch.control]
    cond = _function(frame, f"{decision.name}/cond", decision.inputs, (*decision.control, *waits))
    following = [variable.next_iteration for variable in frame.variables]
    constants = [argument.edge for argument in arguments.taken[len(frame.variables) :]]
    body = _function(
        frame,
        f"{decision.name}/body",
        [node.inputs[0] for node in following],
        [wait for node in following for wait in node.control],
    )
    body = replace(body, results=(*body.results, *constants))
    _check_shared(cond, body)
    return cond, body


def change_state(
    frame: LoopFrame,
    graph: Mapping[str, ir.Node],
    functions: Sequence[function.Function],
) -> bool:
    """Return whether a call of the functions may change state that outlives the step."""
    return any(
        _changes(node, frame, graph) for called in functions for node in called.nodes.values()
    )


def _function(
    frame: LoopFrame, name: str, results: Sequence[ir.Edge], control: Sequence[str]
) -> function.Function:
    """Return the function that computes `results`, and runs the nodes `control`."""
    members, edges = frame.members, frame.arguments.edges
    found: dict[str, ir.Node] = {}
    targets = [each for each in dict.fromkeys(control) if frame.must_run(each)]
    pending = [edge.node for edge in results if edge not in edges] + targets
    while pending:
        node = members.get(pending.pop())
        if node is None or node.name in found:
            continue
        if not frame.computes(node.name):
            raise refused(node, "only an Exit may read this output of a loop's node")
        inputs = tuple(edges.get(edge, edge) for edge in node.inputs)
        waits = tuple(each for each in node.control if frame.must_run(each))
        found[node.name] = replace(node, inputs=inputs, control=waits)
        pending += [edge.node for edge in node.inputs if edge not in edges]
        pending += waits
    return function.Function(
        name,
        tuple(frame.arguments.taken),
        tuple(edges.get(edge, edge) for edge in results),
        {each: found[each] for each in members if each in found},
        tuple(targets),
    )


def _check_shared(cond: function.Function, body: function.Function) -> None:
    """Raise an error if both functions would run a node that has an effect."""
    for name in cond.nodes.keys() & body.nodes.keys():
        node = cond.nodes[name]
        if opdef.is_defined(node.op) and opdef.lookup(node.op).effect != facts.PURE:
            raise refused(node, "the condition of a loop runs the node, and the body reads it")


def _changes(node: ir.Node, frame: LoopFrame, graph: Mapping[str, ir.Node]) -> bool:
    if not opdef.is_defined(node.op):
        return True
    effect = opdef.lookup(node.op).effect
    if not effect.changes:
        return effect.blocks or effect.calls
    original = frame.members[node.name]
    inputs, _ = infer.arguments(original)
    return any(
        _outlives_step(edge, graph)
        for edge, (dtype, is_ref) in zip(original.inputs, inputs, strict=True)
        if is_ref or dtype is dtypes.resource
    )


def _outlives_step(edge: ir.Edge, graph: Mapping[str, ir.Node]) -> bool:
    """Return whether `edge` is, or may be, the handle of state that outlives the step."""
    node = graph.get(edge.node)
    while node is not None and node.inputs and role_of(node) in (Role.ENTER, Role.IDENTITY):
        node = graph.get(node.inputs[0].node)
    # The ops whose state ends with the step have no role.
    return node is None or role_of(node) is not None or not _makes(node)


def _makes(node: ir.Node) -> bool:
    return opdef.is_defined(node.op) and opdef.lookup(node.op).effect.makes
