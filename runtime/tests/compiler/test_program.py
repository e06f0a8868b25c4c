"""Compiled parts: private buffers, errors that name nodes, and copies of sent variables."""

import itertools
import traceback
from typing import Any

import numpy as np
import pytest

import capstan.kernels  # noqa: F401 - fills the table
from capstan import errors
from capstan.core import dtypes, shapes, tensor_shape
from capstan.core import node as ir
from capstan.core.resource_name import ResourceName
from capstan.executor import program, run, waiting_run
from capstan.framework import ops  # noqa: F401 - fills the registry
from capstan.graph import infer
from capstan.partition import partition, parts
from capstan.resources import containers

Edge = ir.Edge
HERE = "/job:worker/replica:0/task:0"
THERE = "/job:ps/replica:0/task:0"
FLOAT = {"T": dtypes.float32}
VARIABLE = {"dtype": dtypes.float32, "shape": tensor_shape.TensorShape([2])}


def make(op: str, name: str, *inputs: str) -> ir.Node:
    return ir.Node(name, op, tuple(map(Edge, inputs)), attrs=FLOAT)


def cut(
    *nodes: ir.Node,
    feeds: dict[str, shapes.Shape],
    fetches: tuple[str, ...],
    there: tuple[str, ...] = (),
) -> dict[str, parts.Part]:
    fed = {Edge(name): infer.Fed(dtypes.float32, shape) for name, shape in feeds.items()}
    known = infer.Knowledge(fed)
    graph = {node.name: node for node in nodes}
    for node in nodes:
        known.learn(node)
    tasks = {name: THERE if name in there else HERE for name in graph}
    return partition.partition(graph, tasks, list(fed), [Edge(f) for f in fetches], known, HERE)


def compiled(part: parts.Part) -> program.Program:
    return program.Program(part, containers.ResourceManager().for_session())


def refuse(work: Any) -> None:
    raise AssertionError("no node of the part waits")


def evaluate(built: program.Program, *feeds: Any) -> list[Any]:
    context = built.take()
    context.feed([np.asarray(feed, np.float32) for feed in feeds])
    built.run_segment(context, 0)
    fetched = [np.array(value) for value in built.fetch(context)]
    built.give_back(context)
    return fetched


@pytest.mark.e2e
def test_a_part_with_many_names_computes_as_one_with_few() -> None:
    names = ["x", *(f"y{index}" for index in range(1000))]
    nodes = [make("Neg", name, source) for source, name in itertools.pairwise(names)]
    (part,) = cut(*nodes, feeds={"x": (2,)}, fetches=(names[-1],)).values()
    (found,) = evaluate(compiled(part), [1.0, 2.0])
    np.testing.assert_array_equal(found, [1, 2])


def test_the_segment_of_a_long_part_has_room_for_the_frames_of_its_calls() -> None:
    names = ["x", *(f"y{index}" for index in range(200))]
    nodes = [make("Neg", name, source) for source, name in itertools.pairwise(names)]
    (part,) = cut(*nodes, feeds={"x": None}, fetches=(names[-1],)).values()
    segment: Any = compiled(part).take().segments[0]
    assert segment.__code__.co_stacksize > 2048


@pytest.mark.parametrize("shape", [(2,), None])
def test_results_are_the_same_with_and_without_planned_buffers(shape: shapes.Shape) -> None:
    (part,) = cut(
        make("Neg", "y", "x"), make("Add", "z", "y", "x"), feeds={"x": shape}, fetches=("z", "y")
    ).values()
    built = compiled(part)
    assert bool(built.code.buffers) == (shape is not None)
    assert [value.tolist() for value in evaluate(built, [1, 2])] == [[0, 0], [-1, -2]]


def test_a_context_belongs_to_one_step_until_it_is_given_back() -> None:
    (part,) = cut(make("Neg", "y", "x"), feeds={"x": (2,)}, fetches=("y",)).values()
    built = compiled(part)
    first, second = built.take(), built.take()
    first.feed([np.array([1, 1], np.float32)])
    second.feed([np.array([2, 2], np.float32)])
    built.run_segment(first, 0)
    built.run_segment(second, 0)
    assert built.fetch(first)[0].tolist() == [-1, -1]
    built.give_back(first)
    assert built.take() is first


def test_an_error_names_the_node_and_the_traceback_shows_its_line() -> None:
    (part,) = cut(
        make("Neg", "fine", "x"),
        make("Add", "layer/broken", "fine", "y"),
        feeds={"x": None, "y": None},
        fetches=("layer/broken",),
    ).values()
    with pytest.raises(errors.InvalidArgumentError) as caught:
        evaluate(compiled(part), [1, 2], [1, 2, 3])
    assert "Incompatible shapes: [2] vs. [3]" in caught.value.message
    assert caught.value.message.endswith("\n\t [[{{node layer/broken}}]]")
    shown = "".join(traceback.format_exception(caught.value.__cause__))
    assert "# 'layer/broken'" in shown


