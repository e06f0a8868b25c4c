"""The module of a traced part, beside the module of the same part without a trace."""

import itertools
import time
from typing import Any

import numpy as np
import pytest

import capstan.kernels  # noqa: F401 - fills the table
from capstan.core import dtypes, step_stats
from capstan.core import node as ir
from capstan.executor import program, trace, traced_program
from capstan.framework import ops  # noqa: F401 - fills the registry
from capstan.graph import infer
from capstan.partition import partition, parts
from capstan.resources import containers

HERE = "/job:worker/replica:0/task:0"
CPU = f"{HERE}/device:CPU:0"


def chain() -> parts.Part:
    """Return a part that computes `tanh(-x)`."""
    fed = {ir.Edge("x"): infer.Fed(dtypes.float32, (3,))}
    known = infer.Knowledge(fed)
    graph = {
        name: ir.Node(name, op, (ir.Edge(source),), device=CPU, attrs={"T": dtypes.float32})
        for name, op, source in (("a", "Neg", "x"), ("b", "Tanh", "a"))
    }
    for node in graph.values():
        known.learn(node)
    tasks = dict.fromkeys(graph, HERE)
    return partition.partition(graph, tasks, list(fed), [ir.Edge("b")], known, HERE)[HERE]


def built(part: parts.Part) -> program.Program:
    kind = traced_program.TracedProgram if parts.is_traced(part) else program.Program
    return kind(part, containers.ResourceManager().for_session())


def evaluate(compiled: program.Program) -> list[Any]:
    context = compiled.take()
    context.feed([np.float32([1, 2, 3])])
    compiled.run_segment(context, 0)
    return list(compiled.fetch(context))


def test_the_module_without_a_trace_takes_no_time() -> None:
    plain = built(chain())
    assert "k1()" not in plain.code.source
    assert "k0(0" not in plain.code.source
    assert plain.code.timed == ()
    assert parts.trace_edge(HERE) not in plain.part.fetches


def test_the_module_with_a_trace_takes_the_time_around_each_node() -> None:
    (part,) = parts.traced({HERE: chain()}).values()
    compiled = built(part)
    *values, report = evaluate(compiled)
    np.testing.assert_array_equal(values, evaluate(built(chain())))
    stats = step_stats.joined([report])
    (device,) = stats.dev_stats
    assert device.device == CPU
    assert [entry.node_name for entry in device.node_stats] == ["_SOURCE", "a", "b"]
    assert [node.name for node in compiled.code.timed] == ["a", "b"]


def test_each_step_has_a_report_of_its_own() -> None:
    (part,) = parts.traced({HERE: chain()}).values()
    compiled = built(part)
    reports = [step_stats.joined([evaluate(compiled)[-1]]) for _ in range(3)]
    assert [len(stats.dev_stats[0].node_stats) for stats in reports] == [3, 3, 3]
    starts = [stats.dev_stats[0].node_stats[0].all_start_nanos for stats in reports]
    assert starts == sorted(starts)


def test_the_start_of_a_step_is_right_if_its_thread_is_suspended_between_the_clocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    suspended = itertools.chain([5_000_000_000], itertools.repeat(0))
    now = {"clock": 7}

    def counter() -> int:
        now["clock"] += next(suspended)
        return now["clock"]

    monkeypatch.setattr(time, "time_ns", lambda: now["clock"] + 100)
    monkeypatch.setattr(time, "perf_counter_ns", counter)
    report = trace.Recorder(chain(), ()).report()
    monkeypatch.undo()
    (device,) = step_stats.joined([report]).dev_stats
    assert device.node_stats[0].all_start_nanos == 5_000_000_107


@pytest.mark.parametrize("size, shown", [(12, "[12B]"), (3 << 20, "[3.0MB]")])
def test_the_reports_of_two_tasks_are_joined_into_transfers(size: int, shown: str) -> None:
    there = "/job:ps/replica:0/task:0/device:CPU:0"
    sent = step_stats.encode({there: [step_stats.source(5), step_stats.sent("x", size, 2_000)]})
    got = step_stats.encode({CPU: [step_stats.source(7), step_stats.received("x", 9_000)]})
    reports = [np.array(stats.SerializeToString(), dtype=object) for stats in (sent, got)]
    first, second = step_stats.joined(reports).dev_stats
    assert [entry.node_name for entry in first.node_stats] == ["_SOURCE"]
    _, transfer = second.node_stats
    assert transfer.timeline_label == f"{shown} x from {there} to {CPU}"
    assert (transfer.all_start_micros, transfer.all_end_rel_micros) == (2, 7)


def test_a_transfer_between_clocks_that_differ_never_ends_before_it_begins() -> None:
    sent = step_stats.encode({CPU: [step_stats.sent("x", 1, 9_000)]})
    got = step_stats.encode({CPU: [step_stats.received("x", 2_000)]})
    reports = [np.array(stats.SerializeToString(), dtype=object) for stats in (sent, got)]
    _, entry = step_stats.joined(reports).dev_stats[0].node_stats
    assert (entry.all_start_micros, entry.all_end_rel_micros) == (9, 0)
