"""Workers of other tasks: `interfaces.WorkerApi` over a gRPC channel.

TensorFlow: grpc_remote_worker.cc.
"""

import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final

from capstan import errors
from capstan.partition import parts
from capstan.transport import certificates, doors, fence, interfaces
from capstan.transport.grpc import calls, channels, codec, collective_service, wire

# The time limit of a call for which the caller gives no deadline, if the task accepts the call but
# does not answer.
_PATIENCE_S: Final = 2.0

# A task may take a while to free the memory of its variables.
_CLEANUP_S: Final = 10.0


def _differ(one: str, other: str) -> bool:
    """Return whether two known addresses of a task have different ports.

    A host may have several names. A port of 0 is not known.
    """
    ports = {address.rpartition(":")[2] for address in (one, other)}
    return len(ports) == 2 and not ports & {"", "0"}


def _seconds_to(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.001, deadline - time.monotonic())


class GrpcWorker(interfaces.WorkerApi, doors.ConnectApi):
    """The worker of a task. Thread-safe.

    Every method raises the errors that the worker returns. If the client cannot reach the worker,
    the method raises UnavailableError.
    """

    def __init__(
        self,
        address: str,
        caller: fence.Caller | None = None,
        tls: certificates.Folder | None = None,
        home: tuple[str, str] = ("", ""),
    ) -> None:
        """Open a channel to `address` (`host:port`). The channel connects when it is used.

        `caller` names this process, and `tls` holds the certificates of this process. `home` is the
        task of this process and its address.
        """
        self._service = calls.Service(address, channels.WORKER, caller, tls)
        self._home = home

    def get_status(self) -> interfaces.WorkerStatus:
        """Return the incarnation, the devices and the kernels of the task.

        Raises:
            InvalidArgumentError: the list of kernels is malformed.
            FailedPreconditionError: the task speaks another version of the protocol.
        """
        task, address = self._home
        response = self._service.call("GetStatus", wire.GetStatusRequest(task=task), _PATIENCE_S)
        if response.protocol_version != interfaces.PROTOCOL_VERSION:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"The task at {self._service.address} speaks version {response.protocol_version} "
                f"of the protocol, but this task speaks version {interfaces.PROTOCOL_VERSION}: "
                "install the same release of capstan on both",
            )
        return interfaces.WorkerStatus(
            response.incarnation,
            codec.decode_devices(response.device),
            codec.decode_kernels(response.kernels),
            response.protocol_version,
            response.caller_address if _differ(response.caller_address, address) else "",
        )

    def register_graph(
        self,
        session: str,
        part: parts.Part,
        master: interfaces.Incarnation | None = None,
        deadline: float | None = None,
        registration: int = 0,
        is_isolated: bool = False,
    ) -> int:
        request = codec.encode_part(session, part)
        request.registration, request.is_isolated = registration, is_isolated
        if master is not None:
            request.master = master.task
            request.master_incarnation = master.number
        # The caller has given up, so it would never deregister a part that is compiled too late.
        response = self._service.call_or_undo(
            "RegisterGraph",
            request,
            _seconds_to(deadline),
            lambda _: self.deregister_graph(session, [registration]),
        )
        return int(response.graph)

    def deregister_graph(self, session: str, registrations: Sequence[int] = ()) -> None:
        request = wire.DeregisterGraphRequest(session=session, registration=registrations)
        self._service.call("DeregisterGraph", request, _PATIENCE_S)

    def cleanup_all(self, containers: Sequence[str]) -> None:
        request = wire.CleanupAllRequest(container=containers)
        self._service.call("CleanupAll", request, _CLEANUP_S)

    def connect(
        self, task: str, incarnation: int, planes: Sequence[str], deadline: float | None = None
    ) -> doors.Offer:
        request = wire.ConnectRequest(task=task, incarnation=incarnation, protocol=planes)
        response = self._service.call("Connect", request, _seconds_to(deadline))
        return doors.Offer(response.plane, response.address, response.token)

    def open_tunnel(self) -> socket.socket:
        return self._service.open_tunnel()

    @property
    def leader(self) -> collective_service.RemoteLeader:
        """The calls to this task as the leader of collective operations."""
        return collective_service.RemoteLeader(self._service)

    def close(self) -> None:
        """Close the channel. Calls in progress fail."""
        self._service.close()


class Peers:
    """The workers of a cluster. Each has one channel, opened on first use. Thread-safe."""

    def __init__(
        self,
        addresses: Mapping[str, str],
        caller: fence.Caller | None = None,
        tls: certificates.Folder | None = None,
        home: str = "",
    ) -> None:
        """`addresses` gives the `host:port` of every task, and may get new tasks. `caller` is this
        process, `tls` has its certificates, and `home` is its task.
        """
        self._addresses = addresses
        self._caller = caller
        self._tls = tls
        self._lock = threading.Lock()
        self._home = (home, addresses.get(home, ""))
        self._workers: dict[str, GrpcWorker] = {}

    def worker(self, task: str) -> GrpcWorker:
        """Return the worker of `task`, which may be unreachable.

        Raises:
            InvalidArgumentError: the cluster has no such task.
        """
        with self._lock:
            found = self._workers.get(task)
            if found is None:
                if task not in self._addresses:
                    raise errors.InvalidArgumentError(
                        None, None, f"{task} is not in the cluster: {', '.join(self._addresses)}"
                    )
                found = self._workers[task] = GrpcWorker(
                    self._addresses[task], self._caller, self._tls, self._home
                )
            return found

    def close(self) -> None:
        """Close every channel."""
        with self._lock:
            workers = tuple(self._workers.values())
            self._workers.clear()
        for worker in workers:
            worker.close()
