"""A reference interpreter: it runs a graph by TensorFlow's rules, one node at a time.

The rules are those of TensorFlow's executor (core/common_runtime/executor.cc): frames, iterations,
dead tensors and pending counts. Nothing is compiled, and no code of Capstan runs except the IR.
"""

import collections
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import reference_ops

from capstan.core import function
from capstan.core import node as ir

DEAD = type("Dead", (), {"__repr__": lambda self: "DEAD"})()
"""The value of every output of a node that does not run."""

ENTERS = ("Enter", "RefEnter")
EXITS = ("Exit", "RefExit")
NEXTS = ("NextIteration", "RefNextIteration")
MERGES = ("Merge", "RefMerge")
SWITCHES = ("Switch", "RefSwitch")


@dataclass(eq=False)
class Iteration:
    """One iteration of a frame: the inputs that have arrived, and the work that is left."""

    arrived: dict[str, dict[ir.Edge, Any]] = field(default_factory=dict)
    fired: set[str] = field(default_factory=set)
    outstanding: int = 0
    dead_exits: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Frame:
    """One run of a loop. The root frame has no parent and one iteration."""

    name: str = ""
    parent: "Frame | None" = None
    parent_iteration: int = 0
    enters_left: int = 0
    is_over: bool = False
    iterations: list[Iteration] = field(default_factory=lambda: [Iteration()])
    constants: list[tuple[str, Any]] = field(default_factory=list)
    children: dict[tuple[int, str], "Frame"] = field(default_factory=dict)


Ready = tuple[Frame, int, str]


class Interpreter:
    """Runs steps of a graph. The state (variables, queues) outlives a step."""

    def __init__(self, nodes: Sequence[ir.Node], library: function.Library | None = None) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.library = library or {}
        self.state = reference_ops.State()

    def run(
        self,
        fetches: Sequence[str],
        feeds: Mapping[str, Any] | None = None,
        targets: Sequence[str] = (),
    ) -> list[Any]:
        """Run one step and return the values of `fetches`.

        Raises:
            RuntimeError: every node that is left waits for a queue, or a fetch is dead.
            Exception: an op failed.
        """
        fed = {ir.parse_tensor(name): np.asarray(value) for name, value in (feeds or {}).items()}
        edges = list(map(ir.parse_tensor, fetches))
        step = self.state.step()
        values = Step(self.nodes, self.library, step, fed, edges, targets).run()
        return [fed[edge] if edge in fed else values[edge] for edge in edges]


