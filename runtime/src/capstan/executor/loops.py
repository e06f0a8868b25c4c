"""Loops in generated code: a `While` becomes a Python `while` in its segment.

The nodes of the loop's functions are lines of the `while`, with names that no other function uses.
Every iteration uses the same buffers. Only a value that the next iteration may read gets new
memory. For example:

        t3_0, t3_1, = k0, f0              # 'while/LoopCond'
        while True:  # 'while/LoopCond'
            if stop: raise stop[0]        # 'while/LoopCond'
            w4_t0_0 = t3_0 < k1           # 'while/Less'
            if not w4_t0_0: break         # 'while/LoopCond'
            w7_t0_0 = t3_0 + k2           # 'while/add'
            w7_t1_0 = k3(t3_1, f1)        # 'while/mul'
            t3_0, t3_1, = w7_t0_0, w7_t1_0,    # 'while/LoopCond'
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from capstan import errors
from capstan.core import function
from capstan.core import node as ir
from capstan.executor import aliases, branches, source, values
from capstan.framework import facts, opdef
from capstan.graph import guards, infer
from capstan.partition import parts


@dataclass(frozen=True, slots=True)
class Scope:
    """A part whose nodes are being written."""

    part: parts.Part
    out: source.Writer
    values: values.Values
    aliases: aliases.Aliases
    branches: branches.Branches


class Body(Protocol):
    """The writer of the nodes of a function."""

    @property
    def scope(self) -> Scope: ...

    def write_nodes(self) -> None: ...


Enter = Callable[[parts.Part, source.Writer], Body]
"""Takes a function as a part, and a writer for its lines. Returns the writer of its nodes."""


def write(node: ir.Node, caller: Scope, enter: Enter) -> None:
    """Write a loop, and record its outputs.

    Raises:
        NotFoundError: an op or a kernel in its functions does not exist.
    """
    cond, body = (part_of(node, attribute, caller.part) for attribute in ("cond", "body"))
    carried = [index for index, edge in enumerate(body.feeds) if body.fetches[index] != edge]
    names = {index: caller.values.name(index) for index in carried}
    condition = caller.branches.condition(ir.Edge(node.name))
    if condition:
        with caller.out.block(f"if {condition}:", node.name):
            _loop(node, caller, enter, (cond, body), names)
    else:
        _loop(node, caller, enter, (cond, body), names)
    for index, edge in enumerate(node.inputs):
        output = ir.Edge(node.name, index)
        if output in caller.part.feeds or not caller.values.is_read(output):
            continue
        if index not in names:
            name = caller.values.name(index)
            text = f"{name} = {caller.aliases.argument(edge, takes_ref=True)}"
            caller.out.statement(text, node.name, condition)
            caller.aliases.share(edge, output)
            names[index] = name
        caller.values.hold(output, names[index])


def _loop(
    node: ir.Node,
    caller: Scope,
    enter: Enter,
    functions: tuple[parts.Part, parts.Part],
    names: dict[int, str],
) -> None:
    out = caller.out
    targets = source.items(tuple(names.values()))
    if names:
        first = source.items(_first(index, node, caller, functions[1]) for index in names)
        out.statement(f"{targets} = {first}", node.name, "")
    arguments = {**_scalars(node, caller, functions, names), **names}
    with out.loop(node.name):
        (decision,) = _call(node, caller, enter, functions[0], arguments)
        (predicate,) = functions[0].fetches
        if functions[0].tensor_shapes.get(predicate) != ():
            decision = branches.decision(decision, predicate, functions[0], out)
        out.statement(f"if not {decision}: break", node.name, "")
        results = _call(node, caller, enter, functions[1], arguments)
        following = source.items(results[index] for index in names)
        out.statement(f"{targets} = {following}" if names else "pass", node.name, "")


def _first(index: int, node: ir.Node, caller: Scope, body: parts.Part) -> str:
    """Return the expression for the first value of a loop variable."""
    text = caller.aliases.separate(node.inputs[index])
    return f"{text}[()]" if _is_number(body, body.feeds[index]) else text


def _scalars(
    node: ir.Node,
    caller: Scope,
    functions: tuple[parts.Part, parts.Part],
    names: dict[int, str],
) -> dict[int, str]:
    """Write the numbers that the loop captures as NumPy scalars, which are faster than arrays.

    Return their names by index. A number in the memory of a variable is left out, because it may
    change.
    """
    found: dict[int, str] = {}
    body = functions[1]
    read = {
        index
        for part in functions
        for index, edge in enumerate(part.feeds)
        if any(edge in each.inputs for each in part.nodes)
    }
    for index in sorted(read - names.keys()):
        edge = node.inputs[index]
        text = caller.values[edge]
        if _is_number(body, body.feeds[index]) and caller.aliases.separate(edge) == text:
            found[index] = f"{caller.out.inner().prefix}c{index}"
            caller.out.statement(f"{found[index]} = {text}[()]", node.name, "")
    return found


def _is_number(part: parts.Part, edge: ir.Edge) -> bool:
    """Return whether a tensor is a number or a truth value without dimensions."""
    dtype = part.tensor_dtypes.get(edge)
    return part.tensor_shapes.get(edge) == () and source.plannable((), dtype)


def _call(
    node: ir.Node, caller: Scope, enter: Enter, called: parts.Part, names: dict[int, str]
) -> list[str]:
    """Write the nodes of a function, and return the expressions for its results."""
    body = enter(called, caller.out.inner())
    scope = body.scope
    for index, edge in enumerate(called.feeds):
        if index in names:
            scope.values.put(edge, names[index])
        else:
            scope.aliases.adopt(edge, caller.aliases, node.inputs[index])
    body.write_nodes()
    fetches = scope.part.fetches
    for edge in fetches:
        condition = scope.branches.condition(edge)
        if condition:
            refusal = f"{scope.out.bind(refuse)}({edge.tensor!a})"
            scope.out.statement(f"({condition}) or {refusal}", node.name, "")
    return [scope.aliases.separate(edge) for edge in fetches]


def refuse(tensor: str) -> None:
    raise errors.InvalidArgumentError(
        None,
        None,
        f"The function needs {tensor}, which is in a branch that this call did not take",
    )


def part_of(node: ir.Node, attribute: str, caller: parts.Part) -> parts.Part:
    """Return a function as a part: its arguments are the feeds, its results the fetches."""
    called: function.Function = caller.functions[node.attrs[attribute].name]
    known = infer.Knowledge(
        {
            argument.edge: infer.Fed(argument.dtype, argument.shape, argument.is_ref)
            for argument in called.arguments
        }
    )
    for each in called.nodes.values():
        known.learn(each)
    # The constants of a function may be on any task. The other nodes are on the task of the loop.
    nodes = (
        replace(each, device=node.device) if infer.is_constant(each) else each
        for each in called.nodes.values()
    )
    return parts.Part(
        task=caller.task,
        nodes=tuple(nodes),
        legs=dict.fromkeys(called.nodes, 0),
        feeds=tuple(argument.edge for argument in called.arguments),
        fetches=called.results,
        tensor_shapes=known.tensor_shapes,
        tensor_dtypes=known.tensor_dtypes,
        functions=caller.functions,
    )


def carried_edges(
    part: parts.Part, shares: Callable[[ir.Node], bool], results: Iterable[ir.Edge]
) -> frozenset[ir.Edge]:
    """Return the tensors of a function whose memory its results may share.

    `shares(node)` says whether the outputs of a node may lie in the memory of its inputs.
    """
    producers = {node.name: node for node in part.nodes}
    found: set[ir.Edge] = set()
    pending = list(results)
    while pending:
        edge = pending.pop()
        node = producers.get(edge.node)
        if edge in found or node is None:
            continue
        found.add(edge)
        if opdef.role(node.op) is facts.Role.WHILE:
            pending.append(node.inputs[edge.index])
        elif guards.is_merge(node) or opdef.role(node.op) is facts.Role.ITERATIONS:
            pending += node.inputs
        elif opdef.role(node.op) is facts.Role.IDENTITIES:
            pending.append(node.inputs[edge.index])
        elif shares(node) and node.inputs:
            pending.append(node.inputs[0])
    return frozenset(found)
