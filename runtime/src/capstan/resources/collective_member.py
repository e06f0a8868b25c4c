"""A member of a collective operation: what its node says, and who runs it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from capstan import errors
from capstan.core import cancellation, collective
from capstan.core.arrays import Array
from capstan.hardware import device
from capstan.resources import waiters


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Member:
    """A node that takes part in an instance. `graph_key` names the steps that have the node.

    `combine` combines two arrays of a reduction, and `finish(array, size)` computes the result from
    the combination and the size of the group.
    """

    name: str
    graph_key: int
    group: collective.Group
    instance_key: int
    kind: collective.Kind
    dtype: Any
    device: device.Device
    device_name: str
    is_source: bool = False
    reduction: str = ""
    combine: Callable[..., Any] | None = None
    finish: Callable[[Array, int], Array] | None = None

    def instance(self, shape: tuple[int, ...]) -> collective.Instance:
        """Return the instance as this member describes it, with an output of this shape."""
        return collective.Instance(
            self.name,
            self.kind,
            self.instance_key,
            self.group,
            self.dtype,
            shape,
            self.is_source,
        )


class Runner(Protocol):
    """Runs the collective operations of a task. Thread-safe."""

    def start(
        self,
        member: Member,
        value: Array | None,
        shape: tuple[int, ...],
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        """Run a member once, and call `done` with its output. Never blocks.

        `value` is the input, or None for a member that only receives. It must not change before
        `done` is called. `shape` is that of the output.
        """

    def abort(self, graph_key: int, error: errors.OpError) -> None:
        """Abort the present step of a graph on all members, because it failed on this task."""


class NoRunner(Runner):
    """The runner of a task without services."""

    def start(
        self,
        member: Member,
        value: Array | None,
        shape: tuple[int, ...],
        done: waiters.Done,
        cancelled: cancellation.Cancellation,
    ) -> None:
        raise errors.InternalError(
            None, None, "a task without services cannot run collective operations"
        )

    def abort(self, graph_key: int, error: errors.OpError) -> None:
        """Do nothing, because no step has a collective operation."""
