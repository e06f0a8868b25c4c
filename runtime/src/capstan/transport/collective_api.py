"""The calls to the leader of collective operations, as in TensorFlow's worker_interface.h."""

from typing import Protocol

from capstan.core import collective
from capstan.transport import cancellation as cancellations


class CollectiveApi(Protocol):
    """What a task asks the leader of collective operations. Thread-safe. The calls block."""

    def complete_group(
        self,
        group: collective.Group,
        device: str,
        kind: collective.Kind,
        cancellation: cancellations.Cancellation,
    ) -> collective.Members:
        """Add a device to its group, and return the group when it is complete.

        Raises:
            InternalError: the device does not fit into the group.
            CancelledError: `cancellation` was set before.
            UnavailableError: the leader is gone.
        """

    def complete_instance(
        self,
        instance: collective.Instance,
        device: str,
        cancellation: cancellations.Cancellation,
    ) -> int:
        """Add a device to an instance. Return the rank of the source of a broadcast, or -1.

        Raises:
            InvalidArgumentError: the members do not agree.
            InternalError: a broadcast has no source, or several.
            CancelledError: `cancellation` was set before.
            UnavailableError: the leader is gone.
        """

    def get_step_sequence(self, graph_key: int, cancellation: cancellations.Cancellation) -> int:
        """Return the number of the present steps of a graph.

        Raises:
            CancelledError: `cancellation` was set before.
            UnavailableError: the leader is gone.
        """
