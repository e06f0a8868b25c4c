"""A step that a client repeats until it fails, as a queue runner does (`graph.rows`)."""

from dataclasses import dataclass

from capstan import errors
from capstan.graph import rows
from capstan.services import signature, step
from capstan.transport import cancellation as cancellations


@dataclass(frozen=True, slots=True)
class Repeated:
    """A step that reads several records, and a step that enqueues them. Thread-safe.

    `single` enqueues one record.
    """

    read: signature.Request
    enqueue: signature.Request
    single: signature.Request

    @classmethod
    def of(
        cls,
        found: rows.Rows,
        target: str,
        compile_wide: signature.Compile,
        compile_single: signature.Compile,
    ) -> "Repeated":
        """Return the steps of `target`.

        `compile_wide` compiles steps over the nodes of `found`, and `compile_single` those of the
        session's graph.
        """
        record, records = (
            tuple(edge.tensor for edge in edges) for edges in (found.record, found.records)
        )
        return cls(
            _request(signature.Signature((), records, ()), compile_wide),
            _request(signature.Signature(records, (), (target,)), compile_wide),
            _request(signature.Signature(record, (), (target,)), compile_single),
        )

    def run(
        self,
        steps: step.Steps,
        deadline: float | None,
        cancellation: cancellations.Cancellation | None,
    ) -> None:
        """Read and enqueue several records.

        If the computation fails, enqueue the records before the one that fails, and raise its
        error. The records after it are lost.

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


def _request(requested: signature.Signature, compile_step: signature.Compile) -> signature.Request:
    return signature.Request(requested, signature.Variants(requested.in_order(), compile_step))
