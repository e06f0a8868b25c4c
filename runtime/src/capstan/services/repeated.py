"""A step that a client repeats until it fails, as a queue runner does (`services.rows`)."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from capstan import errors
from capstan.core import devices, node
from capstan.framework.ops import rowwise
from capstan.services import rows, session_graph, signature, step, step_run
from capstan.transport import cancellation as cancellations

_ENDS = (
    errors.CancelledError,
    errors.DeadlineExceededError,
    errors.AbortedError,
    errors.UnavailableError,
)
"""The errors that end a step, possibly after it has enqueued some of the results."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A step that takes several elements, and a step that enqueues the results. Thread-safe.

    `single` enqueues the result of one element. `size` fetches the number of elements in the queue.
    The queue has room for all results if it has at most `most` elements.
    """

    size: signature.Request
    most: float
    take: signature.Request
    enqueue: signature.Request
    single: signature.Request

    def run(
        self,
        steps: step.Steps,
        deadline: float | None,
        cancellation: cancellations.Cancellation | None,
    ) -> bool:
        """Take several elements and enqueue the results.

        Return False, and take none, if the queue has no room for the results. The caller then runs
        the original step: a step that ends while it waits for room loses what it has taken, and the
        original step loses one element only.

        If the computation of an element fails, enqueue the results of those before it, and raise
        the error. The elements after it are lost.

        Raises:
            OpError: as `step.Steps.run`.
        """
        (size,) = self.size.run((), steps, deadline, cancellation)
        if size > self.most:
            return False
        taken = self.take.run((), steps, deadline, cancellation)
        try:
            self.enqueue.run(taken, steps, deadline, cancellation)
        except _ENDS:
            raise
        except errors.OpError:
            for index in range(len(taken[0])):
                element = [column[index, ...] for column in taken]
                self.single.run(element, steps, deadline, cancellation)
        return True


def find(
    graph: session_graph.SessionGraph,
    requested: signature.Signature,
    home: str,
    compile_nodes: Callable[..., step_run.CompiledStep],
) -> Repeated | None:
    """Return the steps that do the work of several steps, or None if there are none.

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
    compile_wide = functools.partial(compile_nodes, found.nodes, graph.functions)
    compile_fed = functools.partial(
        compile_nodes, _without(nodes, found.elements[0].node), graph.functions
    )
    elements = tuple(edge.tensor for edge in found.elements)
    return Repeated(
        _request(signature.Signature((), (found.size.tensor,), ()), compile_wide),
        found.most,
        _request(signature.Signature((), elements, ()), compile_wide),
        _request(signature.Signature(elements, (), (target,)), compile_wide),
        _request(signature.Signature(elements, (), (target,)), compile_fed),
    )


def _without(nodes: Mapping[str, node.Node], awaited: str) -> dict[str, node.Node]:
    """Return the nodes of a step that does not wait for the node `awaited`, whose outputs are fed.

    A control dependency would run that node, and take another element.
    """
    return {
        name: replace(each, control=tuple(other for other in each.control if other != awaited))
        for name, each in nodes.items()
    }


def _request(requested: signature.Signature, compile_step: signature.Compile) -> signature.Request:
    return signature.Request(requested, signature.Variants(requested.in_order(), compile_step))
