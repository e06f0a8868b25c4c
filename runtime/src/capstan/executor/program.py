"""A compiled part: its code, and one context for each step in flight.

A context is the generated module bound to its own buffers. A step takes a context from the free
list. It gives the context back when its fetches are copied and its messages are sent. Concurrent
steps therefore never share buffers, and a training loop allocates no new ones. When fewer steps
run at the same time than before, the program drops the contexts that no step needs any more.
"""

import contextlib
import contextvars
import functools
import itertools
import types
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.core import cancellation
from capstan.core.arrays import Array
from capstan.executor import (
    bind,
    callee,
    emit,
    faults,
    frames,
    listing,
    rewrites,
    state,
    turns,
)
from capstan.framework import facts, opdef
from capstan.graph import infer
from capstan.kernels import registry
from capstan.partition import parts
from capstan.resources import containers

Values = Sequence[Array]


def _silent() -> contextvars.Context:
    """Return a context in which NumPy reports no overflow and no division by zero."""
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    return context


_SILENT: Final = _silent()
"""Kernels run in copies of this context. A copy takes a tenth of the time of `np.errstate`."""

_SHRINK_AFTER = 256
"""After this number of steps, the program drops the contexts that none of the steps needed.

The number is a guess.
"""


_LARGE_FEED_BYTES: Final = 1 << 20
_NO_FEED: Final[Any] = np.float32(0)


class Context:
    """The generated functions of a part, bound to buffers that no other step uses."""

    __slots__ = ("_no_feeds", "arrive", "feed", "fetch", "segments", "waiting", "watch")

    def __init__(
        self,
        feed: Callable[[Values], None],
        arrive: Mapping[int, Callable[[Values], None]],
        segments: Sequence[Callable[[], Sequence[Values]]],
        fetch: Callable[[], Values],
        waiting: list[Values | None] | None = None,
        watch: Callable[[Sequence[list[errors.OpError]]], None] | None = None,
    ) -> None:
        self.feed = feed
        self.arrive = arrive
        self.segments = segments
        self.fetch = fetch
        self.waiting = waiting or []
        """The inputs, and then the outputs, of the waiting nodes."""
        self.watch = watch
        """Takes the list that gets an error if the run is cancelled. The error ends the loops."""
        self._no_feeds: Values = ()

    def take_feeds(self, feeds: Values) -> None:
        """Start a step with the values of the feeds."""
        self.feed(feeds)
        for value in feeds:
            if value.nbytes > _LARGE_FEED_BYTES:
                self._no_feeds = (_NO_FEED,) * len(feeds)

    def drop_feeds(self) -> None:
        """Let go of large feeds, because the next step may come much later."""
        if self._no_feeds:
            self.feed(self._no_feeds)
            self._no_feeds = ()


