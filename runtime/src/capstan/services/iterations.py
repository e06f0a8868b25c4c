"""Loops whose iterations are steps of their own, because the body waits or spans tasks.

The master of a session registers the parts of the condition and of the body with their tasks, once.
The task of the loop then runs each iteration as a master runs a step. It starts the parts, and
gives the results to the next iteration. An attribute of the loop's node holds a `LoopFunction` as
text.
"""

import contextlib
import itertools
import json
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import cancellation as cancellations
from capstan.core import node as ir
from capstan.core import step_stats
from capstan.executor import branches
from capstan.kernels import memory, registry
from capstan.partition import parts
from capstan.services import loop_links, remote_parts, step, step_run, worker
from capstan.transport import api


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """A registered part of a function of a loop."""

    task: str
    incarnation: int
    handle: int
    feeds: tuple[ir.Edge, ...]
    fetches: tuple[ir.Edge, ...]


@dataclass(frozen=True, slots=True)
class LoopFunction:
    """A function of a loop: its arguments, its results, and the registered parts that run it.

    Each of `arguments` is the number of a loop variable that is an input of the loop's node, and
    the edge of this variable in the function.
    """

    arguments: tuple[tuple[int, ir.Edge], ...]
    results: tuple[ir.Edge, ...]
    parts: tuple[PlannedPart, ...]

    def to_text(self) -> str:
        """Return the function as text, for an attribute of a node."""
        return json.dumps(
            {
                "arguments": [[index, edge.tensor] for index, edge in self.arguments],
                "results": [edge.tensor for edge in self.results],
                "parts": [
                    {
                        "task": part.task,
                        "incarnation": part.incarnation,
                        "handle": part.handle,
                        "feeds": [edge.tensor for edge in part.feeds],
                        "fetches": [edge.tensor for edge in part.fetches],
                    }
                    for part in self.parts
                ],
            }
        )

    @classmethod
    def from_text(cls, text: bytes) -> "LoopFunction":
        """Return the function that `to_text` wrote."""
        read = json.loads(text)
        return cls(
            tuple((index, ir.parse_tensor(name)) for index, name in read["arguments"]),
            _edges(read["results"]),
            tuple(
                PlannedPart(
                    part["task"],
                    part["incarnation"],
                    part["handle"],
                    _edges(part["feeds"]),
                    _edges(part["fetches"]),
                )
                for part in read["parts"]
            ),
        )


def _edges(names: Sequence[str]) -> tuple[ir.Edge, ...]:
    return tuple(map(ir.parse_tensor, names))


class Iterations:
    """Runs the loops of one task. Thread-safe. A loop in flight holds one thread."""

    def __init__(self, home: worker.Worker, links: api.Links) -> None:
        self._home = home
        self._handles = home.resources.handles
        self._links = links
        self._numbers = itertools.count(1)
        self._epoch = secrets.randbits(32) << 32

    def start(
        self,
        cond: bytes,
        body: bytes,
        values: Sequence[Any],
        done: registry.Done,
        cancellation: cancellations.Cancellation,
    ) -> None:
        """Start a loop in a thread of its own, which calls `done` at the end of the loop.

        `values` are the inputs of the loop's node. `cond` and `body` are texts of `LoopFunction`s.
        """
        links = loop_links.LoopLinks(self._links)
        loop = _Loop(
            step.Steps(links, self._next_step),
            LoopFunction.from_text(cond),
            LoopFunction.from_text(body),
            self._sent,
            cancellation,
        )
        for function in (loop.cond, loop.body):
            loop.steps_of.append(self._compiled(function))

        def run() -> None:
            try:
                with contextlib.closing(links):
                    received = map(self._handles.received, loop.run(values))
                    outputs = [*received, *loop.report()]
            except BaseException as fault:  # noqa: BLE001 - the step's error
                done((), cancellation.error or errors.from_exception(fault))
            else:
                done(outputs, None)

        threading.Thread(target=run, name="capstan-loop", daemon=True).start()

    def _sent(self, value: Any) -> Any:
        """Return a value as an array that the parts of an iteration can receive."""
        if memory.is_on_host(value):
            return np.asarray(value)
        if memory.is_on_device(value):
            return value  # A part of this task takes it as it is, in the memory of a device.
        return self._handles.sent(value, self._home.task)

    def _next_step(self) -> int:
        return self._epoch | (next(self._numbers) & 0xFFFFFFFF)

    def _compiled(self, function: LoopFunction) -> step_run.CompiledStep:
        local = None
        remotes = []
        for part in function.parts:
            if part.task == self._home.task:
                local = self._home.program(part.handle)
            else:
                bare = parts.Part(part.task, (), {}, feeds=part.feeds, fetches=part.fetches)
                remotes.append(remote_parts.Remote(part.task, part.incarnation, part.handle, bare))
        return step_run.CompiledStep(local, tuple(remotes))


class _Loop:
    """One loop in flight."""

    def __init__(
        self,
        steps: step.Steps,
        cond: LoopFunction,
        body: LoopFunction,
        sent: Callable[[Any], Any],
        cancellation: cancellations.Cancellation,
    ) -> None:
        self.cond = cond
        self.body = body
        self.steps_of: list[step_run.CompiledStep] = []
        self._steps = steps
        self._sent = sent
        self._cancellation = cancellation
        self._reports: list[Any] = []
        """The StepStats of the iterations, if the parts of the loop are traced."""

    def report(self) -> list[step_stats.Report]:
        """Return a list with the report of all iterations, or [] if the parts are not traced."""
        if not self._reports:
            return []
        return [step_stats.Report(step_stats.merged(self._reports))]

    def run(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Iterate, and return the outputs of the loop's node. Blocks."""
        values: list[Any] = [None] * len(self.body.results)
        for (index, _), value in zip(self.body.arguments, inputs, strict=True):
            values[index] = value
        deregister = self._cancellation.register(lambda error: self._steps.abandon())
        try:
            while branches.decide(*self._call(self.cond, self.steps_of[0], values)):
                values = self._call(self.body, self.steps_of[1], values)
        finally:
            deregister()
        return values

    def _call(
        self, function: LoopFunction, compiled: step_run.CompiledStep, values: Sequence[Any]
    ) -> list[Any]:
        """Run a function of the loop as one step, and return its results."""
        if self._cancellation.error is not None:
            raise self._cancellation.error
        given = {edge: values[index] for index, edge in function.arguments}
        feeds = {edge: self._sent(value) for edge, value in given.items()}
        fetched = self._steps.run(compiled, feeds, None) if function.parts else {}
        reports = parts.reports(fetched)
        if reports:
            self._reports.append(step_stats.joined(reports, with_source=False))
        return [fetched[edge] if edge in fetched else given.get(edge) for edge in function.results]
