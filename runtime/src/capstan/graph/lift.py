"""Lift loops: each frame becomes one node, so that the graph is acyclic.

TensorFlow 1 builds a loop as a frame with these nodes:

* `Enter` brings a tensor in.
* `Merge` takes the first value of a loop variable, or the value for the next iteration.
* `LoopCond` decides whether another iteration runs.
* `Switch` sends a loop variable to the body, or to its `Exit`.
* `NextIteration` sends the new value of a loop variable back to its `Merge`.

This pass replaces a frame by a node `While` that calls two functions: one computes the condition,
the other the next values of the loop variables. The `While` has the name of the `LoopCond`. Each
`Exit` becomes an `Identity` of an output of the `While`. Inner frames are lifted first. Later
passes see no frames.

Constant `Enter` nodes become arguments that every iteration passes on. Branches inside a loop stay
`Switch` and `Merge`.

A frame without a `LoopCond` is not a loop: its `Enter` and `Exit` become an `Identity` each. Its
nodes may have a `NextIteration` if no second iteration gets to an `Exit`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from capstan.core import function
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.framework.ops import nodes as build
from capstan.graph import frames, loop_frame, loop_functions, order
from capstan.graph.frames import Role, refused, role_of


def lift(
    nodes: Mapping[str, ir.Node], feeds: Collection[ir.Edge], roots: Iterable[str]
) -> tuple[dict[str, ir.Node], dict[str, function.Function]]:
    """Return the graph without frames, in topological order, and the functions of its loops.

    `nodes` are the nodes that a step needs, in the order of `prune.prune`, and `roots` are the
    nodes that the step fetches or targets. A graph without frames is returned as it is.

    Raises:
        InvalidArgumentError: `while_loop` never builds such a frame. The message names the node.
    """
    if not any(role_of(node) in frames.FRAME_ROLES for node in nodes.values()):
        return dict(nodes), {}
    paths = frames.paths(nodes, frozenset(feeds))
    graph, functions = dict(nodes), dict[str, function.Function]()
    for path in sorted(set(paths.values()), key=lambda path: (-len(path), path)):
        if path:
            functions.update(_lift_frame(path, graph, paths))
    return order.topological(graph, [name for name in roots if name in graph]), functions


def _lift_frame(
    path: frames.Path, graph: dict[str, ir.Node], paths: dict[str, frames.Path]
) -> dict[str, function.Function]:
    """Replace the nodes of a frame whose inner frames are lifted.

    Return the functions of its loop.
    """
    members = {name: graph[name] for name, at in paths.items() if at == path}
    decisions = loop_frame.of_role(members, Role.LOOP_COND)
    if not decisions:
        _unwrap(members, graph)
        made, functions = list(members), {}
    elif len(decisions) > 1:
        raise refused(
            decisions[1],
            f'Invalid loop structure: Loop "{"/".join(path)}" has more than one '
            f"LoopCond node: {{{{node {decisions[1].name}}}}} and "
            f"{{{{node {decisions[0].name}}}}}. This is an internal bug, please file a bug "
            "report with instructions on how to reproduce the error.",
        )
    else:
        frame = loop_frame.read(members, decisions[0])
        cond, body = loop_functions.cond_and_body(frame)
        made, functions = _replace(frame, graph, cond, body), {cond.name: cond, body.name: body}
    paths.update((name, path[:-1]) for name in made)
    return functions


def _unwrap(members: Mapping[str, ir.Node], graph: dict[str, ir.Node]) -> None:
    """Replace the nodes that only frames have by identities, in a frame without a loop."""
    if loop_frame.of_role(members, Role.NEXT_ITERATION):
        _check_runs_once(members)
    for name, node in members.items():
        if role_of(node) is Role.MERGE:
            graph[name] = _without_iterations(node, members)
        elif role_of(node) in (Role.ENTER, Role.EXIT, Role.NEXT_ITERATION):
            make = build.ref_identity if _is_reference(node) else build.identity
            source, dtype = node.inputs[0], node.attrs["T"]
            graph[name] = make(name, source, dtype, node.device, node.control)


def _check_runs_once(members: Mapping[str, ir.Node]) -> None:
    """Raise InvalidArgumentError unless only the first iteration of a frame has results.

    A tensor that enters the frame, and is neither a constant nor the first value of a loop
    variable, has a value in the first iteration only. A later iteration does not run the nodes that
    need the tensor.
    """
    once = set[str]()
    for name, node in members.items():
        role = role_of(node)
        sources = [*(edge.node for edge in node.inputs), *node.control]
        if role is Role.ENTER:
            runs_once = not node.attrs.get("is_constant", False)
        elif role is Role.MERGE:
            runs_once = all(source in once for source in sources)
        else:
            runs_once = any(source in once for source in sources)
        if runs_once:
            once.add(name)
        elif role is Role.NEXT_ITERATION:
            raise refused(node, "a NextIteration must be in a loop that has a LoopCond")
        elif role is Role.EXIT or _has_effect(node):
            raise refused(node, "the node runs in each iteration, and the loop has no LoopCond")


def _has_effect(node: ir.Node) -> bool:
    return not opdef.is_defined(node.op) or opdef.lookup(node.op).effect != facts.PURE


def _without_iterations(merge: ir.Node, members: Mapping[str, ir.Node]) -> ir.Node:
    """Return a `Merge` that takes no value of a further iteration."""
    sides = tuple(
        edge
        for edge in merge.inputs
        if edge.node not in members or role_of(members[edge.node]) is not Role.NEXT_ITERATION
    )
    return replace(merge, inputs=sides, attrs={**merge.attrs, "N": len(sides)})


def _is_reference(node: ir.Node) -> bool:
    return opdef.lookup(node.op).output_arguments[0].is_ref


def _replace(
    frame: loop_frame.LoopFrame,
    graph: dict[str, ir.Node],
    cond: function.Function,
    body: function.Function,
) -> list[str]:
    """Replace the nodes of a frame by the `While` and the identities of its outputs.

    Return the names of these nodes.
    """
    decision, arguments = frame.decision, frame.arguments
    is_stateful = loop_functions.change_state(frame, graph, (cond, body))
    outputs = {ir.Edge(variable.merge.name): at for at, variable in enumerate(frame.variables)}
    finals = {
        ir.Edge(switch.name): ir.Edge(decision.name, outputs[switch.inputs[0]])
        for switch in frame.switches
    }
    for name, node in frame.members.items():
        if frame.is_copy(name) and node.inputs[0] in finals:
            finals[ir.Edge(name)] = finals[node.inputs[0]]
    waits = dict.fromkeys(wait for enter in frame.of_role(Role.ENTER) for wait in enter.control)
    for name in frame.members.keys() - cond.nodes.keys() - body.nodes.keys():
        if frame.must_run(name) and ir.Edge(name) not in finals:
            raise refused(frame.members[name], "no iteration of its loop needs the node")
    for name in frame.members:
        del graph[name]
    exits = frame.of_role(Role.EXIT)
    for node in exits:
        if node.inputs[0] not in finals or node.control:
            raise refused(node, "an Exit must take the final value of a loop variable")
        graph[node.name] = _identity(node, finals[node.inputs[0]], ())
    graph[decision.name] = build.while_loop(
        decision.name,
        arguments.inputs,
        [argument.dtype for argument in arguments.taken],
        cond.name,
        body.name,
        decision.device,
        tuple(waits),
        is_stateful=is_stateful,
    )
    return [decision.name, *(node.name for node in exits)]


def _identity(node: ir.Node, source: ir.Edge, control: Sequence[str]) -> ir.Node:
    return build.identity(node.name, source, node.attrs["T"], node.device, control)
