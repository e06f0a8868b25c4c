"""Replace each call of a function by the nodes of the function.

`PartitionedCall` becomes the nodes of its function. `If` and `Case` become switches before the
nodes of each function, and merges after them (TensorFlow: core/common_runtime/lower_if_op.cc).
After this pass only loops call functions. An `IdentityN` with the name of the call returns the
results, so that other nodes and the client find them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from capstan import errors
from capstan.core import attr_value, dtypes, function
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.framework.ops import nodes as build
from capstan.graph import infer, order
from capstan.graph.inlined_graph import Around, InlinedGraph, wrong

_CALLS = (facts.Role.CALL, facts.Role.IF, facts.Role.CASE)

Place = Callable[[Mapping[str, ir.Node], Mapping[str, str]], dict[str, ir.Node]]
"""Takes a graph, and the device of the call for each node of a function's body, by node name.

Returns the nodes of the graph, all with full device names.
"""


def inline(
    nodes: dict[str, ir.Node],
    library: function.Library,
    roots: Iterable[str],
    place: Place,
    caller: str = "",
) -> dict[str, ir.Node]:
    """Return the nodes that `roots` need, in the order of `order.topological`.

    Only loops call functions in the new graph, and all of its nodes have full device names. If
    `caller` is empty, `nodes` have full device names, and a graph without calls is returned as it
    is. Otherwise `nodes` are the body of a function that a node on the device `caller` calls.

    Raises:
        NotFoundError: the library lacks a function.
        InvalidArgumentError: a function does not fit its call, calls itself, or asks for a device
            that does not exist.
    """
    if not caller and not any(opdef.role(node.op) in _CALLS for node in nodes.values()):
        return nodes
    bodies = (each.nodes for each in library.values())
    has_loops = any(
        opdef.role(node.op) is facts.Role.ENTER
        for graph in (nodes, *bodies)
        for node in graph.values()
    )
    inlining = _Inlining(library, set(nodes), has_loops)
    for node in nodes.values():
        inlining.add(node, Around((), caller))
    return order.topological(place(inlining.graph.nodes, inlining.graph.devices), roots)


class _Inlining:
    """Adds nodes to the new graph, in place of the calls of functions."""

    def __init__(self, library: function.Library, used: set[str], has_loops: bool) -> None:
        self.graph = InlinedGraph(used)
        self._library = library
        self._has_loops = has_loops

    def add(self, node: ir.Node, around: Around) -> None:
        """Add a node to the new graph. A call adds the nodes that replace it."""
        role = opdef.role(node.op)
        if role not in _CALLS:
            self.graph.add(node, around)
            return
        infer.arguments(node)
        if role is facts.Role.CALL:
            called = self._function(node, node.attrs["f"], around)
            results, done = self._body(node, called, node.inputs, node.control, around)
            self._outputs(node, results, done, around)
        elif role is facts.Role.IF:
            branches = [node.attrs["then_branch"], node.attrs["else_branch"]]
            self._choose(node, branches, self.graph.decision(node, around), around)
        elif not node.attrs["branches"]:
            raise wrong(node, "it has no branches")
        else:
            self._choose(node, node.attrs["branches"], None, around)

    def _choose(
        self,
        node: ir.Node,
        branches: Sequence[object],
        decision: ir.Edge | None,
        around: Around,
    ) -> None:
        """Add the nodes that run one of `branches`.

        If `decision` is given, branch 0 runs if its value is true. Otherwise branch 1 runs. If
        `decision` is None, the first input of `node` is the number of the branch.
        """
        outcomes: list[tuple[list[ir.Edge], ir.Edge]] = []
        number, inputs = node.inputs[0], list(node.inputs[1:])
        kinds = node.attrs["Tin"]
        pivots: tuple[str, ...] = ()
        for place, branch in enumerate(branches[:-1]):
            choice = decision or self.graph.equals(node, number, place, around)
            sides = [
                self.graph.switch(node, edge, choice, dtype, around)
                for edge, dtype in zip(inputs, kinds, strict=True)
            ]
            gate = self.graph.switch(node, choice, choice, dtypes.bool_, around)
            taken = self.graph.pivot(node, ir.Edge(gate, 1), around)
            inputs = [ir.Edge(side, 1) for side in sides]
            outcomes.append(self._branch(node, branch, inputs, taken, around))
            inputs = [ir.Edge(side, 0) for side in sides]
            if decision is None:
                number = ir.Edge(self.graph.switch(node, number, choice, dtypes.int32, around), 0)
            pivots = (self.graph.pivot(node, ir.Edge(gate, 0), around),)
        if not pivots:
            called = self._function(node, branches[0], around)
            results, done = self._body(node, called, inputs, node.control, around)
            self._outputs(node, results, done, around)
            return
        results, signal = self._branch(node, branches[-1], inputs, pivots[0], around)
        while outcomes:
            others, other_signal = outcomes.pop()
            results = [
                self.graph.merge(node, pair, dtype, around)
                for pair, dtype in zip(
                    zip(results, others, strict=True), node.attrs["Tout"], strict=True
                )
            ]
            signal = self.graph.merge(node, (signal, other_signal), dtypes.bool_, around)
        self._outputs(node, results, (signal.node,), around)

    def _branch(
        self,
        node: ir.Node,
        branch: object,
        inputs: Sequence[ir.Edge],
        pivot: str,
        around: Around,
    ) -> tuple[list[ir.Edge], ir.Edge]:
        """Add the nodes of one branch. Return its results, and a tensor that is alive if it ran."""
        called = self._function(node, branch, around)
        results, done = self._body(node, called, inputs, (*node.control, pivot), around)
        if len(results) != len(node.attrs["Tout"]):
            raise wrong(
                node,
                f"it expects {len(node.attrs['Tout'])} results of function '{called.name}', which "
                f"returns {len(results)}",
            )
        return results, self.graph.signal(node, (*done, pivot), around)

    def _body(
        self,
        node: ir.Node,
        called: function.Function,
        inputs: Sequence[ir.Edge],
        waits: tuple[str, ...],
        around: Around,
    ) -> tuple[list[ir.Edge], tuple[str, ...]]:
        """Add the nodes of a function.

        Return the results, and the names of the nodes that must have run when the call ends.
        """
        if len(inputs) != len(called.arguments):
            raise wrong(
                node,
                f"it passes {len(inputs)} arguments to function '{called.name}', which takes "
                f"{len(called.arguments)}",
            )
        within = around.within(node, called.name)
        names = {name: self.graph.free_name(f"{node.name}/{name}") for name in called.nodes}
        arguments = {
            argument.edge: edge for argument, edge in zip(called.arguments, inputs, strict=True)
        }

        def moved(edge: ir.Edge) -> ir.Edge:
            return arguments.get(edge) or ir.Edge(names.get(edge.node, edge.node), edge.index)

        awaited = {name for inner in called.nodes.values() for name in inner.control}
        for argument, edge in zip(called.arguments, inputs, strict=True):
            if argument.name in awaited:
                name = self.graph.free_name(f"{node.name}/{argument.name}")
                copy = build.identity(name, edge, argument.dtype, node.device, waits)
                names[argument.name] = self.graph.add(copy, around)
        waiting = self._waiting(node, called, inputs, waits, around)
        for inner in called.nodes.values():
            control = tuple(names.get(name, name) for name in inner.control)
            self.add(
                replace(
                    inner,
                    name=names[inner.name],
                    inputs=tuple(map(moved, inner.inputs)),
                    control=(*control, *waiting.get(inner.name, ())),
                    attrs=_renamed(inner, node.name, names),
                ),
                within,
            )
        done = tuple(names[name] for name in called.control_results)
        return list(map(moved, called.results)), done

    def _waiting(
        self,
        node: ir.Node,
        called: function.Function,
        inputs: Sequence[ir.Edge],
        waits: tuple[str, ...],
        around: Around,
    ) -> dict[str, tuple[str, ...]]:
        """Return what the nodes wait for that nothing in the body of a function holds back."""
        arguments = {argument.edge for argument in called.arguments}
        # A constant without control dependencies may run in any branch, at any time.
        free = {
            inner.name
            for inner in called.nodes.values()
            if self._is_free(inner) and ir.Edge(inner.name) not in called.results
        }
        # Whether these nodes read an argument.
        sources = {
            inner.name: any(edge in arguments for edge in inner.inputs)
            for inner in called.nodes.values()
            if inner.name not in free
            and free.issuperset(inner.control)
            and all(edge in arguments or edge.node in free for edge in inner.inputs)
        }
        gate = waits
        if inputs and not waits and not all(sources.values()):
            gate = (self.graph.first_argument(node, called, inputs[0], around),)
        return {name: waits if reads else gate for name, reads in sources.items()}

    def _is_free(self, inner: ir.Node) -> bool:
        """Return whether a node of a body may run outside of the iteration that calls the body."""
        return infer.is_constant(inner) and not self._has_loops

    def _outputs(
        self, node: ir.Node, results: Sequence[ir.Edge], waits: Iterable[str], around: Around
    ) -> None:
        kinds = node.attrs["Tout"]
        if len(results) != len(kinds):
            raise wrong(node, f"it expects {len(kinds)} results and gets {len(results)}")
        control = tuple(dict.fromkeys((*waits, *node.control)))
        self.graph.add(
            build.identities(node.name, results, kinds, node.device, control)
            if results
            else build.no_op(node.name, node.device, control),
            around,
        )

    def _function(self, node: ir.Node, reference: object, around: Around) -> function.Function:
        if not isinstance(reference, function.Reference) or reference.name not in self._library:
            name = getattr(reference, "name", reference)
            raise errors.NotFoundError(
                None, None, f"Function {name} of {{{{node {node.name}}}}} is not in the library"
            )
        if reference.name in around.functions:
            raise wrong(node, f"function '{reference.name}' calls itself")
        return self._library[reference.name]


def _renamed(inner: ir.Node, call: str, names: Mapping[str, str]) -> Mapping[str, object]:
    """Return the attributes of `inner` with new names for its loop frame and its colocation group.

    `inner` is a node of a function's body. Without new names, two calls of one function would share
    a loop frame.
    """
    attrs = inner.attrs
    if opdef.role(inner.op) is facts.Role.ENTER:
        frame = attr_value.text(attrs.get("frame_name", b""))
        attrs = {**attrs, "frame_name": f"{call}/{frame}".encode()}
    if isinstance(group := attrs.get("_class"), list):
        attrs = {**attrs, "_class": [_renamed_class(each, names) for each in group]}
    return attrs


def _renamed_class(text: object, names: Mapping[str, str]) -> object:
    if not isinstance(text, bytes | str):
        return text  # The placer refuses a node with such a group.
    prefix, _, name = attr_value.text(text).partition("@")
    return f"{prefix}@{names[name]}" if name in names else text
