"""Functions that kernels call, such as the function of a `MapDataset` for each element.

The function becomes one Python function without buffers, locks or contexts. A call costs little
more than the calls of its kernels.
"""

import functools
import itertools
import threading
from collections.abc import Callable
from typing import Any

from capstan import errors
from capstan.core import cancellation, function
from capstan.core import node as ir
from capstan.executor import bind, blocks, emit, faults, frames, listing, loops
from capstan.framework import facts, opdef
from capstan.partition import parts
from capstan.resources import containers

_serial = itertools.count()

Call = Callable[..., tuple[Any, ...]]
Build = Callable[[cancellation.Cancellation], Call]
"""Returns the Python function of a pass. The cancellation ends the loops of the function."""


class Callee:
    """The function that the attribute `attribute` of `node` refers to. Thread-safe.

    The function is compiled when it is first needed.
    """

    def __init__(
        self,
        node: ir.Node,
        caller: parts.Part,
        resources: containers.SessionResources,
        attribute: str,
    ) -> None:
        self._part = loops.part_of(node, attribute, caller)
        self._stacked = blocks.over_blocks(self._part)
        # A dataset may outlive the session, and must not keep the objects of the session alive.
        self._resources = resources.apart()
        self._lock = threading.Lock()
        self._shared: Build | None = None
        self._over_blocks: Call | None = None
        nodes = _all_nodes(self._part)
        self.ops = frozenset(each.op for each in nodes)
        """The operations of the function, and of the functions that it calls or keeps."""
        self._waits = any(bind.waits(each) for each in nodes)
        rows = [opdef.lookup(each.op) for each in nodes]
        self.keeps_state = any(row.effect.random or row.effect.makes for row in rows)
        self.may_block = any(
            row.effect.blocks or row.effect.external or row.role is facts.Role.WHILE for row in rows
        )
        """Whether a call may wait for something outside of the function, or loop for long."""

    @property
    def over_blocks(self) -> Call | None:
        """The function for stacked elements, or None if it needs the elements one by one."""
        if self._stacked is None:
            return None
        with self._lock:
            if self._over_blocks is None:
                build = self._compiled(self._stacked, self._resources, cancellation.Cancellation())
                self._over_blocks = build(cancellation.Cancellation())
            return self._over_blocks

    def bound(self, cancelled: cancellation.Cancellation | None = None) -> Call:
        """Return the function, with random numbers and objects of its own.

        `cancelled` ends the loops of the function, and its operations that wait. The function
        returns a tuple of results. In place of an OutOfRangeError it raises StopIteration, because
        such a function ends its dataset. Any other error names the node.

        Raises:
            OpError: the function cannot be compiled.
        """
        cancelled = cancelled or cancellation.Cancellation()
        if self.keeps_state or self._waits:
            resources = self._resources.apart() if self.keeps_state else self._resources
            return self._compiled(self._part, resources, cancelled)(cancelled)
        with self._lock:
            if self._shared is None:
                self._shared = self._compiled(self._part, self._resources, cancelled)
        return self._shared(cancelled)

    def _compiled(
        self,
        part: parts.Part,
        resources: containers.SessionResources,
        cancelled: cancellation.Cancellation,
    ) -> Build:
        """Compile a function. `cancelled` ends its operations that wait."""
        code = emit.write_function(part, resources, Callee, cancelled)
        filename = f"capstan function {next(_serial)} of {self._part.task}"
        module = listing.module(code.source)
        written = compile(code.source, filename, "exec")
        exec(frames.with_room(written, has_loops=code.loops), module)

        def build(cancelled: cancellation.Cancellation) -> Call:
            bound = code.bound
            if code.loops:
                ends: list[errors.OpError] = []
                cancelled.register(ends.append)
                bound = (*bound[:-1], ends)
            call: Call = module["build"](bound, ())

            @functools.wraps(call)
            def checked(*arguments: Any) -> tuple[Any, ...]:
                try:
                    return call(*arguments)
                except errors.OutOfRangeError as end:
                    raise StopIteration from end
                except Exception as fault:
                    raise faults.blame(fault, code, filename) from fault

            return checked

        return build


def _all_nodes(part: parts.Part) -> list[ir.Node]:
    """Return the nodes of a function and of the functions that it calls or keeps."""
    found = list(part.nodes)
    seen: set[str] = set()
    for node in found:
        for value in node.attrs.values():
            if isinstance(value, function.Reference) and value.name not in seen:
                seen.add(value.name)
                found += part.functions[value.name].nodes.values()
    return found
