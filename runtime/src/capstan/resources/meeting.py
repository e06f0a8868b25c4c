"""A meeting: nodes of a step that wait for each other, and then go on together.

TensorFlow's NcclManager (core/nccl/nccl_manager.h) lets the nodes of a collective meet in this way.
"""

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from capstan import errors
from capstan.core import cancellation
from capstan.resources import waiters


@dataclass(eq=False, slots=True)
class Arrival:
    """A node that has arrived, and the values that it brings."""

    values: Any
    done: waiters.Done
    deregister: Callable[[], None] | None = field(default=None, init=False)


class Meeting:
    """Nodes that meet once in each step. Thread-safe. No method blocks.

    The cancellation of a step tells the steps apart, so concurrent steps never mix.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[cancellation.Cancellation, list[Arrival]] = {}

    def arrive(
        self,
        arrival: Arrival,
        count: int,
        cancelled: cancellation.Cancellation,
        meet: Callable[[Sequence[Arrival]], None],
    ) -> None:
        """Call `meet(arrivals)` if this node is the last of `count` nodes, else wait.

        `meet` answers all of the arrivals. If the step is cancelled before, each node that waits
        gets the error of the cancellation.
        """
        with self._lock:
            waiting = self._waiting.setdefault(cancelled, [])
            waiting.append(arrival)
            is_last = len(waiting) >= count
            if is_last:
                del self._waiting[cancelled]
        if not is_last:
            self._watch(arrival, cancelled)
            return
        for each in waiting:
            if each.deregister is not None:
                each.deregister()
        try:
            meet(waiting)
        except Exception as fault:  # noqa: BLE001 - the step's error, such as a lack of memory
            error = errors.from_exception(fault)
            for each in waiting:
                each.done((), error)

    def _watch(self, arrival: Arrival, cancelled: cancellation.Cancellation) -> None:
        """Answer an arrival that waits when its step is cancelled."""
        deregister = cancelled.register(functools.partial(self._cancel, arrival, cancelled))
        with self._lock:
            if arrival in self._waiting.get(cancelled, ()):
                arrival.deregister = deregister
                return
        deregister()

    def _cancel(
        self, arrival: Arrival, cancelled: cancellation.Cancellation, error: errors.OpError
    ) -> None:
        with self._lock:
            waiting = self._waiting.get(cancelled, [])
            if arrival not in waiting:
                return
            waiting.remove(arrival)
            if not waiting:
                del self._waiting[cancelled]
        arrival.done((), error)
