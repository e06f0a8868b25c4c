"""A compiled part that records the times of its nodes, of its waits and of its messages."""

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capstan.core import cancellation, step_stats
from capstan.executor import program, trace
from capstan.kernels import registry
from capstan.partition import parts
from capstan.resources import containers


class _Context(program.Context):
    """A context with the recorder of its step."""

    __slots__ = ("recorder", "starts")

    def __init__(
        self,
        recorder: trace.Recorder,
        incoming: Sequence[parts.Message],
        feed: Callable[[program.Values], None],
        arrive: Mapping[int, Callable[[program.Values], None]],
        *more: Any,
    ) -> None:
        self.recorder = recorder
        self.starts: dict[int, int] = {}
        """The start of each waiting node, in nanoseconds of `time.perf_counter_ns`."""
        noted = {
            message.number: functools.partial(self._arrive, message, arrive[message.number])
            for message in incoming
        }
        super().__init__(feed, noted, *more)

    def _arrive(
        self,
        message: parts.Message,
        take: Callable[[program.Values], None],
        values: program.Values,
    ) -> None:
        self.recorder.arrived(message)
        take(values)


class TracedProgram(program.Program):
    """A part whose last fetch is the report of its times. Thread-safe, as `Program`."""

    def __init__(self, part: parts.Part, resources: containers.SessionResources) -> None:
        super().__init__(part, resources)
        nodes = {node.name: node for node in part.nodes}
        self._waiting = [nodes[name] for name in self.layout.waiting]

    def take(self) -> program.Context:
        recorder = trace.Recorder(self.part, self.code.timed)
        bound = (recorder, *self.code.bound[1:])
        return _Context(recorder, self.part.incoming, *self._functions(bound))

    def give_back(self, context: program.Context) -> None:
        """Drop the context, because its recorder serves only one step."""

    def run_segment(self, context: program.Context, index: int) -> Sequence[program.Values]:
        messages = super().run_segment(context, index)
        for message, values in zip(self.layout.sends[index], messages, strict=True):
            _traced(context).recorder.sent(message, values)
        return messages

    def start(
        self,
        context: program.Context,
        waiting: int,
        done: registry.Done,
        cancelled: cancellation.Cancellation,
    ) -> bool:
        _traced(context).starts[waiting] = time.perf_counter_ns()
        return super().start(context, waiting, done, cancelled)

    def answer(self, context: program.Context, waiting: int, outputs: Sequence[Any]) -> None:
        traced = _traced(context)
        if outputs and isinstance(outputs[-1], step_stats.Report):
            traced.recorder.iterated(outputs[-1])
            outputs = outputs[:-1]
        traced.recorder.note(self._waiting[waiting], traced.starts[waiting], outputs)
        super().answer(context, waiting, outputs)


def _traced(context: program.Context) -> _Context:
    assert isinstance(context, _Context)
    return context
