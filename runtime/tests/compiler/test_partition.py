"""A graph is cut into parts, one for each task. A part sends one message to each destination for
each leg. The leg of a node is the number of task crossings before the node. No step can deadlock.
"""

import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan.core import dtypes, tensor_shape
from capstan.core import node as ir
from capstan.executor import state
from capstan.graph import infer
from capstan.partition import partition, parts

Edge = ir.Edge
TASKS = ("a", "b", "c")
Cut = dict[str, parts.Part]


def cut_of(
    nodes: list[ir.Node], tasks: dict[str, str], fetches: list[Edge], waiting: Collection[str] = ()
) -> Cut:
    by_name = {node.name: node for node in nodes}
    return partition.partition(by_name, tasks, [], fetches, infer.Knowledge(), "a", waiting)


def constant(name: str, *control: str) -> ir.Node:
    return ir.Node(name, "Const", (), control, attrs={"dtype": dtypes.int32, "value": 0})


def awaited(node: ir.Node, computed: dict[str, ir.Node], nodes: Sequence[ir.Node]) -> list[str]:
    """Return the nodes that must run before `node`, also through constants that wait for them."""
    found: list[str] = []
    for name in (*(edge.node for edge in node.inputs), *node.control):
        if name in computed:
            found.append(name)
        else:
            found += awaited(next(each for each in nodes if each.name == name), computed, nodes)
    return found


@st.composite
def placed_graphs(draw: st.DrawFn) -> tuple[list[ir.Node], dict[str, str]]:
    """Draw a graph in topological order over up to three tasks. Some nodes are constants."""
    nodes: list[ir.Node] = []
    for index in range(draw(st.integers(1, 14))):
        names = st.sampled_from([node.name for node in nodes]) if nodes else st.nothing()
        data = draw(st.lists(names, max_size=3)) if nodes else []
        control = draw(st.lists(names, max_size=2, unique=True)) if nodes else []
        if draw(st.booleans()) and not data:
            nodes.append(constant(f"n{index}", *control))
        else:
            nodes.append(ir.Node(f"n{index}", "X", tuple(map(Edge, data)), tuple(control)))
    return nodes, {node.name: draw(st.sampled_from(TASKS)) for node in nodes}


def run(cut: Cut) -> list[str]:
    """Run a step of all parts, deliver its messages, and return the order in which nodes ran."""
    simulation = Simulation(cut)
    while simulation.events:
        simulation.events.pop()()
    assert simulation.is_over
    return simulation.ran


class Simulation:
    """Runs a step of all parts. `events` are the events that may happen next, in any order.

    A waiting node in `blocked` never answers.
    """

    def __init__(self, cut: Cut, blocked: Collection[str] = ()) -> None:
        self.ran: list[str] = []
        self.events: list[Callable[[], None]] = []
        self._cut = cut
        self._blocked = blocked
        self._layouts = {task: state.Layout.of(part) for task, part in cut.items()}
        self._states = {
            task: state.StepState(state.Plan(layout)) for task, layout in self._layouts.items()
        }
        for task in cut:
            self._add(task, self._states[task].start())

    @property
    def is_over(self) -> bool:
        return all(running.is_over for running in self._states.values())

    def _add(self, task: str, ready: Sequence[int]) -> None:
        self.events += [functools.partial(self._run, task, index) for index in ready]

    def _run(self, task: str, index: int) -> None:
        part, layout = self._cut[task], self._layouts[task]
        own = [
            node.name
            for node in part.nodes
            if state.segment_key(part, node.name) == layout.keys[index]
        ]
        self.ran += [name for name in own if name not in layout.waiting]
        for message in layout.sends[index]:
            self.events.append(functools.partial(self._arrive, message))
        for waiting in layout.starts[index]:
            assert layout.waiting[waiting] in own
            if layout.waiting[waiting] not in self._blocked:
                self.events.append(functools.partial(self._answer, task, waiting))
        self._add(task, self._states[task].finish(index))

    def _arrive(self, message: parts.Message) -> None:
        to = message.destination
        self._add(to, self._states[to].arrive(message.number))

    def _answer(self, task: str, waiting: int) -> None:
        self.ran.append(self._layouts[task].waiting[waiting])
        self._add(task, self._states[task].answer(waiting))


@pytest.mark.e2e
@given(placed_graphs())
def test_every_node_runs_once_and_after_its_producers_on_any_task(
    graph: tuple[list[ir.Node], dict[str, str]],
) -> None:
    nodes, tasks = graph
    computed = {node.name: node for node in nodes if node.op != "Const"}
    cut = cut_of(nodes, tasks, [Edge(node.name) for node in nodes])
    ran = [name for name in run(cut) if name in computed]
    assert sorted(ran) == sorted(computed)
    position = {name: index for index, name in enumerate(ran)}
    for name, node in computed.items():
        for source in awaited(node, computed, nodes):
            assert position[source] < position[name]


