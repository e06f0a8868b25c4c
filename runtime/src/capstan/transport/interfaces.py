"""The interfaces of masters and workers, without gRPC.

They follow TensorFlow's master_interface.h and worker_interface.h. `services.master` and
`services.worker` implement them, and `transport.grpc` carries their calls over the network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from capstan.core import config, debug_watches, function, kernel_list, node
from capstan.partition import parts
from capstan.transport import cancellation as cancellations

Array = np.ndarray[Any, Any]

PROTOCOL_VERSION = 3


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a task, as `Session.list_devices` shows it."""

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int
    physical_device_desc: str = ""

    def __repr__(self) -> str:
        return (
            f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, "
            f"{self.incarnation})"
        )


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """The identity of a worker, its devices and its kernels.

    `incarnation` is not 0 and changes when the task restarts. `other_address` is the address of
    this task in the cluster of the worker, if that is another port than in the cluster of this
    task. The worker then probably belongs to another job.
    """

    incarnation: int
    devices: tuple[Device, ...]
    kernels: kernel_list.KernelList = field(default_factory=kernel_list.KernelList)
    protocol_version: int = PROTOCOL_VERSION
    other_address: str = ""


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A task from one start to its end: `number` is `WorkerStatus.incarnation`."""

    task: str
    number: int


@dataclass(frozen=True, slots=True)
class StepOptions:
    """Options of one step. If `timeout_ms` is 0, the limit of the session applies.

    `trace_level` is a TraceLevel of RunOptions. Level 0 asks for no trace. With `is_repeated`, the
    client repeats the step until it fails, so a run may do the work of several steps. A master of
    another process ignores this. `inter_op_thread_pool` is the number of a thread pool of the
    session, or -1 for the thread of the caller. Only in-process sessions check it. `watches` are
    the tensors that the step dumps.
    """

    timeout_ms: int = 0
    trace_level: int = 0
    output_partition_graphs: bool = False
    is_repeated: bool = False
    collective_graph_key: int = 0
    inter_op_thread_pool: int = 0
    watches: debug_watches.Watches = debug_watches.NOTHING

    @classmethod
    def from_proto(cls, proto: Any) -> "StepOptions":
        """Read a RunOptions. Its other fields have no effect."""
        return cls(
            proto.timeout_in_ms,
            proto.trace_level,
            proto.output_partition_graphs,
            collective_graph_key=proto.experimental.collective_graph_key,
            inter_op_thread_pool=proto.inter_op_thread_pool,
            watches=debug_watches.Watches.from_proto(proto.debug_options),
        )

    def fill(self, proto: Any) -> None:
        """Write the options into a RunOptions."""
        proto.timeout_in_ms = self.timeout_ms
        proto.trace_level = self.trace_level
        proto.output_partition_graphs = self.output_partition_graphs
        proto.inter_op_thread_pool = self.inter_op_thread_pool
        if self.collective_graph_key:
            proto.experimental.collective_graph_key = self.collective_graph_key
        if self.watches:
            self.watches.fill(proto.debug_options)


class MasterApi(Protocol):
    """Sessions over a cluster. Thread-safe. `run_step` and `create_session` block."""

    def create_session(
        self,
        nodes: Sequence[node.Node],
        settings: config.SessionConfig,
        cancellation: cancellations.Cancellation | None = None,
        functions: Sequence[function.Function] = (),
    ) -> str:
        """Open a session and return its handle. Waits until every task of the cluster answers.

        The nodes may call `functions`.

        Raises:
            CancelledError: `cancellation` was set during the wait.
        """

    def extend_session(
        self,
        handle: str,
        nodes: Sequence[node.Node],
        version: int,
        functions: Sequence[function.Function] = (),
    ) -> int:
        """Add `nodes` and `functions` to a session at graph `version`. Return the new version.

        If this raises, the session has none of them. A function may be sent again.

        Raises:
            AbortedError: the session does not exist, or is at another version.
            InvalidArgumentError: the session already has a node, or another function, with the
                name of a new one.
        """

    def run_step(
        self,
        handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: StepOptions,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Array]:
        """Run a step and return copies of `fetches` (`node:index`).

        The nodes named `targets` run too, and return nothing.

        Raises:
            CancelledError: `cancellation` was set during the step.
        """

    def run_step_with_metadata(
        self,
        handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: StepOptions,
        cancellation: cancellations.Cancellation | None = None,
    ) -> tuple[list[Array], Any]:
        """Run a step as `run_step`. Return the fetches, and a RunMetadata or None."""

    def make_callable(
        self,
        handle: str,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: StepOptions,
    ) -> int:
        """Remember the names of a step. Return a handle, which is valid in this session.

        Raises:
            NotFoundError, InvalidArgumentError: a name is not in the graph.
        """

    def run_callable(
        self,
        handle: str,
        callable_handle: int,
        feeds: Sequence[Array],
        cancellation: cancellations.Cancellation | None = None,
    ) -> tuple[list[Array], Any]:
        """Run a step that `make_callable` remembered, as `run_step_with_metadata` does.

        `feeds` holds the values in the order of the names that `make_callable` got.
        """

    def release_callable(self, handle: str, callable_handle: int) -> None:
        """Forget a step that `make_callable` remembered. An unknown callable is not an error."""

    def partial_run_setup(
        self, handle: str, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> str:
        """Begin a step that is fed and fetched in portions, and return its handle."""

    def partial_run(
        self,
        handle: str,
        partial_run_handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        options: StepOptions,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Array]:
        """Feed a portion, run the nodes that need no other feed, and return copies of `fetches`.

        Raises:
            InvalidArgumentError: a feed or fetch was not in the setup or is repeated, a fetch needs
                a tensor that was not fed yet, or there is no such partial run.
            CancelledError: `cancellation` was set during the portion.
        """

    def close_session(self, handle: str) -> None:
        """End a session. A step in flight raises CancelledError, unless it still succeeds."""

    def reset(
        self,
        containers: Sequence[str],
        device_filters: Sequence[str] = (),
        timeout_ms: int = 0,
    ) -> None:
        """Close every session of this master and clear the containers on all tasks.

        With `device_filters`, only the tasks that they match, and the task of the master, are
        cleared. A master of another process answers within `timeout_ms`. 0 means no limit.

        Raises:
            OpError: a task could not be cleared. All others are.
        """

    def list_devices(
        self, handle: str, cancellation: cancellations.Cancellation | None = None
    ) -> tuple[Device, ...]:
        """Return the devices that the session may use, or those of all tasks if `handle` is empty.

        Waits until every task of the cluster answers, if `handle` is empty.

        Raises:
            InvalidArgumentError: there is no such session.
            CancelledError: `cancellation` was set during the wait.
        """


class WorkerApi(Protocol):
    """The calls of a master to a task, except for steps. Thread-safe. A call is one round trip."""

    def get_status(self) -> WorkerStatus:
        """Return the identity and the devices of the worker."""

    def register_graph(
        self,
        session: str,
        part: parts.Part,
        master: Incarnation | None = None,
        deadline: float | None = None,
        registration: int = 0,
        is_isolated: bool = False,
    ) -> int:
        """Compile a part for later steps, and return its handle.

        `registration` is a number that the master gives to the part, within its session. A master
        that got no answer, because the connection broke, repeats the call with the same number. The
        worker then keeps one part. A part of number 0 can be forgotten only with its session.
        If `is_isolated`, no other session shares the variables and other resources of the session.
        They end with the session.

        The handle is unique in this incarnation of the worker. The worker forgets the part when
        `master`, which runs the session, is gone. `deadline` is in seconds of `time.monotonic`. If
        it is None, the call waits for ever.
        """

    def deregister_graph(self, session: str, registrations: Sequence[int] = ()) -> None:
        """Forget the parts of a session with these numbers, or all parts if there is no number."""

    def cleanup_all(self, containers: Sequence[str]) -> None:
        """Clear the named containers, or the default one if `containers` is empty."""
