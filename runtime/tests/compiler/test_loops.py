"""Lifting of the frames of loops, inlining of calls, and the code of loops."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import capstan.kernels  # noqa: F401 - fills the table
from capstan import errors
from capstan.core import dtypes, function
from capstan.core import node as ir
from capstan.executor import fold, program
from capstan.framework import ops  # noqa: F401 - fills the registry
from capstan.graph import infer, inline, lift, loop_copies, prune, simplify, specialise, verify
from capstan.partition import partition
from capstan.resources import containers

HERE = "/job:worker/replica:0/task:0"
INT = {"T": dtypes.int32}


def make(op: str, name: str, *inputs: str, control: Sequence[str] = (), **attrs: Any) -> ir.Node:
    edges = tuple(map(ir.parse_tensor, inputs))
    return ir.Node(name, op, edges, tuple(control), attrs={**INT, **attrs})


def const(name: str, value: int, *control: str) -> ir.Node:
    attrs = {"dtype": dtypes.int32, "value": np.array(value, np.int32)}
    return ir.Node(name, "Const", (), control, attrs=attrs)


def counting(limit: int = 10) -> dict[str, ir.Node]:
    """Return the graph of `while_loop(lambda i: i < limit, lambda i: i + step, [start])`."""
    frame = {"frame_name": b"loop"}
    nodes = [
        make("Placeholder", "start", dtype=dtypes.int32),
        make("Placeholder", "step", dtype=dtypes.int32),
        make("Enter", "enter", "start", is_constant=False, **frame),
        make("Enter", "enter_step", "step", is_constant=True, **frame),
        make("Merge", "merge", "enter", "next", N=2),
        const("limit", limit, "merge"),
        make("Less", "less", "merge", "limit"),
        make("LoopCond", "decide", "less"),
        make("Switch", "switch", "merge", "decide"),
        make("Identity", "pivot", "switch:1"),
        make("AddV2", "add", "pivot", "enter_step"),
        make("NextIteration", "next", "add"),
        make("Exit", "exit", "switch"),
    ]
    return {node.name: node for node in nodes}


FEEDS = (ir.Edge("start"), ir.Edge("step"))


def on_this_task(nodes: Mapping[str, ir.Node], callers: Mapping[str, str]) -> dict[str, ir.Node]:
    return {name: replace(node, device=HERE) for name, node in nodes.items()}


def lifted(
    nodes: Mapping[str, ir.Node], *fetches: str
) -> tuple[dict[str, ir.Node], dict[str, function.Function]]:
    edges = tuple(map(ir.parse_tensor, fetches))
    needed = prune.prune(nodes, FEEDS, edges, ())
    verify.verify(needed, {edge: infer.Fed(dtypes.int32, ()) for edge in FEEDS})
    return lift.lift(needed, FEEDS, [edge.node for edge in edges])


def compiled(
    nodes: Mapping[str, ir.Node], fetch: str, library: function.Library | None = None
) -> program.Program:
    """Compile a graph whose feeds are the scalars `start` and `step`."""
    facts = {edge: infer.Fed(dtypes.int32, ()) for edge in FEEDS}
    edge = ir.parse_tensor(fetch)
    needed = prune.prune(nodes, FEEDS, (edge,), ())
    called = inline.inline(needed, library or {}, [edge.node], on_this_task)
    acyclic, functions = lift.lift(called, FEEDS, [edge.node])
    special = specialise.Specialiser(library or {}, functions, fold.evaluate, on_this_task)
    simple, known = simplify.simplify(
        acyclic, facts, frozenset([edge.node]), fold.evaluate, special
    )
    kept = prune.prune(simple, [each for each in FEEDS if each.node in simple], (edge,), ())
    cut = partition.partition(kept, dict.fromkeys(kept, HERE), FEEDS, [edge], known, HERE)
    part = replace(cut[HERE], functions=special.called(cut[HERE].nodes), feeds=FEEDS)
    return program.Program(part, containers.ResourceManager().for_session())


def evaluate(built: program.Program, start: int, step: int) -> Any:
    context = built.take()
    context.feed([np.array(start, np.int32), np.array(step, np.int32)])
    built.run_segment(context, 0)
    (value,) = built.fetch(context)
    built.give_back(context)
    return int(value)


def test_a_frame_becomes_one_node_with_two_functions() -> None:
    nodes, functions = lifted(counting(), "exit:0")
    assert [node.op for node in nodes.values() if node.op != "Placeholder"] == [
        "StatelessWhile",
        "Identity",
    ]
    loop = nodes["decide"]
    assert loop.inputs == FEEDS
    body = functions[loop.attrs["body"].name]
    assert [argument.name for argument in body.arguments] == ["merge", "enter_step"]
    assert body.results == (ir.Edge("add"), ir.Edge("enter_step"))
    assert set(body.nodes) == {"pivot", "add"}
    cond = functions[loop.attrs["cond"].name]
    assert set(cond.nodes) == {"limit", "less"}
    assert cond.nodes["limit"].control == ()


@pytest.mark.parametrize(("start", "step"), [(0, 1), (3, 4), (10, 1), (99, 1)])
def test_a_lifted_loop_counts(start: int, step: int) -> None:
    built = compiled(counting(), "exit:0")
    expected = start
    while expected < 10:
        expected += step
    assert [evaluate(built, start, step) for _ in range(2)] == [expected, expected]


def test_a_graph_without_frames_stays_as_it_is() -> None:
    nodes = {"x": make("Placeholder", "start", dtype=dtypes.int32)}
    assert lift.lift(nodes, (), ["x"]) == (nodes, {})


def test_an_enter_that_no_loop_uses_is_an_identity() -> None:
    frame = {"frame_name": b"no loop"}
    nodes = {
        node.name: node
        for node in (
            make("Placeholder", "start", dtype=dtypes.int32),
            make("Placeholder", "step", dtype=dtypes.int32),
            make("Enter", "enter", "start", is_constant=False, **frame),
            make("Neg", "neg", "enter"),
            make("Exit", "exit", "neg"),
        )
    }
    found, functions = lifted(nodes, "exit:0")
    assert [found[name].op for name in ("enter", "neg", "exit")] == ["Identity", "Neg", "Identity"]
    assert not functions
    assert evaluate(compiled(nodes, "exit:0"), 5, 0) == -5


def test_control_dependencies_of_enters_become_those_of_the_loop() -> None:
    nodes = counting()
    nodes["before"] = make("NoOp", "before")
    nodes["enter"] = replace(nodes["enter"], control=("before",))
    found, _ = lifted(nodes, "exit:0")
    assert found["decide"].control == ("before",)


def gated() -> dict[str, ir.Node]:
    """Return a loop in which both sides of the switch wait for a gate."""
    changed = [
        make("NoOp", "gate", control=["switch"]),
        make("Identity", "final", "switch", control=["gate"]),
        make("Identity", "pivot", "switch:1", control=["gate"]),
        make("Exit", "exit", "final"),
    ]
    return {**counting(), **{node.name: node for node in changed}}


def test_a_gate_between_the_sides_of_a_loop_variable_is_dropped() -> None:
    nodes, functions = lifted(gated(), "exit:0")
    assert nodes["exit"].inputs == (ir.Edge("decide"),)
    assert set(functions[nodes["decide"].attrs["body"].name].nodes) == {"pivot", "add"}
    assert evaluate(compiled(gated(), "exit:0"), 3, 4) == 11


def test_a_gate_that_waits_for_more_than_a_loop_variable_is_refused() -> None:
    nodes = gated() | {"gate": make("NoOp", "gate", control=["switch", "limit"])}
    with pytest.raises(errors.InvalidArgumentError, match="no iteration of its loop needs"):
        lifted(nodes, "exit:0")


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"exit": make("Exit", "exit", "pivot")}, "exit"),
        ({"add": make("AddV2", "add", "switch:0", "enter_step")}, "switch"),
        ({"merge": make("Merge", "merge", "next", "next", N=2)}, "exit"),
        ({"switch": make("Switch", "switch", "limit", "decide")}, "switch"),
        ({"add": make("AddV2", "add", "pivot", "step")}, "add"),
        ({"next": make("NextIteration", "next", "step")}, "decide|next|merge|switch"),
        ({"step_exit": make("Exit", "exit", "step")}, "exit"),
    ],
)
def test_a_frame_that_no_while_loop_builds_is_refused_with_its_node(
    change: dict[str, ir.Node], refused: str
) -> None:
    nodes = {**counting(), **{node.name: node for node in change.values()}}
    with pytest.raises(errors.InvalidArgumentError, match=refused):
        lifted(nodes, "exit:0")


def test_a_loop_with_two_conditions_is_refused() -> None:
    nodes = counting()
    second = [
        make("Enter", "enter_2", "start", is_constant=False, frame_name=b"loop"),
        make("Merge", "merge_2", "enter_2", "next_2", N=2),
        make("Less", "less_2", "merge_2", "enter_step"),
        make("LoopCond", "decide_2", "less_2"),
        make("Switch", "switch_2", "merge_2", "decide_2"),
        make("NextIteration", "next_2", "switch_2:1"),
        make("Exit", "exit_2", "switch_2"),
    ]
    nodes.update((node.name, node) for node in second)
    with pytest.raises(errors.InvalidArgumentError, match="more than one LoopCond"):
        lifted(nodes, "exit:0", "exit_2:0")


def without_a_condition(**constant: bool) -> dict[str, ir.Node]:
    """Return a frame without a LoopCond. The tensors in `constant` enter each iteration."""
    frame = {"frame_name": b"loop"}
    nodes = [
        make("Placeholder", "start", dtype=dtypes.int32),
        make("Placeholder", "step", dtype=dtypes.int32),
        make("Enter", "enter", "start", is_constant=False, **frame),
        make("Enter", "enter_step", "step", is_constant=constant.get("step", False), **frame),
        make("Merge", "merge", "enter", "next", N=2),
        make("AddV2", "add", "merge", "enter_step"),
        make("NextIteration", "next", "add"),
        make("Exit", "exit", "add"),
    ]
    return {node.name: node for node in nodes}


def test_a_frame_without_a_condition_has_the_results_of_its_first_iteration() -> None:
    nodes, functions = lifted(without_a_condition(), "exit:0")
    assert not functions
    assert nodes["merge"].inputs == (ir.Edge("enter"),)
    assert nodes["merge"].attrs["N"] == 1
    assert evaluate(compiled(without_a_condition(), "exit:0"), 3, 4) == 7


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"next": make("NextIteration", "next", "merge")},
        {"exit": make("Exit", "exit", "merge")},
        {"exit": make("Exit", "exit", "add", control=["print"]),
         "print": make("Print", "print", "merge", "merge", U=[dtypes.int32])},
    ],
)  # fmt: skip
def test_a_frame_without_a_condition_and_with_more_iterations_is_refused(
    change: dict[str, ir.Node],
) -> None:
    nodes = {**without_a_condition(step=not change), **change}
    with pytest.raises(errors.InvalidArgumentError, match="LoopCond"):
        lifted(nodes, "exit:0")


def test_a_cycle_that_is_no_loop_is_refused() -> None:
    nodes = {**counting(), "add": make("AddV2", "add", "pivot", "add")}
    with pytest.raises(errors.InvalidArgumentError, match="topological order"):
        lifted(nodes, "exit:0")


def double() -> function.Function:
    argument = function.Argument("x", dtypes.int32)
    nodes = {"sum": make("AddV2", "sum", "x", "x")}
    return function.Function(
        "double", (argument,), (ir.Edge("sum"),), nodes, result_dtypes=(dtypes.int32,)
    )


def call(name: str, source: str, called: str = "double") -> ir.Node:
    attrs = {
        "Tin": [dtypes.int32],
        "Tout": [dtypes.int32],
        "f": function.Reference(called),
    }
    return ir.Node(name, "PartitionedCall", (ir.parse_tensor(source),), attrs=attrs)


def test_a_call_is_replaced_by_the_nodes_of_its_function() -> None:
    nodes = {**counting(), "call": call("call", "exit:0")}
    assert evaluate(compiled(nodes, "call:0", {"double": double()}), 0, 3) == 24


def test_a_function_that_calls_itself_is_refused() -> None:
    loop = replace(double(), nodes={"sum": call("sum", "x")})
    nodes = {**counting(), "call": call("call", "exit:0")}
    with pytest.raises(errors.InvalidArgumentError, match="'double' calls itself"):
        compiled(nodes, "call:0", {"double": loop})


def test_a_copy_of_a_loop_variable_does_not_take_the_name_of_another_argument() -> None:
    x, y = (function.Argument(name, dtypes.int32) for name in "xy")
    body = function.Function("body", (x, y), (x.edge, y.edge), {})
    same, swapped = (
        function.Function("cond", arguments, (x.edge,), {}) for arguments in ((x, y), (y, x))
    )
    assert loop_copies.copy_name(1, body, same) == "y"
    assert loop_copies.copy_name(1, body, swapped) == "y_"


def test_a_call_of_an_unknown_function_is_refused() -> None:
    nodes = {**counting(), "call": call("call", "exit:0", "missing")}
    with pytest.raises(errors.NotFoundError, match="Function missing"):
        compiled(nodes, "call:0")


def triple() -> function.Function:
    nodes = {
        "twice": make("AddV2", "twice", "x", "x"),
        "sum": make("AddV2", "sum", "twice", "x"),
    }
    return replace(double(), name="triple", nodes=nodes)


@pytest.mark.parametrize(("number", "expected"), [(0, 20), (1, 30), (2, 20), (7, 20), (-1, 20)])
def test_a_case_runs_the_branch_with_its_number_or_else_the_last(
    number: int, expected: int
) -> None:
    attrs = {
        "Tin": [dtypes.int32],
        "Tout": [dtypes.int32],
        "branches": list(map(function.Reference, ("double", "triple", "double"))),
    }
    inputs = (ir.Edge("step"), ir.Edge("start"))
    nodes = {**counting(), "case": ir.Node("case", "Case", inputs, attrs=attrs)}
    library = {"double": double(), "triple": triple()}
    assert evaluate(compiled(nodes, "case:0", library), 10, number) == expected


def test_a_branch_with_too_few_results_is_refused() -> None:
    attrs = {
        "Tin": [],
        "Tout": [dtypes.int32],
        "branches": list(map(function.Reference, ("empty", "empty"))),
    }
    nodes = {**counting(), "case": ir.Node("case", "Case", (ir.Edge("step"),), attrs=attrs)}
    with pytest.raises(errors.InvalidArgumentError, match="expects 1 results"):
        compiled(nodes, "case:0", {"empty": function.Function("empty", (), (), {})})


def test_a_client_cannot_send_a_node_that_runs_registered_programs() -> None:
    attrs = {"Tin": [], "T": [], "cond": b"{}", "body": b"{}", "output_shapes": []}
    forged = ir.Node("forged", "_While", attrs=attrs)
    with pytest.raises(errors.InvalidArgumentError, match="only Capstan itself"):
        verify.verify({"forged": forged}, {})


def test_an_error_in_an_iteration_names_the_node() -> None:
    nodes = {**counting(), "add": make("FloorDiv", "add", "pivot", "enter_step")}
    with pytest.raises(errors.InvalidArgumentError, match=r"zero\n\t \[\[\{\{node add\}\}\]\]"):
        evaluate(compiled(nodes, "exit:0"), 1, 0)
