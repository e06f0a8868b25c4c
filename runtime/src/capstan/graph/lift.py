"""Lift loops: each frame becomes one node, so that the graph is acyclic.

TensorFlow 1 builds a loop as a frame: `Enter` brings tensors in, a `Merge` takes the first value of
a loop variable or that of the next iteration, `LoopCond` decides, a `Switch` sends each loop
variable to the body or to its `Exit`, and `NextIteration` closes the cycle. This pass replaces a
frame by a node `While` that calls two functions: one computes the condition, the other the next
values of the loop variables. The node has the name of the `LoopCond`, and each `Exit` becomes an
`Identity` of an output. Inner frames are lifted first. No later pass knows frames.

Constant `Enter` nodes become arguments that every iteration passes on. An `Enter` without a loop is
an `Identity`. Branches inside a loop stay `Switch` and `Merge`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from capstan import errors
from capstan.core import attr_value, dtypes, function
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.framework.ops import nodes as build
from capstan.graph import infer, order

Role = facts.Role
_FRAME = frozenset({Role.ENTER, Role.EXIT, Role.NEXT_ITERATION, Role.LOOP_COND})
Path = tuple[str, ...]
"""The names of the frames around a node, outermost first."""


def lift(
    nodes: Mapping[str, ir.Node], feeds: Collection[ir.Edge], roots: Iterable[str]
) -> tuple[dict[str, ir.Node], dict[str, function.Function]]:
    """Return the graph without frames, in topological order, and the functions of its loops.

    `nodes` are the nodes that a step needs, in the order of `prune.prune`, and `roots` those that
    the step fetches or targets. A graph without frames is returned as it is.

    Raises:
        InvalidArgumentError: no `while_loop` builds such a frame. The message names the node.
    """
    if not any(_role(node) in _FRAME for node in nodes.values()):
        return dict(nodes), {}
    paths = _paths(nodes, frozenset(feeds))
    graph, functions = dict(nodes), dict[str, function.Function]()
    for path in sorted(set(paths.values()), key=lambda path: (-len(path), path)):
        if path:
            frame = _Frame(path, graph, paths)
            functions.update(frame.lift())
    return order.topological(graph, [name for name in roots if name in graph]), functions


def _paths(nodes: Mapping[str, ir.Node], fed: frozenset[ir.Edge]) -> dict[str, Path]:
    """Return the frames around each node. `Enter` and `Exit` are in the frame that they name."""
    outputs: dict[str, Path] = {}
    paths: dict[str, Path] = {}
    for name, node in nodes.items():
        sources = {edge.node: () if edge in fed else outputs.get(edge.node) for edge in node.inputs}
        sources.update((source, outputs.get(source)) for source in node.control)
        known = {source: path for source, path in sources.items() if path is not None}
        first, path = next(iter(known.items()), ("", ()))
        for source, other in known.items():
            if other != path:
                raise _refused(
                    node,
                    f"{{{{node {name}}}}} has inputs from different frames. The input "
                    f"{{{{node {first}}}}} is in frame '{'/'.join(path)}'. The input "
                    f"{{{{node {source}}}}} is in frame '{'/'.join(other)}'.",
                )
        role = _role(node)
        if role is Role.ENTER:
            path = (*path, attr_value.text(node.attrs.get("frame_name", b"")))
        paths[name] = outputs[name] = path
        if role is Role.EXIT:
            if not path:
                raise _refused(node, "an Exit must be in a frame")
            outputs[name] = path[:-1]
    return paths


@dataclass(slots=True)
class _Variable:
    """A loop variable: the nodes that TensorFlow builds for it."""

    merge: ir.Node
    enter: ir.Node
    next_iteration: ir.Node
    dtype: dtypes.DType


@dataclass(slots=True)
class _Arguments:
    """The arguments of the functions of a loop, and the tensors in place of the frame's."""

    taken: list[function.Argument] = field(default_factory=list)
    inputs: list[ir.Edge] = field(default_factory=list)
    edges: dict[ir.Edge, ir.Edge] = field(default_factory=dict)
    """The argument that replaces each output of an `Enter`, a `Merge` or a loop's `Switch`."""