@pytest.mark.e2e
@given(placed_graphs(), st.data())
def test_a_blocked_node_withholds_only_the_nodes_that_depend_on_it(
    graph: tuple[list[ir.Node], dict[str, str]], data: st.DataObject
) -> None:
    nodes, tasks = graph
    computed = {node.name: node for node in nodes if node.op != "Const"}
    waiting = [name for name in computed if data.draw(st.booleans(), label=f"{name} waits")]
    blocked = {name for name in waiting if data.draw(st.booleans(), label=f"{name} is blocked")}
    cut = cut_of(nodes, tasks, [Edge(node.name) for node in nodes], waiting)
    simulation = Simulation(cut, blocked)
    while simulation.events:
        place = data.draw(st.integers(0, len(simulation.events) - 1), label="next event")
        simulation.events.pop(place)()
    withheld = set(blocked)
    for name, node in computed.items():
        if withheld.intersection(awaited(node, computed, nodes)):
            withheld.add(name)
    ran = [name for name in simulation.ran if name in computed]
    assert sorted(ran) == sorted(computed.keys() - withheld)
    assert simulation.is_over == (not withheld)
    position = {name: index for index, name in enumerate(ran)}
    for name in ran:
        for source in awaited(computed[name], computed, nodes):
            assert position[source] < position[name]


def test_a_constant_that_waits_does_not_cut_the_segment_of_a_device() -> None:
    cpu, gpu = "a/device:CPU:0", "a/device:GPU:0"
    nodes = [
        ir.Node("fed", "X", device=cpu),
        ir.Node("changed", "X", (Edge("fed"),), device=gpu),
        replace(constant("size", "changed"), device=cpu),
        ir.Node("reader", "X", (Edge("size"), Edge("changed")), device=gpu),
        ir.Node("later", "X", (), ("size",), device=gpu),
    ]
    part = cut_of(nodes, {node.name: "a" for node in nodes}, [Edge("reader")])["a"]
    own = {name: part.wait_sets.get(name, 0) for name in ("changed", "reader", "later")}
    assert len(set(own.values())) == 1
    assert {node.name: node.control for node in part.nodes} == {
        "fed": (), "changed": (), "size": (), "reader": ("changed",), "later": ("changed",)
    }  # fmt: skip


def test_a_constant_in_a_branch_waits_itself() -> None:
    nodes = [
        ir.Node("value", "X"),
        ir.Node("switch", "Switch", (Edge("value"), Edge("value"))),
        ir.Node("side", "Identity", (Edge("switch", 1),)),
        constant("taken", "side"),
        ir.Node("other", "Identity", (Edge("switch", 0),)),
        ir.Node("merged", "Merge", (Edge("taken"), Edge("other"))),
    ]
    part = cut_of(nodes, {node.name: "a" for node in nodes}, [Edge("merged")])["a"]
    controls = {node.name: node.control for node in part.nodes}
    assert (controls["taken"], controls["merged"]) == (("side",), ())


def test_nodes_that_do_not_wait_form_one_segment_for_each_leg() -> None:
    nodes = [
        ir.Node("a", "X"),
        ir.Node("take", "X"),
        ir.Node("b", "X", (Edge("a"),)),
        ir.Node("taken", "X", (Edge("take"), Edge("b"))),
        ir.Node("put", "X", (Edge("taken"),)),
    ]
    tasks = dict.fromkeys(("a", "take", "b", "taken", "put"), "a")
    without = state.Layout.of(cut_of(nodes, tasks, [])["a"])
    assert without.keys == ((0, 0),)
    layout = state.Layout.of(cut_of(nodes, tasks, [], ["take", "put"])["a"])
    assert layout.keys == ((0, 0), (0, 1))
    assert layout.waiting == ("take", "put")
    assert layout.starts == ((0,), (1,))
    assert layout.awaits == ((), (0,))
    assert layout.before == ((), (0,))


@pytest.mark.e2e
@given(placed_graphs())
def test_a_tensor_is_sent_once_to_each_task_that_reads_it_and_a_constant_never(
    graph: tuple[list[ir.Node], dict[str, str]],
) -> None:
    nodes, tasks = graph
    constants = {node.name for node in nodes if node.op == "Const"}
    cut = cut_of(nodes, tasks, [])
    needed: dict[tuple[str, str], int] = defaultdict(int)
    sent: dict[tuple[str, str], int] = defaultdict(int)
    for node in nodes:
        for edge in node.inputs:
            here = tasks[node.name]
            if tasks[edge.node] != here and edge.node not in constants:
                needed[edge.node, here] = 1
            if edge.node in constants and node.name not in constants:
                assert edge.node in {held.name for held in cut[here].nodes}
    keys = []
    for part in cut.values():
        for message in part.outgoing:
            keys.append((message.source, message.destination, message.leg))
            assert message in cut[message.destination].incoming
            for edge in message.edges:
                sent[edge.node, message.destination] += 1
    assert sent == needed
    assert len(keys) == len(set(keys))