def test_an_uninitialised_variable_is_a_failed_precondition() -> None:
    nodes = (ir.Node("v", "VariableV2", attrs=VARIABLE), make("Identity", "v/read", "v"))
    (part,) = cut(*nodes, feeds={}, fetches=("v/read",)).values()
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized value v"):
        evaluate(compiled(part))


def test_a_node_name_cannot_inject_code_into_a_segment() -> None:
    name = "x\n        raise SystemExit('smuggled')"
    (part,) = cut(make("Neg", name, "x"), feeds={"x": (1,)}, fetches=(name,)).values()
    assert evaluate(compiled(part), [3])[0] == -3


def test_a_variable_that_leaves_its_task_is_a_copy() -> None:
    nodes = (
        ir.Node("v", "VariableV2", attrs=VARIABLE),
        make("Identity", "v/read", "v"),
        make("Neg", "y", "v/read"),
    )
    held = containers.ResourceManager()
    cell = held.variable(ResourceName("localhost", "v"), dtypes.float32)
    cell.assign(np.array([1, 2], np.float32))
    part = cut(*nodes, feeds={}, fetches=("y",), there=("v", "v/read"))[THERE]
    built = program.Program(part, held.for_session())
    ((value,),) = built.run_segment(built.take(), 0)
    assert value.tolist() == [1, 2]
    assert not np.shares_memory(value, cell.read())


def test_two_parts_exchange_messages_until_both_are_done() -> None:
    nodes = (
        make("Neg", "there", "x"),
        make("Neg", "here", "there"),
        make("Add", "back", "here", "there"),
    )
    cuts = cut(*nodes, feeds={"x": (1,)}, fetches=("back",), there=("there", "back"))
    programs = {task: compiled(part) for task, part in cuts.items()}
    runs: dict[str, run.PartRun] = {}
    ended: list[Any] = []

    def send(message: parts.Message, values: program.Values) -> None:
        runs[message.destination].arrive(message.number, values)

    def done(fetches: program.Values, error: errors.OpError | None) -> None:
        ended.append((error, [np.array(value).tolist() for value in fetches]))

    for task, program_of_task in programs.items():
        runs[task] = waiting_run.part_run(program_of_task, send, done, refuse)
    for task, part in cuts.items():
        runs[task].start([np.array([5], np.float32) for _ in part.feeds])
    assert ended == [(None, []), (None, [[0.0]])] or ended == [(None, [[0.0]]), (None, [])]


def test_a_failed_part_calls_done_once_and_ignores_later_messages() -> None:
    nodes = (make("Neg", "there", "x"), make("Neg", "here", "there"))
    cuts = cut(*nodes, feeds={"x": (1,)}, fetches=("here",), there=("there",))
    ended: list[errors.OpError | None] = []
    waiting = waiting_run.part_run(
        compiled(cuts[HERE]), lambda *_: None, lambda _, error: ended.append(error), refuse
    )
    waiting.start([])
    waiting.fail(errors.CancelledError(None, None, "given up"))
    waiting.arrive(cuts[HERE].incoming[0].number, [np.zeros(1, np.float32)])
    assert [type(error) for error in ended] == [errors.CancelledError]


@pytest.mark.parametrize("reads", [1, 2])
def test_a_large_variable_is_sent_without_a_copy_and_does_not_change_meanwhile(reads: int) -> None:
    size = 1 << 17
    attrs = {"dtype": dtypes.float32, "shape": tensor_shape.TensorShape([size])}
    names = ["v", "v/read", "v/read/again"][: reads + 1]
    nodes = (
        ir.Node("v", "VariableV2", attrs=attrs),
        *(make("Identity", name, read) for read, name in itertools.pairwise(names)),
        make("Neg", "y", names[-1]),
    )
    held = containers.ResourceManager()
    cell = held.variable(ResourceName("localhost", "v"), dtypes.float32)
    cell.assign(np.zeros(size, np.float32))
    before = cell.read()
    part = cut(*nodes, feeds={}, fetches=("y",), there=names)[THERE]
    built = program.Program(part, held.for_session())
    messages = built.run_segment(built.take(), 0)
    ((value,),) = messages
    assert np.shares_memory(value, before)
    with cell.lock:
        cell.writable()[:] = 1
    assert not value.any()
    assert cell.read().all()
    built.release(0, messages)
    with cell.lock:
        assert cell.writable() is cell.read()