class _Frame:
    """One frame of a graph whose inner frames are lifted."""

    def __init__(self, path: Path, graph: dict[str, ir.Node], paths: dict[str, Path]) -> None:
        self._path = path
        self._graph = graph
        self._paths = paths
        self._members = {name: graph[name] for name, at in paths.items() if at == path}

    def lift(self) -> dict[str, function.Function]:
        """Replace the nodes of the frame in the graph, and return the functions of its loop."""
        decisions = self._of(Role.LOOP_COND)
        if not decisions:
            self._unwrap()
            return {}
        if len(decisions) > 1:
            raise _refused(
                decisions[1],
                f'Invalid loop structure: Loop "{"/".join(self._path)}" has more than one '
                f"LoopCond node: {{{{node {decisions[1].name}}}}} and "
                f"{{{{node {decisions[0].name}}}}}. This is an internal bug, please file a bug "
                "report with instructions on how to reproduce the error.",
            )
        return self._loop(decisions[0])

    def _of(self, role: facts.Role) -> list[ir.Node]:
        return [node for node in self._members.values() if _role(node) is role]

    def _unwrap(self) -> None:
        """Replace the `Enter` and `Exit` nodes of a frame without a loop by identities."""
        for name, node in self._members.items():
            if _role(node) is Role.NEXT_ITERATION:
                raise _refused(node, "a NextIteration must be in a loop that has a LoopCond")
            if _role(node) in (Role.ENTER, Role.EXIT):
                self._graph[name] = _identity(node, node.inputs[0], node.control)
            self._paths[name] = self._path[:-1]

    def _loop(self, decision: ir.Node) -> dict[str, function.Function]:
        variables = self._variables()
        switches = self._switches(decision, variables)
        arguments = self._arguments(variables, switches)
        waits = [wait for switch in switches for wait in switch.control]
        cond = self._function(
            f"{decision.name}/cond", arguments, decision.inputs, (*decision.control, *waits)
        )
        following = [variable.next_iteration for variable in variables]
        constants = [argument.edge for argument in arguments.taken[len(variables) :]]
        body = self._function(
            f"{decision.name}/body",
            arguments,
            [node.inputs[0] for node in following],
            [wait for node in following for wait in node.control],
        )
        body = replace(body, results=(*body.results, *constants))
        self._check_shared(cond, body)
        self._replace(decision, variables, switches, arguments, (cond, body))
        return {cond.name: cond, body.name: body}

    def _variables(self) -> list[_Variable]:
        """Return the loop variables, in the order of the graph."""
        variables = []
        for node in self._of(Role.MERGE):
            producers = [self._members.get(edge.node) for edge in node.inputs]
            by_role = {_role(found): found for found in producers if found is not None}
            following, enter = by_role.get(Role.NEXT_ITERATION), by_role.get(Role.ENTER)
            if following is None:
                continue
            if enter is None or len(node.inputs) != 2 or node.control:
                raise _refused(node, "a loop variable must start at one Enter")
            ((dtype, is_ref), *_), _ = infer.arguments(node)
            if is_ref:
                raise _refused(node, "a loop variable must not be a reference")
            variables.append(_Variable(node, enter, following, dtype))
        return variables

    def _switches(self, decision: ir.Node, variables: Sequence[_Variable]) -> list[ir.Node]:
        """Return the switches that the LoopCond decides."""
        merges = {ir.Edge(variable.merge.name) for variable in variables}
        found = []
        for node in self._of(Role.SWITCH):
            if node.inputs[1] == ir.Edge(decision.name):
                if node.inputs[0] not in merges:
                    raise _refused(node, "the Switch of a loop must take a loop variable")
                found.append(node)
        return found

    def _arguments(self, variables: Sequence[_Variable], switches: Sequence[ir.Node]) -> _Arguments:
        """Return the loop variables and after them the captured tensors."""
        made = _Arguments()
        for variable in variables:
            edge = ir.Edge(variable.merge.name)
            made.taken.append(function.Argument(edge.node, variable.dtype))
            made.inputs.append(variable.enter.inputs[0])
            made.edges[edge] = edge
        made.edges.update((ir.Edge(node.name, 1), node.inputs[0]) for node in switches)
        captures: dict[ir.Edge, ir.Edge] = {}
        for enter in self._of(Role.ENTER):
            if not enter.attrs.get("is_constant", False):
                continue
            source = enter.inputs[0]
            if source not in captures:
                captures[source] = ir.Edge(enter.name)
                ((dtype, is_ref),), _ = infer.arguments(enter)
                made.taken.append(function.Argument(enter.name, dtype, is_ref=is_ref))
                made.inputs.append(source)
            made.edges[ir.Edge(enter.name)] = captures[source]
        return made

    def _function(
        self,
        name: str,
        arguments: _Arguments,
        results: Sequence[ir.Edge],
        control: Sequence[str],
    ) -> function.Function:
        """Return the function that computes `results`, and runs the nodes `control`."""
        found: dict[str, ir.Node] = {}
        pending = [edge.node for edge in results if edge not in arguments.edges]
        targets = [each for each in dict.fromkeys(control) if self._runs(each, arguments)]
        pending += targets
        while pending:
            node = self._members.get(pending.pop())
            if node is None or node.name in found:
                continue
            if not self._computes(node.name):
                raise _refused(node, "only an Exit may read this output of a loop's node")
            inputs = tuple(arguments.edges.get(edge, edge) for edge in node.inputs)
            waits = tuple(each for each in node.control if self._runs(each, arguments))
            found[node.name] = replace(node, inputs=inputs, control=waits)
            pending += [edge.node for edge in node.inputs if edge not in arguments.edges]
            pending += waits
        return function.Function(
            name,
            tuple(arguments.taken),
            tuple(arguments.edges.get(edge, edge) for edge in results),
            {each: found[each] for each in self._members if each in found},
            tuple(targets),
        )

    def _runs(self, name: str, arguments: _Arguments) -> bool:
        """Return whether a node of a function must wait for the node `name`.

        It need not wait for an argument, or for the `Identity` of one, which `while_loop` builds so
        that nodes without inputs wait for the iteration.
        """
        node = self._members[name]
        is_copy = _role(node) is Role.IDENTITY and not node.control
        return self._computes(name) and not (is_copy and node.inputs[0] in arguments.edges)

    def _computes(self, name: str) -> bool:
        """Return whether a node stays a node of a function: it is no part of the loop itself.

        When a function is called, the nodes that make the loop have done their work.
        """
        node = self._members[name]
        role = _role(node)
        if role is Role.MERGE:
            return all(
                _role(self._members.get(edge.node, node)) is not Role.NEXT_ITERATION
                for edge in node.inputs
            )
        if role is Role.SWITCH:
            source = self._members.get(node.inputs[1].node)
            return source is None or _role(source) is not Role.LOOP_COND
        return role not in (Role.ENTER, Role.EXIT, Role.NEXT_ITERATION, Role.LOOP_COND)

    def _check_shared(self, cond: function.Function, body: function.Function) -> None:
        """Refuse a node with an effect that both functions would run."""
        for name in cond.nodes.keys() & body.nodes.keys():
            node = cond.nodes[name]
            if opdef.is_defined(node.op) and opdef.lookup(node.op).effect != facts.PURE:
                raise _refused(node, "the condition of a loop runs it, and the body reads it")

    def _changes_state(self, called: function.Function) -> bool:
        """Return whether a call of a function may change state that outlives the step."""
        return any(self._changes(node) for node in called.nodes.values())

    def _changes(self, node: ir.Node) -> bool:
        if not opdef.is_defined(node.op):
            return True
        effect = opdef.lookup(node.op).effect
        if not effect.changes:
            return effect.blocks or effect.calls
        original = self._members[node.name]
        inputs, _ = infer.arguments(original)
        return any(
            self._outlives_step(edge)
            for edge, (dtype, is_ref) in zip(original.inputs, inputs, strict=True)
            if is_ref or dtype is dtypes.resource
        )

    def _outlives_step(self, edge: ir.Edge) -> bool:
        """Return whether `edge` is, or may be, the handle of state that outlives the step."""
        node = self._graph.get(edge.node)
        while node is not None and node.inputs and _role(node) in (Role.ENTER, Role.IDENTITY):
            node = self._graph.get(node.inputs[0].node)
        # The ops whose state ends with the step have no role.
        return node is None or _role(node) is not None or not _makes(node)

    def _replace(
        self,
        decision: ir.Node,
        variables: Sequence[_Variable],
        switches: Sequence[ir.Node],
        arguments: _Arguments,
        functions: tuple[function.Function, function.Function],
    ) -> None:
        """Put the `While` and the identities of its outputs in the place of the frame."""
        cond, body = functions
        is_stateful = self._changes_state(cond) or self._changes_state(body)
        outputs = {ir.Edge(variable.merge.name): at for at, variable in enumerate(variables)}
        finals = {
            ir.Edge(switch.name): ir.Edge(decision.name, outputs[switch.inputs[0]])
            for switch in switches
        }
        waits = dict.fromkeys(wait for enter in self._of(Role.ENTER) for wait in enter.control)
        exits = self._of(Role.EXIT)
        lost = self._members.keys() - cond.nodes.keys() - body.nodes.keys()
        for name in lost:
            if self._runs(name, arguments):
                raise _refused(self._members[name], "no iteration of its loop needs the node")
        for name in self._members:
            del self._graph[name]
        for node in exits:
            if node.inputs[0] not in finals or node.control:
                raise _refused(node, "an Exit must take the final value of a loop variable")
            self._graph[node.name] = _identity(node, finals[node.inputs[0]], ())
            self._paths[node.name] = self._path[:-1]
        self._graph[decision.name] = build.while_loop(
            decision.name,
            arguments.inputs,
            [argument.dtype for argument in arguments.taken],
            cond.name,
            body.name,
            decision.device,
            tuple(waits),
            is_stateful=is_stateful,
        )
        self._paths[decision.name] = self._path[:-1]


def _identity(node: ir.Node, source: ir.Edge, control: Sequence[str]) -> ir.Node:
    return build.identity(node.name, source, node.attrs["T"], node.device, control)


def _role(node: ir.Node) -> facts.Role | None:
    return opdef.lookup(node.op).role if opdef.is_defined(node.op) else None


def _makes(node: ir.Node) -> bool:
    return opdef.is_defined(node.op) and opdef.lookup(node.op).effect.makes


def _refused(node: ir.Node, reason: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(
        None, None, f"The loop around node '{node.name}' ({node.op}) cannot run: {reason}"
    )
