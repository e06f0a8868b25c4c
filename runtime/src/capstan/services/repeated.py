"""A step that a client repeats until it fails, as a queue runner does (`graph.rows`)."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

from capstan import errors
from capstan.core import devices
from capstan.graph import rows
from capstan.services import session_graph, signature, step, step_run
from capstan.transport import cancellation as cancellations


@dataclass(frozen=True, slots=True)
class Repeated:
    """A step that reads several records, and a step that enqueues them. Thread-safe.

    `single` enqueues one record.
    """

    read: signature.Request
    enqueue: signature.Request
    single: signature.Request

    def run(
        self,
        steps: step.Steps,
        deadline: float | None,
        cancellation: cancellations.Cancellation | None,
    ) -> None:
        """Read and enqueue several records.

        If the computation of a record fails, enqueue the records before this record, and raise
        the error. The records after this record are lost.

        Raises:
            OpError: as `step.Steps.run`.
        """
        keys, values = self.read.run((), steps, deadline, cancellation)
        try:
            self.enqueue.run((keys, values), steps, deadline, cancellation)
        except errors.InvalidArgumentError:
            for index in range(len(keys)):
                record = keys[index, ...], values[index, ...]
                self.single.run(record, steps, deadline, cancellation)


def find(
    graph: session_graph.SessionGraph,
    requested: signature.Signature,
    home: str,
    compile_nodes: Callable[..., step_run.CompiledStep],
    compile_whole: signature.Compile,
) -> Repeated | None:
    """Return the steps that do the work of several steps, or None if there are none.

    All nodes must be on the task `home`. `compile_nodes` takes the nodes and the functions of a
    step, and then the arguments of a `signature.Compile`. `compile_whole` compiles steps over the
    nodes of `graph`.
    """
    if requested.feeds or requested.fetches or len(requested.targets) != 1:
        return None
    (target,) = requested.targets
    try:
        nodes = graph.needed(graph.nodes, (), (), requested.targets)
        is_here = all(devices.task_of(each.device) == home for each in nodes.values())
        found = rows.widen(nodes, target) if is_here else None
    except errors.OpError:
        return None  # the step raises the error
    if found is None:
        return None
    compile_wide = functools.partial(compile_nodes, found.nodes, graph.functions)
    record, records = (
        tuple(edge.tensor for edge in edges) for edges in (found.record, found.records)
    )
    return Repeated(
        _request(signature.Signature((), records, ()), compile_wide),
        _request(signature.Signature(records, (), (target,)), compile_wide),
        _request(signature.Signature(record, (), (target,)), compile_whole),
    )


def _request(requested: signature.Signature, compile_step: signature.Compile) -> signature.Request:
    return signature.Request(requested, signature.Variants(requested.in_order(), compile_step))
