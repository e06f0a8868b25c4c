"""The loop of a frame: its variables, its switches, and the tensors that it captures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from capstan.core import dtypes, function
from capstan.core import node as ir
from capstan.framework import opdef
from capstan.graph import infer
from capstan.graph.frames import Role, refused, role_of


@dataclass(frozen=True, slots=True)
class Variable:
    """A loop variable: the nodes that TensorFlow builds for it."""

    merge: ir.Node
    enter: ir.Node
    next_iteration: ir.Node
    dtype: dtypes.DType


@dataclass(slots=True)
class Arguments:
    """The arguments of the two functions of a loop.

    `taken` are the arguments. `inputs` are the tensors of the graph around the loop that give each
    argument its first value.
    """

    taken: list[function.Argument] = field(default_factory=list)
    inputs: list[ir.Edge] = field(default_factory=list)
    edges: dict[ir.Edge, ir.Edge] = field(default_factory=dict)
    """For each output of an `Enter`, a `Merge` or a loop's `Switch`: the argument in its place."""


@dataclass(frozen=True, slots=True)
class LoopFrame:
    """A frame with one `LoopCond`, and without inner frames.

    `members` are all nodes of the frame, in the order of the graph. `decision` is the `LoopCond`.
    `switches` are the switches whose side the `LoopCond` decides. `gates` are the nodes that only
    wait for `switches`.
    """

    members: Mapping[str, ir.Node]
    decision: ir.Node
    variables: Sequence[Variable]
    switches: Sequence[ir.Node]
    gates: frozenset[str]
    arguments: Arguments

    def of_role(self, role: Role) -> list[ir.Node]:
        """Return the nodes of a role."""
        return of_role(self.members, role)

    def computes(self, name: str) -> bool:
        """Return whether the node `name` becomes a node of the functions of the loop.

        The nodes that control the loop do not, because the `While` node does their work: its
        `Enter`, `Exit`, `NextIteration` and `LoopCond`, and the merges and switches of its
        variables.
        """
        node = self.members[name]
        role = role_of(node)
        if role is Role.MERGE:
            return all(
                role_of(self.members.get(edge.node, node)) is not Role.NEXT_ITERATION
                for edge in node.inputs
            )
        if role is Role.SWITCH:
            source = self.members.get(node.inputs[1].node)
            return source is None or role_of(source) is not Role.LOOP_COND
        return role not in (Role.ENTER, Role.EXIT, Role.NEXT_ITERATION, Role.LOOP_COND)

    def must_run(self, name: str) -> bool:
        """Return whether a control dependency on the node `name` stays in the functions.

        A control dependency on an argument is dropped. So is a control dependency on the `Identity`
        of an argument. `while_loop` builds such an `Identity` so that nodes without inputs wait for
        the iteration. A gate is dropped too.
        """
        if name in self.gates or not self.computes(name):
            return False
        return not (self.is_copy(name) and self.members[name].inputs[0] in self.arguments.edges)

    def is_copy(self, name: str) -> bool:
        """Return whether the node `name` is an `Identity` that waits for nothing but gates."""
        node = self.members[name]
        return role_of(node) is Role.IDENTITY and self.gates.issuperset(node.control)


def read(members: Mapping[str, ir.Node], decision: ir.Node) -> LoopFrame:
    """Return the loop whose frame has the nodes `members` and the `LoopCond` `decision`.

    Raises:
        InvalidArgumentError: `while_loop` never builds such a frame.
    """
    variables = _variables(members)
    switches = _switches(members, decision, variables)
    arguments = _arguments(members, variables, switches)
    gates = _gates(members, frozenset(node.name for node in switches))
    return LoopFrame(members, decision, variables, switches, gates, arguments)


def of_role(members: Mapping[str, ir.Node], role: Role) -> list[ir.Node]:
    """Return the nodes of a role, in the order of the graph."""
    return [node for node in members.values() if role_of(node) is role]


def _variables(members: Mapping[str, ir.Node]) -> list[Variable]:
    """Return the loop variables, in the order of the graph."""
    variables = []
    for node in of_role(members, Role.MERGE):
        producers = [members.get(edge.node) for edge in node.inputs]
        by_role = {role_of(found): found for found in producers if found is not None}
        following, enter = by_role.get(Role.NEXT_ITERATION), by_role.get(Role.ENTER)
        if following is None:
            continue
        if enter is None or len(node.inputs) != 2 or node.control:
            raise refused(node, "a loop variable must start at one Enter")
        ((dtype, is_ref), *_), _ = infer.arguments(node)
        if is_ref:
            raise refused(node, "a loop variable must not be a reference")
        variables.append(Variable(node, enter, following, dtype))
    return variables


def _switches(
    members: Mapping[str, ir.Node], decision: ir.Node, variables: Sequence[Variable]
) -> list[ir.Node]:
    """Return the switches that the LoopCond decides."""
    merges = {ir.Edge(variable.merge.name) for variable in variables}
    found = []
    for node in of_role(members, Role.SWITCH):
        if node.inputs[1] == ir.Edge(decision.name):
            if node.inputs[0] not in merges:
                raise refused(node, "the Switch of a loop must take a loop variable")
            found.append(node)
    return found


def _gates(members: Mapping[str, ir.Node], switches: frozenset[str]) -> frozenset[str]:
    """Return the nodes without inputs and outputs that wait only for `switches`.

    The gradient of a loop variable is a `Switch`. With `gate_gradients`, which optimizers pass, a
    `NoOp` waits for it, and an `Identity` of each of its sides waits for this `NoOp`.
    """
    waiting = (node for node in members.values() if node.control and not node.inputs)
    return frozenset(
        node.name for node in waiting if switches.issuperset(node.control) and _only_waits(node)
    )


def _only_waits(node: ir.Node) -> bool:
    if not opdef.is_defined(node.op):
        return False
    row = opdef.lookup(node.op)
    return row.is_pure and row.role is None and not row.output_arguments


def _arguments(
    members: Mapping[str, ir.Node], variables: Sequence[Variable], switches: Sequence[ir.Node]
) -> Arguments:
    """Return the loop variables as arguments, and after them the captured tensors."""
    made = Arguments()
    for variable in variables:
        edge = ir.Edge(variable.merge.name)
        made.taken.append(function.Argument(edge.node, variable.dtype))
        made.inputs.append(variable.enter.inputs[0])
        made.edges[edge] = edge
    made.edges.update((ir.Edge(node.name, 1), node.inputs[0]) for node in switches)
    captures: dict[ir.Edge, ir.Edge] = {}
    for enter in of_role(members, Role.ENTER):
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