class Program:
    """A part that is ready to run. Thread-safe: each step has its own context."""

    _serial = itertools.count()

    def __init__(self, part: parts.Part, resources: containers.SessionResources) -> None:
        self.part = part
        """The part as it was given. The program runs groups of its nodes as single nodes."""
        part = rewrites.apply(part, resources)
        self.layout = state.Layout.of(part)
        self.plan = state.Plan(self.layout)
        self.code = emit.write(part, resources, callee.Callee)
        self._devices = resources.devices
        self._filename = f"capstan part {next(self._serial)} of {part.task}"
        self._build = self._compile()
        self._free: deque[Context] = deque()
        self._unused = 0
        """The smallest number of free contexts since the last `_shrink`."""
        self._returned = 0
        self._starts = [(name, self.code.starts[name]) for name in self.layout.waiting]
        ops = {node.name: node for node in part.nodes}
        self.beside = frozenset(
            number
            for number, name in enumerate(self.layout.waiting)
            if bind.holds_thread(ops[name])
        )
        """The waiting nodes that run in inter-op threads."""
        ran = (node.device for node in part.nodes if not infer.is_constant(node))
        functions = (function for _, function in self._starts)
        self.aborts = tuple(each.abort for each in functions if hasattr(each, "abort"))
        """Functions that tell other tasks that the part has failed."""
        self.is_parallel = len(set(ran)) > 1
        """Whether several devices run the part, so that segments may run at the same time."""
        self.waits = bool(self._starts) or self.is_parallel
        """Whether a node or a segment of the part may answer late."""
        self.loops = self.code.loops
        """Whether the part has a loop, so that a segment may run without end."""
        departures = {
            number
            for number, (name, _) in enumerate(self._starts)
            if opdef.role(ops[name].op) is facts.Role.DEPARTURE
        }
        is_simple = not (self.is_parallel or self.loops or self.beside)
        self.turns = (turns.of(self.layout, departures) or ()) if is_simple else ()
        """The order in which one thread runs the part by itself (`services.alone`), or nothing."""

    def take(self) -> Context:
        """Return a context that no other step uses until `give_back`.

        Raises:
            ResourceExhaustedError: there is not enough memory for its buffers.
        """
        try:
            context = self._free.pop()
            self._unused = min(self._unused, len(self._free))
            return context
        except IndexError:
            self._unused = 0
            return Context(*self._functions(self.code.bound))

    def _functions(self, bound: Sequence[Any]) -> tuple[Any, ...]:
        """Return the functions of the module, bound to `bound` and to buffers of their own."""
        buffers = tuple(
            self._devices.of(buffer.device).allocate(buffer.shape, buffer.dtype.as_numpy_dtype)
            for buffer in self.code.buffers
        )
        return self._build(bound, buffers)

    def give_back(self, context: Context) -> None:
        """Put back a context whose values have all been copied or sent."""
        context.drop_feeds()
        self._free.append(context)
        self._returned += 1
        if self._returned >= _SHRINK_AFTER:
            self._shrink()

    def _shrink(self) -> None:
        """Drop the contexts that no step has used for a while.

        A step takes the last context of the queue, so unused contexts are the first in the queue.
        """
        for _ in range(self._unused):
            with contextlib.suppress(IndexError):
                self._free.popleft()
        self._unused, self._returned = len(self._free), 0

    def submit(self, work: Callable[[], None]) -> None:
        """Run `work` in an inter-op thread of the task."""
        self._devices.submit(work)

    def run_segment(self, context: Context, index: int) -> Sequence[Values]:
        """Run segment `index` and return the values of each message in `layout.sends[index]`.

        The caller must pass the values to `release` after it has sent the messages.

        Raises:
            OpError: a kernel failed. The message names the node.
        """
        try:
            return _SILENT.copy().run(context.segments[index])
        except Exception as fault:
            raise self.blame(fault) from fault

    def start(
        self,
        context: Context,
        waiting: int,
        done: registry.Done,
        cancelled: cancellation.Cancellation,
    ) -> bool:
        """Start a waiting node. The node calls `done` as `registry.Kernel` describes for `start`.

        Return False if the node is in a branch that is not taken. Then `done` is not called.

        Raises:
            OpError: the node failed at once. The message names it.
        """
        name, function = self._starts[waiting]
        try:
            inputs = context.waiting[waiting]
            if inputs is None:
                return False
            _SILENT.copy().run(function, *inputs, done=done, cancellation=cancelled)
            return True
        except Exception as fault:
            raise faults.named(self.blame(fault), name) from fault

    def answer(self, context: Context, waiting: int, outputs: Values) -> None:
        """Store the outputs of a waiting node for the segments that read them."""
        context.waiting[waiting] = outputs

    def failure(self, waiting: int, error: errors.OpError) -> errors.OpError:
        """Return the error of a waiting node with the name of the node."""
        return faults.named(error, self._starts[waiting][0])

    def release(self, index: int, messages: Sequence[Values]) -> None:
        """Unpin the values that segment `index` returned, after its messages are sent."""
        for pin in self.code.pins[index]:
            pin.cell.unpin(messages[pin.message][pin.place])

    def fetch(self, context: Context) -> Values:
        """Return the fetches. They share the context's buffers, except for copies of variables.

        Raises:
            OpError: a fetch has no value. The message names the node.
        """
        try:
            return context.fetch()
        except Exception as fault:
            raise self.blame(fault) from fault

    def blame(self, fault: Exception) -> errors.OpError:
        """Return `fault` as an OpError with the name of the node whose line raised it."""
        return faults.blame(fault, self.code, self._filename)

    def _compile(self) -> Callable[..., tuple[Any, ...]]:
        text = self.code.source
        written = compile(text, self._filename, "exec")
        compiled = frames.with_room(written, has_loops=self.code.loops)
        module = listing.module(text)
        if self.code.is_flat:
            return functools.partial(_run_module, compiled, module)
        exec(compiled, module)
        build: Callable[..., tuple[Any, ...]] = module["build"]
        return build


def _run_module(
    compiled: types.CodeType, names: Mapping[str, Any], k: object, b: object
) -> tuple[Any, ...]:
    """Return the functions of a flat module, which begins with `names`, for one context."""
    module: dict[str, Any] = {**names, "k": k, "b": b}
    exec(compiled, module)
    built: tuple[Any, ...] = module["built"]
    return built