def test_a_train_step_sends_one_message_each_way_between_worker_and_ps() -> None:
    nodes = [
        ir.Node("w", "VariableV2"),
        ir.Node("b", "VariableV2"),
        ir.Node("grad_b", "X", (Edge("w"), Edge("b"))),
        ir.Node("grad_w", "X", (Edge("w"), Edge("grad_b"))),
        ir.Node("apply_w", "X", (Edge("w"), Edge("grad_w"))),
        ir.Node("apply_b", "X", (Edge("b"), Edge("grad_b"))),
    ]
    tasks = dict.fromkeys(("w", "b", "apply_w", "apply_b"), "b") | {
        "grad_b": "a",
        "grad_w": "a",
    }
    cut = cut_of(nodes, tasks, [Edge("apply_w")])
    assert [(m.leg, m.edges) for m in cut["b"].outgoing] == [(1, (Edge("w"), Edge("b")))]
    assert [(m.leg, m.edges) for m in cut["a"].outgoing] == [(2, (Edge("grad_w"), Edge("grad_b")))]
    assert cut["b"].fetches == (Edge("apply_w"),)


def test_a_control_edge_between_tasks_is_a_message_without_tensors() -> None:
    nodes = [ir.Node("first", "X"), ir.Node("then", "X", (), ("first",))]
    cut = cut_of(nodes, {"first": "a", "then": "b"}, [])
    assert [(m.leg, m.edges) for m in cut["b"].incoming] == [(1, ())]


def test_a_fetched_constant_is_in_the_part_of_the_master() -> None:
    nodes = [ir.Node("c", "Const", attrs={"dtype": dtypes.int32, "value": 7})]
    cut = cut_of(nodes, {"c": "b"}, [Edge("c")])
    assert cut["a"].fetches == (Edge("c"),)
    assert "b" not in cut


def late(how: str, *, unordered: bool = False) -> tuple[list[ir.Node], dict[str, str]]:
    """Return a graph in which a node on `a` reads a variable of `b` after a change of the variable.

    The change waits for a tensor of `a`. If `unordered`, the reader does not wait for the change.
    """
    of = {"T": dtypes.int32}
    awaited = () if unordered else ("done",)
    nodes = [
        ir.Node(
            "n", "VariableV2", attrs={"dtype": dtypes.int32, "shape": tensor_shape.TensorShape([])}
        ),
        ir.Node("x", "Placeholder", attrs={"dtype": dtypes.int32}),
        ir.Node("y", "Neg", (Edge("x"),), attrs=of),
        ir.Node("change", "AssignAdd", (Edge("n"), Edge("y")), attrs=of),
        ir.Node("done", "Identity", (Edge("y"),), ("change",), attrs=of),
        {
            "control": ir.Node("read", "Identity", (Edge("n"),), awaited, attrs=of),
            "input": ir.Node(
                "read", "Add", (Edge("n"), Edge("y" if unordered else "done")), attrs=of
            ),
        }[how],
    ]
    return nodes, dict.fromkeys(("n", "change"), "b") | dict.fromkeys(
        ("x", "y", "done", "read"), "a"
    )


def parts_of(nodes: list[ir.Node], tasks: dict[str, str]) -> Cut:
    known = infer.Knowledge()
    for node in nodes:
        known.learn(node)
    by_name = {node.name: node for node in nodes}
    return partition.partition(by_name, tasks, [], [Edge("read")], known, "a")


@pytest.mark.parametrize("how", ["control", "input"])
def test_a_variable_leaves_after_the_changes_that_its_reader_waits_for(how: str) -> None:
    cut = parts_of(*late(how))
    (change,) = (m for m in cut["b"].incoming if Edge("y") in m.edges)
    (sent,) = (m for m in cut["b"].outgoing if m.edges)
    assert change.leg < sent.leg
    (edge,) = sent.edges
    (read,) = (node for node in cut["b"].nodes if node.name == edge.node)
    assert (read.op, read.inputs, read.control) == ("Identity", (Edge("n"),), ("done",))
    assert cut["b"].tensor_dtypes[edge] is dtypes.int32
    assert "change" in run(cut)


@pytest.mark.parametrize("how", ["control", "input"])
def test_a_variable_leaves_at_once_when_its_reader_waits_for_no_change(how: str) -> None:
    cut = parts_of(*late(how, unordered=True))
    assert [(m.leg, m.edges) for m in cut["b"].outgoing if m.edges] == [(1, (Edge("n"),))]


def test_a_reader_of_the_output_of_a_change_waits_for_no_other_message() -> None:
    nodes, tasks = late("control")
    nodes[-1] = replace(nodes[-1], inputs=(Edge("change"),), control=("change",))
    cut = parts_of(nodes, tasks)
    assert [m.edges for m in cut["b"].outgoing if m.edges] == [(Edge("change"),)]
