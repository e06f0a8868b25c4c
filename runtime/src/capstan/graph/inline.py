"""Write the functions that nodes call in the place of the calls.

`PartitionedCall` becomes the nodes of its function. `If` and `Case` become switches before the
nodes of each function, and merges after them (TensorFlow: core/common_runtime/lower_if_op.cc).
Only loops still call functions afterwards. An `IdentityN` takes the name of the call, so that other
nodes and the client find its outputs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from capstan import errors
from capstan.core import attr_value, dtypes, function
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.framework.ops import nodes as build
from capstan.graph import infer, order

_CALLS = (facts.Role.CALL, facts.Role.IF, facts.Role.CASE)


def inline(
    nodes: dict[str, ir.Node], library: function.Library, roots: Iterable[str]
) -> dict[str, ir.Node]:
    """Return the nodes that `roots` need, in an order as that of `order.topological`.

    Only loops call functions in the new graph. A graph without other calls is returned as it is.

    Raises:
        NotFoundError: the library lacks a function.
        InvalidArgumentError: a function does not fit its call, or calls itself.
    """
    if not any(opdef.role(node.op) in _CALLS for node in nodes.values()):
        return nodes
    inlining = _Inlining(library, set(nodes))
    for node in nodes.values():
        inlining.add(node, ())
    return order.topological(inlining.graph, roots)


class _Inlining:
    """The new graph under construction."""

    def __init__(self, library: function.Library, used: set[str]) -> None:
        self.graph: dict[str, ir.Node] = {}
        self._library = library
        self._used = used

    def add(self, node: ir.Node, callers: tuple[str, ...]) -> None:
        """Add a node, or what replaces it. `callers` are the functions around it."""
        role = opdef.role(node.op)
        if role is facts.Role.CALL:
            infer.arguments(node)
            called = self._function(node, node.attrs["f"], callers)
            results, done = self._body(node, called, node.inputs, node.control, callers)
            self._outputs(node, results, done)
        elif role is facts.Role.IF:
            infer.arguments(node)
            if node.attrs["Tcond"] is not dtypes.bool_:
                raise _wrong(node, "the condition must be of type bool")
            branches = [node.attrs["then_branch"], node.attrs["else_branch"]]
            self._choose(node, branches, node.inputs[0], callers)
        elif role is facts.Role.CASE:
            infer.arguments(node)
            if not node.attrs["branches"]:
                raise _wrong(node, "it has no branches")
            self._choose(node, node.attrs["branches"], None, callers)
        else:
            self.graph[node.name] = node

    def _choose(
        self,
        node: ir.Node,
        branches: Sequence[object],
        decision: ir.Edge | None,
        callers: tuple[str, ...],
    ) -> None:
        """Write a choice: branch 0 if `decision` is true, or the branch with the number given."""
        outcomes: list[tuple[list[ir.Edge], ir.Edge]] = []
        number, inputs = node.inputs[0], list(node.inputs[1:])
        kinds = node.attrs["Tin"]
        pivots: tuple[str, ...] = ()
        for place, branch in enumerate(branches[:-1]):
            choice = decision or self._equals(node, number, place)
            sides = [
                self._switch(node, edge, choice, dtype)
                for edge, dtype in zip(inputs, kinds, strict=True)
            ]
            gate = self._switch(node, choice, choice, dtypes.bool_)
            taken = self._pivot(node, ir.Edge(gate, 1))
            inputs = [ir.Edge(side, 1) for side in sides]
            outcomes.append(self._branch(node, branch, inputs, taken, callers))
            inputs = [ir.Edge(side, 0) for side in sides]
            if decision is None:
                number = ir.Edge(self._switch(node, number, choice, dtypes.int32), 0)
            pivots = (self._pivot(node, ir.Edge(gate, 0)),)
        if not pivots:
            called = self._function(node, branches[0], callers)
            results, done = self._body(node, called, inputs, node.control, callers)
            self._outputs(node, results, done)
            return
        results, signal = self._branch(node, branches[-1], inputs, pivots[0], callers)
        while outcomes:
            others, other_signal = outcomes.pop()
            results = [
                self._merge(node, pair, dtype)
                for pair, dtype in zip(
                    zip(results, others, strict=True), node.attrs["Tout"], strict=True
                )
            ]
            signal = self._merge(node, (signal, other_signal), dtypes.bool_)
        self._outputs(node, results, (signal.node,))

    def _branch(
        self,
        node: ir.Node,
        branch: object,
        inputs: Sequence[ir.Edge],
        pivot: str,
        callers: tuple[str, ...],
    ) -> tuple[list[ir.Edge], ir.Edge]:
        """Write one branch. Return its results, and a tensor that is alive when it has run."""
        called = self._function(node, branch, callers)
        results, done = self._body(node, called, inputs, (*node.control, pivot), callers)
        if len(results) != len(node.attrs["Tout"]):
            raise _wrong(
                node,
                f"it expects {len(node.attrs['Tout'])} results of function '{called.name}', which "
                f"returns {len(results)}",
            )
        return results, self._signal(node, (*done, pivot))

    def _body(
        self,
        node: ir.Node,
        called: function.Function,
        inputs: Sequence[ir.Edge],
        waits: tuple[str, ...],
        callers: tuple[str, ...],
    ) -> tuple[list[ir.Edge], tuple[str, ...]]:
        """Add the nodes of a function. Return its results, and the nodes that it must run."""
        if len(inputs) != len(called.arguments):
            raise _wrong(
                node,
                f"it passes {len(inputs)} arguments to function '{called.name}', which takes "
                f"{len(called.arguments)}",
            )
        names = {name: self._free(f"{node.name}/{name}") for name in called.nodes}
        arguments = {
            argument.edge: edge for argument, edge in zip(called.arguments, inputs, strict=True)
        }

        def moved(edge: ir.Edge) -> ir.Edge:
            return arguments.get(edge) or ir.Edge(names.get(edge.node, edge.node), edge.index)

        for inner in called.nodes.values():
            is_source = not inner.control and all(edge in arguments for edge in inner.inputs)
            # A constant without control dependencies needs no value and no branch.
            is_free = infer.is_constant(inner) and not called.results.count(ir.Edge(inner.name))
            control = tuple(names.get(name, name) for name in inner.control)
            attrs = inner.attrs
            if opdef.role(inner.op) is facts.Role.ENTER:
                frame = attr_value.text(attrs.get("frame_name", b""))
                attrs = {**attrs, "frame_name": f"{node.name}/{frame}".encode()}
            self.add(
                replace(
                    inner,
                    name=names[inner.name],
                    inputs=tuple(map(moved, inner.inputs)),
                    control=(*control, *waits) if is_source and not is_free else control,
                    device=node.device,
                    attrs=attrs,
                ),
                (*callers, called.name),
            )
        done = tuple(names[name] for name in called.control_results)
        return list(map(moved, called.results)), done

    def _outputs(self, node: ir.Node, results: Sequence[ir.Edge], waits: Iterable[str]) -> None:
        kinds = node.attrs["Tout"]
        if len(results) != len(kinds):
            raise _wrong(node, f"it expects {len(kinds)} results and gets {len(results)}")
        control = tuple(dict.fromkeys((*waits, *node.control)))
        self.graph[node.name] = (
            build.identities(node.name, results, kinds, node.device, control)
            if results
            else build.no_op(node.name, node.device, control)
        )

    def _function(
        self, node: ir.Node, reference: object, callers: tuple[str, ...]
    ) -> function.Function:
        if not isinstance(reference, function.Reference) or reference.name not in self._library:
            name = getattr(reference, "name", reference)
            raise errors.NotFoundError(
                None, None, f"Function {name} of {{{{node {node.name}}}}} is not in the library"
            )
        if reference.name in callers:
            raise _wrong(node, f"function '{reference.name}' calls itself")
        return self._library[reference.name]

    def _equals(self, node: ir.Node, number: ir.Edge, place: int) -> ir.Edge:
        wanted = np.array(place, np.int32)
        name = self._free(f"{node.name}/branch")
        value = self._add(build.constant(name, wanted, dtypes.int32, node.device))
        name = self._free(f"{node.name}/is_branch")
        is_branch = build.equal(name, number, ir.Edge(value), dtypes.int32, node.device)
        return ir.Edge(self._add(is_branch))

    def _switch(self, node: ir.Node, data: ir.Edge, decision: ir.Edge, dtype: dtypes.DType) -> str:
        name = self._free(f"{node.name}/switch")
        return self._add(build.switch(name, data, decision, dtype, node.device))

    def _pivot(self, node: ir.Node, side: ir.Edge) -> str:
        name = self._free(f"{node.name}/pivot")
        return self._add(build.identity(name, side, dtypes.bool_, node.device))

    def _signal(self, node: ir.Node, waits: Sequence[str]) -> ir.Edge:
        """Return a tensor that is alive when the nodes `waits` have run."""
        last = ir.Edge(waits[-1])
        if len(waits) == 1:
            return last
        name = self._free(f"{node.name}/done")
        return ir.Edge(self._add(build.identity(name, last, dtypes.bool_, node.device, waits)))

    def _merge(self, node: ir.Node, sides: tuple[ir.Edge, ir.Edge], dtype: dtypes.DType) -> ir.Edge:
        name = self._free(f"{node.name}/merge")
        return ir.Edge(self._add(build.merge(name, sides, dtype, node.device)))

    def _add(self, node: ir.Node) -> str:
        """Add a node of a free name, and return the name."""
        self.graph[node.name] = node
        return node.name

    def _free(self, wanted: str) -> str:
        name, number = wanted, 0
        while name in self._used:
            number += 1
            name = f"{wanted}_{number}"
        self._used.add(name)
        return name


def _wrong(node: ir.Node, reason: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(
        None, None, f"Node '{node.name}' ({node.op}) cannot run: {reason}"
    )
