"""The operations that a `tf.GradientTape` has recorded (python/eager/tape.py).

A tape records an operation that is built while the tape is on, and that reads a tensor which the
tape watches or which a recorded operation computes. Tensors of integers, which have no gradients,
do not count. The record is worked out from the order of the graph's operations when somebody asks
for it. Until then a tape costs nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from capstan.framework import closures, control_context, facts, func_graph, reverse_pass
from capstan.framework import graph as graphs


@dataclass(slots=True)
class _Span:
    """Operations of a graph that were built while the tape was on: `end` is None if it still is."""

    graph: graphs.Graph
    start: int
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """A variable, its handle or reference, and operations that read it before the tape was on.

    Other operations then read the result of the last of these operations.
    """

    variable: Any
    state: graphs.Tensor
    operations: Sequence[graphs.Operation]


@dataclass(slots=True)
class Record:
    """The recorded operations of one graph, and the variables that they read."""

    operations: dict[graphs.Operation, None] = field(default_factory=dict)
    variables: set[Any] = field(default_factory=set)
    since: dict[graphs.Tensor, int] = field(default_factory=dict)
    """For each tensor: the position in the graph from which on its readers are recorded."""
    passed: closures.Closures = field(init=False)

    def _sees(self, tensor: graphs.Tensor, position: int) -> bool:
        """Return whether an operation at `position` is recorded because it reads `tensor`."""
        since = self.since.get(tensor)
        if since is None or not reverse_pass.is_trainable(tensor):
            return False
        # A loop reads the results of its last iteration, which are built after the reader.
        return since <= position or control_context.role(tensor.op) is facts.Role.NEXT_ITERATION

    def add(self, op: graphs.Operation, position: int, reads: Mapping[graphs.Tensor, Read]) -> None:
        """Add `op`, if it reads a tensor that is watched or that a recorded operation computes."""
        inputs = self.passed.inputs(op)
        for tensor in inputs:
            if tensor in reads:
                self.variables.add(reads[tensor].variable)
                self.operations.update(dict.fromkeys(reads[tensor].operations))
                self.since[tensor] = 0
                self.since[reads[tensor].state] = 0
        if any(self._sees(tensor, position) for tensor in inputs):
            self.operations[op] = None
            for output in op.values():
                # The tape may also watch the output, from a later position on.
                self.since[output] = min(self.since.get(output, position), position)

    def constants(self, targets: Sequence[graphs.Tensor]) -> list[graphs.Tensor]:
        """Return the tensors that the recorded operations, or `targets`, take from others."""
        read = [*targets, *(tensor for op in self.operations for tensor in self.passed.inputs(op))]
        return [tensor for tensor in dict.fromkeys(read) if tensor.op not in self.operations]


class Tape:
    """When a tape was on, and what it watches. Not thread-safe."""

    def __init__(self) -> None:
        self._spans: list[_Span] = []
        self._watched: dict[graphs.Tensor, int] = {}
        self._given: dict[graphs.Operation, None] = {}

    def turn_on(self) -> None:
        graph = graphs.get_default_graph()
        self._spans.append(_Span(graph, graph.version))

    def turn_off(self) -> None:
        span = self._spans[-1]
        span.end = span.graph.version

    def clear(self) -> None:
        """Forget everything that was recorded and watched."""
        self._spans.clear()
        self._watched.clear()
        self._given.clear()

    def watch(self, tensor: graphs.Tensor, operations: Sequence[graphs.Operation] = ()) -> None:
        """Record the operations that read `tensor` and that are built from now on.

        `operations` compute `tensor` from a variable. They count as recorded.
        """
        position = graphs.graph_of([tensor]).version
        self._watched.setdefault(tensor, position)
        self._given.update(dict.fromkeys(operations))

    def default_graphs(self) -> list[graphs.Graph]:
        """Return the graphs that were the default when the tape was turned on."""
        return list(dict.fromkeys(span.graph for span in self._spans))

    def record(self, graph: graphs.Graph, reads: Mapping[graphs.Tensor, Read]) -> Record:
        """Return the recorded operations of `graph` and of the graphs around it.

        `reads` are the tensors through which operations read a variable that the tape watches by
        itself.
        """
        record = Record(dict(self._given))
        for each in reversed(_around(graph)):
            self._add(each, record, reads)
        return record

    def _add(
        self, graph: graphs.Graph, record: Record, reads: Mapping[graphs.Tensor, Read]
    ) -> None:
        """Add the recorded operations of `graph`, after those of the graphs around it."""
        record.since = dict.fromkeys(record.since, 0)
        for tensor, position in self._watched.items():
            record.since[tensor] = position if tensor.graph is graph else 0
        record.passed = closures.Closures(graph, ())
        spans = self._spans_of(graph)
        found = -1
        # A loop reads results of operations that are built later, so one pass may not find all.
        while found < len(record.operations):
            found = len(record.operations)
            for span in spans:
                operations = graph.get_operations()[: span.end]
                for position, op in enumerate(operations[span.start :], span.start):
                    record.add(op, position, reads)

    def _spans_of(self, graph: graphs.Graph) -> list[_Span]:
        """Return the spans of `graph`.

        A function has no span if the tape was turned on in a graph around it. The whole function
        was then built while the tape was on.
        """
        spans = [span for span in self._spans if span.graph is graph]
        around = _around(graph)[1:]
        is_inside = any(span.graph is outer for span in self._spans for outer in around)
        return spans or ([_Span(graph, 0)] if is_inside else [])


def _around(graph: graphs.Graph) -> list[graphs.Graph]:
    """Return `graph` and the graphs around it, innermost first."""
    found = [graph]
    while isinstance(graph, func_graph.FuncGraph):
        graph = graph.outer_graph
        found.append(graph)
    return found
