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
        step: int,
        device: str,
        cancellation: cancellations.Cancellation,
    ) -> int:
        """Add a device to an instance. Return the rank of the source of a broadcast, or -1.

        `step` is the number of the member's steps: see `get_step_sequence`.

        Raises:
            InvalidArgumentError: the members do not agree.
            InternalError: a broadcast has no source, or several.
            AbortedError: members with another number have begun the instance anew.
            CancelledError: `cancellation` was set before.
            UnavailableError: the leader is gone.
        """

    def get_step_sequence(
        self,
        graph_key: int,
        caller: collective.Caller | None,
        cancellation: cancellations.Cancellation,
    ) -> int:
        """Return the number of the present steps of a graph.

        Raises:
            OpError: the error of the last step that failed, if it failed before `caller` took part.
                The caller gets this error once, as a member of that step. If `caller` is None,
                the question is not that of a member.
            CancelledError: `cancellation` was set before.
            UnavailableError: the leader is gone.
        """