class Step:
    """One run of the nodes that the fetches and targets need."""

    def __init__(
        self,
        nodes: Mapping[str, ir.Node],
        library: function.Library,
        state: "reference_ops.StepState",
        fed: Mapping[ir.Edge, Any],
        fetches: Sequence[ir.Edge],
        targets: Sequence[str] = (),
    ) -> None:
        self._library = library
        self._state = state
        self._fed = fed
        self._fetches = fetches
        self._nodes = _needed(nodes, fed, [*(edge.node for edge in fetches), *targets])
        self._readers: dict[str, list[tuple[str, ir.Edge]]] = collections.defaultdict(list)
        self._inputs: dict[str, list[ir.Edge]] = {}
        for node in self._nodes.values():
            edges = [*node.inputs, *(ir.Edge(name, -1) for name in node.control)]
            self._inputs[node.name] = [edge for edge in dict.fromkeys(edges) if edge not in fed]
            for edge in self._inputs[node.name]:
                self._readers[edge.node].append((node.name, edge))
        self._enters = collections.Counter(
            node.attrs["frame_name"] for node in self._nodes.values() if node.op in ENTERS
        )
        self._ready: collections.deque[Ready] = collections.deque()
        self._results: dict[ir.Edge, Any] = {}

    def run(self) -> dict[ir.Edge, Any]:
        """Run all nodes and return the values of the fetches that are not fed."""
        root = Frame()
        for name, edges in self._inputs.items():
            if not edges:
                self._schedule(root, 0, name)
        waiting = 0
        while self._ready:
            frame, number, name = self._ready.popleft()
            if self._process(frame, number, name):
                waiting = 0
                continue
            self._ready.append((frame, number, name))
            waiting += 1
            if waiting >= len(self._ready):
                raise RuntimeError(f"every node waits: {[name for _, _, name in self._ready]}")
        for edge in self._fetches:
            if edge not in self._fed and self._results.get(edge, DEAD) is DEAD:
                raise RuntimeError(f"Retval[0] does not have value: {edge.tensor} is dead")
        return self._results

    def _schedule(self, frame: Frame, number: int, name: str) -> None:
        frame.iterations[number].outstanding += 1
        frame.iterations[number].fired.add(name)
        self._ready.append((frame, number, name))

    def _process(self, frame: Frame, number: int, name: str) -> bool:
        """Run one node and pass its outputs on. Return False if it must wait for a queue."""
        node = self._nodes[name]
        iteration = frame.iterations[number]
        arrived = {**self._fed, **iteration.arrived.get(name, {})}
        inputs = [arrived.get(edge) for edge in node.inputs]
        if node.op in MERGES:
            alive = [place for place, value in enumerate(inputs) if _is_alive(value)]
            outputs: Any = (inputs[alive[0]], np.int32(alive[0])) if alive else DEAD
        elif node.op == "ControlTrigger":
            outputs = ()  # The node runs even if all nodes that it waits for are dead.
        elif any(value is DEAD for value in arrived.values()):
            outputs = DEAD
        elif node.op in SWITCHES:
            outputs = (DEAD, inputs[0]) if inputs[1] else (inputs[0], DEAD)
        elif node.op in (*ENTERS, *EXITS, *NEXTS, "LoopCond"):
            outputs = (inputs[0],)
        else:
            outputs = self._call(node, inputs, f"{id(frame)}:{number}")
            if outputs is None:
                return False
        self._pass_on(frame, number, node, outputs)
        iteration.outstanding -= 1
        self._finish(frame)
        return True

    def _call(self, node: ir.Node, inputs: Sequence[Any], where: str) -> Any:
        if node.op in ("PartitionedCall", "StatefulPartitionedCall"):
            return self._apply(node.attrs["f"], inputs)
        if node.op in ("If", "StatelessIf"):
            side = "then_branch" if np.all(inputs[0]) else "else_branch"
            return self._apply(node.attrs[side], inputs[1:])
        if node.op in ("Case", "StatelessCase"):
            branches = node.attrs["branches"]
            chosen = int(inputs[0]) if 0 <= inputs[0] < len(branches) else len(branches) - 1
            return self._apply(branches[chosen], inputs[1:])
        if node.op in ("While", "StatelessWhile"):
            values = list(inputs)
            while np.all(self._apply(node.attrs["cond"], values)[0]):
                values = list(self._apply(node.attrs["body"], values))
            return values
        if node.op in self._library:
            return self._apply(function.Reference(node.op), inputs)
        return reference_ops.call(self._state, node, inputs, where)

    def _apply(self, reference: function.Reference, inputs: Sequence[Any]) -> list[Any]:
        """Call a function. It may not wait for a queue."""
        body = self._library[reference.name]
        fed = {argument.edge: value for argument, value in zip(body.arguments, inputs, strict=True)}
        stateful = [node.name for node in body.nodes.values() if node.name in body.control_results]
        step = Step(body.nodes, self._library, self._state, fed, body.results, stateful)
        values = step.run()
        return [fed[edge] if edge in fed else values[edge] for edge in body.results]

    def _pass_on(self, frame: Frame, number: int, node: ir.Node, outputs: Any) -> None:
        """Deliver the outputs of a node to their readers. Enter, Exit and NextIteration deliver to
        another frame or iteration.
        """
        if node.op in ENTERS:
            frame, number = self._child(frame, number, node), 0
            frame.enters_left -= 1
            if node.attrs.get("is_constant"):
                frame.constants.append((node.name, outputs))
                for later in range(1, len(frame.iterations)):
                    self._deliver(frame, later, node.name, outputs)
        elif node.op in EXITS:
            if outputs is DEAD:
                frame.iterations[number].dead_exits.append(node.name)
                return
            assert frame.parent is not None
            frame, number = frame.parent, frame.parent_iteration
        elif node.op in NEXTS:
            if outputs is DEAD:
                return
            number += 1
            if number == len(frame.iterations):
                frame.iterations.append(Iteration())
                for name, value in frame.constants:
                    self._deliver(frame, number, name, value)
        self._deliver(frame, number, node.name, outputs)
        self._finish(frame)

    def _child(self, frame: Frame, number: int, node: ir.Node) -> Frame:
        name = node.attrs["frame_name"]
        child = frame.children.get((number, name))
        if child is None:
            child = Frame(name, frame, number, self._enters[name])
            frame.children[number, name] = child
            frame.iterations[number].outstanding += 1
        return child

    def _deliver(self, frame: Frame, number: int, name: str, outputs: Any) -> None:
        iteration = frame.iterations[number]
        if frame.parent is None:
            fetched = (edge for edge in self._fetches if edge.node == name)
            self._results.update((edge, _output(outputs, edge.index)) for edge in fetched)
        for reader, edge in self._readers[name]:
            arrived = iteration.arrived.setdefault(reader, {})
            arrived[edge] = (
                _output(outputs, edge.index)
                if edge.index >= 0
                else (DEAD if outputs is DEAD else None)
            )
            if reader not in iteration.fired and self._may_run(reader, arrived):
                self._schedule(frame, number, reader)

    def _may_run(self, name: str, arrived: Mapping[ir.Edge, Any]) -> bool:
        if self._nodes[name].op not in MERGES:
            return len(arrived) == len(self._inputs[name])
        wanted = self._inputs[name]
        if any(edge.index < 0 and edge not in arrived for edge in wanted):
            return False
        data = [edge for edge in wanted if edge.index >= 0]
        found = [arrived[edge] for edge in data if edge in arrived]
        if any(_is_alive(value) for value in found) or len(found) == len(data):
            return True
        # A loop on a branch that is not taken: no NextIteration will ever come.
        return any(self._nodes[edge.node].op in ENTERS for edge in data if edge in arrived)

    def _finish(self, frame: Frame) -> None:
        """If the frame has no work left, end the frame and deliver its dead exits to its parent."""
        if frame.parent is None or frame.enters_left or frame.is_over:
            return
        if any(iteration.outstanding for iteration in frame.iterations):
            return
        frame.is_over = True
        for name in frame.iterations[-1].dead_exits:
            self._deliver(frame.parent, frame.parent_iteration, name, DEAD)
        frame.parent.iterations[frame.parent_iteration].outstanding -= 1
        self._finish(frame.parent)


def _is_alive(value: Any) -> bool:
    return value is not None and value is not DEAD


def _output(outputs: Any, index: int) -> Any:
    if outputs is DEAD or index < 0:
        return outputs
    return outputs[index]


def _needed(
    nodes: Mapping[str, ir.Node], fed: Mapping[ir.Edge, Any], wanted: Sequence[str]
) -> dict[str, ir.Node]:
    """Return the nodes that `wanted` depend on. Stop at edges that are fed."""
    needed: dict[str, ir.Node] = {}
    left = [name for name in wanted if ir.Edge(name) not in fed]
    while left:
        name = left.pop()
        if name in needed:
            continue
        node = needed[name] = nodes[name]
        left += [edge.node for edge in node.inputs if edge not in fed]
        left += node.control
    return needed
