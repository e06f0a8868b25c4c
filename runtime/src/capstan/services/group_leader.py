"""The leader of collective operations: it blocks the callers until their groups are complete.

A member waits as long as its client lets it, as in TensorFlow. The log of the leader says who waits
for whom.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from capstan import errors
from capstan.core import collective
from capstan.resources import collective_groups
from capstan.transport import cancellation as cancellations
from capstan.transport import collective_api

_COMPLAIN_SECONDS: Final = 10.0


class GroupLeader(collective_api.CollectiveApi):
    """Implements `collective_api.CollectiveApi` with the groups of this task."""

    def __init__(self) -> None:
        self._groups = collective_groups.Groups()

    def complete_group(
        self,
        group: collective.Group,
        device: str,
        kind: collective.Kind,
        cancellation: cancellations.Cancellation,
    ) -> collective.Members:
        found: collective.Members = _wait(
            lambda done: self._groups.complete_group(group, device, done),
            cancellation,
            lambda: self._complain_of_group(group.key, device),
        )
        return found

    def complete_instance(
        self,
        instance: collective.Instance,
        step: int,
        device: str,
        cancellation: cancellations.Cancellation,
    ) -> int:
        found: int = _wait(
            lambda done: self._groups.complete_instance(instance, step, device, done),
            cancellation,
            lambda: self._complain_of_instance(instance, device),
        )
        return found

    def get_step_sequence(
        self,
        graph_key: int,
        caller: collective.Caller | None,
        cancellation: cancellations.Cancellation,
    ) -> int:
        return self._groups.step(graph_key, caller)

    def forget_step(self, graph_key: int, step: int, error: errors.OpError) -> None:
        """Let the next steps of a graph have another number, because one with `step` failed."""
        self._groups.forget_step(graph_key, step, error)

    def _complain_of_group(self, key: int, device: str) -> None:
        size, present = self._groups.devices_of(key)
        if present[:1] == [device]:  # one of those that wait speaks for all
            logging.getLogger("capstan").warning(
                "The collective ops of group %s still wait for %s of %s devices. Those that have "
                "come are: %s", key, size - len(present), size, ", ".join(present),
            )  # fmt: skip

    def _complain_of_instance(self, instance: collective.Instance, device: str) -> None:
        present = self._groups.devices_at(instance)
        if present[:1] == [device]:
            logging.getLogger("capstan").warning(
                "The broadcast of collective instance %s of group %s still waits for %s of %s "
                "devices. Those that have come are: %s", instance.key, instance.group.key,
                instance.group.size - len(present), instance.group.size, ", ".join(present),
            )  # fmt: skip


def _wait(
    ask: Callable[[Callable[..., None]], collective_groups.Withdraw],
    cancellation: cancellations.Cancellation,
    complain: Callable[[], None],
) -> Any:
    """Return the answer to a question, or raise its error. Complain while there is none."""
    answered = threading.Event()
    answers: list[Any] = []

    def done(answer: Any, error: errors.OpError | None) -> None:
        answers.append((answer, error))
        answered.set()

    withdraw = ask(done)
    with cancellation.watched(answered.set):
        while not answered.wait(_COMPLAIN_SECONDS):
            complain()
    if not answers:
        withdraw()
        raise errors.CancelledError(None, None, "A member of a collective op was cancelled")
    found, error = answers[0]
    if error is not None:
        raise error
    return found
