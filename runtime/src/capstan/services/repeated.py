"""A step that a client repeats until it fails, as a queue runner does (`services.rows`)."""

import functools
import queue
import threading
from collections.abc import Callable

from capstan import errors
from capstan.core import devices
from capstan.framework.ops import rowwise
from capstan.resources import waiters
from capstan.services import cores, rows, session_graph, signature, step, step_run
from capstan.transport import cancellation as cancellations

_PATIENCE_SECONDS = 1.0
"""How long a thread waits for its turn.

It then runs an original step, because this wait does not notice that the step is cancelled.
"""

_GIVING_BACK_SECONDS = 1.0
"""How long a thread at the end of the elements waits for steps that may give elements back.

A step takes longer only if it waits to add its results to a queue. It then no longer fails.
"""

_LONGEST = 4
"""A step that keeps failing is tried again after at most 2**4 times the elements that it takes."""


class Repeated:
    """A step that does the work of several steps. Thread-safe.

    If the step fails, the elements that it has taken go back to their source. The original steps
    then handle them one after the other, so that only the element that fails is lost.

    At most one thread for each core runs the step at the same time. With more threads, each step
    would only take fewer elements.
    """

    def __init__(self, request: signature.Request, most: int) -> None:
        """`most` is the largest number of elements that the step takes."""
        self._request = request
        self._most = most
        self._turns: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(cores.usable()):
            self._turns.put(None)
        self._failures = 0
        self._single = 0  # how many elements the original steps handle first
        self._progress = threading.Condition()
        self._running = 0
        self._given_back = 0  # how many steps have failed, so that their elements went back

    def run(
        self,
        steps: step.Steps,
        deadline: float | None,
        cancellation: cancellations.Cancellation | None,
    ) -> bool:
        """Run the step. Return False, and take no element, if the original step has to run.

        Raises:
            OpError: the step was ended.
        """
        # Two threads may change the numbers at once. One original step more or less does no harm.
        if self._single > 0:
            self._single -= 1
            return False
        try:
            self._turns.get(timeout=_PATIENCE_SECONDS)
        except queue.Empty:
            return False
        with self._progress:
            self._running += 1
        is_done = False
        try:
            self._request.run((), steps, deadline, cancellation)
            is_done = True
        except waiters.ENDS:
            raise
        except errors.OpError:
            self._single = self._most << min(self._failures, _LONGEST)
            self._failures += 1
            return False
        finally:
            self._end(is_done)
            self._turns.put(None)
        self._failures = 0
        return True

    def _end(self, is_done: bool) -> None:
        with self._progress:
            self._running -= 1
            self._given_back += not is_done
            self._progress.notify_all()

    def mark(self) -> int:
        """Return the number of steps that have given their elements back, for `gave_back`."""
        return self._given_back

    def gave_back(self, mark: int) -> bool:
        """Wait until no step runs. Return whether a step gave elements back after `mark()`.

        An original step that finds no more elements may find those.
        """
        with self._progress:
            self._progress.wait_for(lambda: not self._running, _GIVING_BACK_SECONDS)
            return self._given_back != mark


def find(
    graph: session_graph.SessionGraph,
    requested: signature.Signature,
    home: str,
    compile_nodes: Callable[..., step_run.CompiledStep],
) -> Repeated | None:
    """Return the step that does the work of several steps, or None if there is none.

    All nodes must be on the task `home`. `compile_nodes` takes the nodes and the functions of a
    step, and then the arguments of a `signature.Compile`.
    """
    if requested.feeds or requested.fetches or len(requested.targets) != 1:
        return None
    (target,) = requested.targets
    try:
        nodes = graph.needed(graph.nodes, (), (), requested.targets)
        is_here = all(devices.task_of(each.device) == home for each in nodes.values())
        in_turn = any(rowwise.adds_to(each, nodes[target]) for each in graph.nodes.values())
        found = rows.widen(nodes, target, in_turn=in_turn) if is_here else None
    except errors.OpError:
        return None  # the step raises the error
    if found is None:
        return None
    compile_step = functools.partial(compile_nodes, found.nodes, graph.functions)
    variants = signature.Variants(requested.in_order(), compile_step)
    return Repeated(signature.Request(requested, variants), found.most)
