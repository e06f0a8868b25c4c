"""The memory of each variable of a loop whose iterations are steps of their own.

The task of the loop gives the variables to each iteration as feeds, and takes them from its fetches
(`services.iterations`). A variable that the body computes in the memory of a device of this task
stays there. So does a variable that all its readers want there. All other variables are in host
memory, and the iterations copy them.

The attributes of the loop's node name the memories, for `memories.inputs` and `memories.outputs`.
"""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence, Set
from dataclasses import dataclass, replace

from capstan.core import devices, function
from capstan.core import node as ir
from capstan.framework import facts, opdef
from capstan.graph import infer
from capstan.partition import memories


def assign(
    nodes: Mapping[str, ir.Node],
    functions: MutableMapping[str, function.Function],
    fed: Set[ir.Edge],
) -> dict[str, ir.Node]:
    """Return a placed graph, with the memories of the variables of its loops.

    `nodes` are in topological order. The loops inside the functions get memories too: new functions
    replace those in `functions`.
    """
    found: dict[str, ir.Node] = {}
    for name, node in nodes.items():
        found[name] = node
        if opdef.role(node.op) is facts.Role.WHILE:
            cond, body = (_assigned(node, each, functions) for each in ("cond", "body"))
            loop = _Loop(node, home(node, nodes), cond, body, found, fed)
            places = [loop.memory(index) for index in range(len(node.inputs))]
            found[name] = memories.with_loop(node, places, places)
    return found


def home(loop: ir.Node, nodes: Mapping[str, ir.Node]) -> str:
    """Return the device of the loop.

    If one task has all stacks and arrays of the loop, the loop is on their device, because they
    cannot leave their task. The condition of a loop that computes gradients may be on another task.
    """
    makers = [
        nodes[edge.node].device
        for edge in loop.inputs
        if edge.node in nodes and _makes_state_of_step(nodes[edge.node])
    ]
    tasks = set(map(devices.task_of, makers))
    return makers[0] if len(tasks) == 1 else loop.device


def _makes_state_of_step(node: ir.Node) -> bool:
    return opdef.lookup(node.op).effect.makes and opdef.role(node.op) is None


def _assigned(
    loop: ir.Node, attribute: str, functions: MutableMapping[str, function.Function]
) -> function.Function:
    """Return a function of a loop whose own loops have memories."""
    name = loop.attrs[attribute].name
    called = functions[name]
    arguments = {argument.edge for argument in called.arguments}
    functions[name] = replace(called, nodes=assign(called.nodes, functions, arguments))
    return functions[name]


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop on the device `home`. `before` are the nodes before it, of which some are `fed`."""

    node: ir.Node
    home: str
    cond: function.Function
    body: function.Function
    before: Mapping[str, ir.Node]
    fed: Set[ir.Edge]

    def memory(self, variable: int) -> str:
        """Return the memory of a variable. If the body passes it on to another, both have it."""
        numbers = {argument.edge: number for number, argument in enumerate(self.body.arguments)}
        passed = [variable]
        while (source := numbers.get(self.body.results[passed[-1]])) is not None:
            if source in passed:
                return self._own(self._wanted(passed[passed.index(source) :]))
            passed.append(source)
        edge = self.body.results[passed[-1]]
        node = self.body.nodes[edge.node]
        if infer.is_constant(node):
            # A constant is in one memory, also if the body sets several variables to it.
            sharing = [index for index, result in enumerate(self.body.results) if result == edge]
            return self._own(self._wanted(sharing))
        return self._own(memories.outputs(node)[edge.index])

    def _own(self, memory: str) -> str:
        """Return a memory if the task of the loop has it, or host memory."""
        if memory == memories.HOST or devices.task_of(memory) == devices.task_of(self.home):
            return memory
        return memories.HOST

    def _wanted(self, variables: Sequence[int]) -> str:
        """Return the memory in which all readers of the variables want them, or host memory.

        Variables that the functions do not read stay where they are before the loop.
        """
        found = set(self._reads(variables)) or set(map(self._first, variables))
        return found.pop() if len(found) == 1 else memories.HOST

    def _reads(self, variables: Sequence[int]) -> Iterator[str]:
        for called in (self.cond, self.body):
            edges = {called.arguments[variable].edge for variable in variables}
            for node in called.nodes.values():
                if not edges.isdisjoint(node.inputs):
                    wanted = zip(node.inputs, memories.inputs(node), strict=True)
                    yield from (memory for edge, memory in wanted if edge in edges)

    def _first(self, variable: int) -> str:
        edge = self.node.inputs[variable]
        node = self.before.get(edge.node)
        if node is None or edge in self.fed or infer.is_constant(node):
            return memories.HOST
        return memories.outputs(node)[edge.index]
