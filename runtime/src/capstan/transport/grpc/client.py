"""Masters and workers of other tasks: `interfaces` over a gRPC channel.

TensorFlow: grpc_remote_master.cc, grpc_remote_worker.cc.
"""

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.core import config, function, graph_def, node, tensor_proto
from capstan.framework import function_def
from capstan.partition import parts
from capstan.transport import cancellation as cancellations
from capstan.transport import certificates, fence, interfaces
from capstan.transport.grpc import calls, channels, codec, wire

Array = np.ndarray[Any, Any]

# The time limit of a call for which the caller gives no deadline, if the task accepts the call but
# does not answer.
_PATIENCE_S: Final = 2.0


# The time between two warnings about a master that does not answer.
_COMPLAIN_S: Final = 10.0


@contextlib.contextmanager
def _complaints(service: calls.Service) -> Iterator[None]:
    """Warn again and again, with the cause, while the body waits for a master."""
    is_over = threading.Event()

    def complain() -> None:
        while not is_over.wait(_COMPLAIN_S):
            trouble = service.trouble()
            if not is_over.is_set():
                logging.getLogger("capstan").warning(
                    "CreateSession still waiting for response from master: %s. %s",
                    service.address, trouble,
                )  # fmt: skip

    threading.Thread(target=complain, name="complaints", daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def _graph(nodes: Sequence[node.Node], functions: Sequence[function.Function]) -> Any:
    message = graph_def.encode(nodes)
    if functions:
        library = {each.name: each for each in functions}
        message.library.CopyFrom(function_def.encode(library))
    return message


def _differ(one: str, other: str) -> bool:
    """Return whether two known addresses of a task have different ports.

    A host may have several names. A port of 0 is not known.
    """
    ports = {address.rpartition(":")[2] for address in (one, other)}
    return len(ports) == 2 and not ports & {"", "0"}


def _seconds_to(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.001, deadline - time.monotonic())


class GrpcMaster(interfaces.MasterApi):
    """The master at a target. Thread-safe.

    Every method raises the errors of the master, and UnavailableError if it cannot be reached.
    """

    def __init__(
        self,
        target: str,
        caller: fence.Caller | None = None,
        tls: certificates.Folder | None = None,
    ) -> None:
        """Open a channel to `target` (`grpc://host:port`). The channel connects when it is used.

        `caller` is this process, and `tls` has its certificates.
        """
        address = target.removeprefix("grpc://")
        self._service = calls.Service(address, channels.MASTER, caller, tls)

    def create_session(
        self,
        nodes: Sequence[node.Node],
        settings: config.SessionConfig,
        cancellation: cancellations.Cancellation | None = None,
        functions: Sequence[function.Function] = (),
    ) -> str:
        """Open a session. Waits for the master up to `settings.operation_timeout_ms`.

        While it waits, it warns every ten seconds, with the cause. When the time is up, finding the
        cause may take two more seconds.
        """
        request = wire.CreateSessionRequest(
            graph_def=_graph(nodes, functions), config=settings.to_proto()
        )
        timeout_s = settings.operation_timeout_ms / 1000 or None
        with _complaints(self._service):
            response = self._service.call(
                "CreateSession", request, timeout_s, wait=True, cancellation=cancellation
            )
        return str(response.session_handle)

    def extend_session(
        self,
        handle: str,
        nodes: Sequence[node.Node],
        version: int,
        functions: Sequence[function.Function] = (),
    ) -> int:
        request = wire.ExtendSessionRequest(
            session_handle=handle,
            graph_def=_graph(nodes, functions),
            current_graph_version=version,
        )
        return int(self._service.call("ExtendSession", request).new_graph_version)

    def run_step(
        self,
        handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: interfaces.StepOptions,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Array]:
        values, _ = self.run_step_with_metadata(
            handle, feeds, fetches, targets, options, cancellation
        )
        return values

    def run_step_with_metadata(
        self,
        handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: interfaces.StepOptions,
        cancellation: cancellations.Cancellation | None = None,
    ) -> tuple[list[Array], Any]:
        return self._run(handle, feeds, fetches, options, cancellation, target=targets)

    def make_callable(
        self,
        handle: str,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        options: interfaces.StepOptions,
    ) -> int:
        named = wire.CallableOptions(feed=feeds, fetch=fetches, target=targets)
        options.fill(named.run_options)
        request = wire.MakeCallableRequest(session_handle=handle, options=named)
        return int(self._service.call("MakeCallable", request).handle)

    def run_callable(
        self,
        handle: str,
        callable_handle: int,
        feeds: Sequence[Array],
        cancellation: cancellations.Cancellation | None = None,
    ) -> tuple[list[Array], Any]:
        request = wire.RunCallableRequest(
            session_handle=handle, handle=callable_handle, feed=map(tensor_proto.make, feeds)
        )
        response = self._service.call("RunCallable", request, cancellation=cancellation)
        return [tensor_proto.ndarray(value) for value in response.fetch], response.metadata

    def release_callable(self, handle: str, callable_handle: int) -> None:
        request = wire.ReleaseCallableRequest(session_handle=handle, handle=callable_handle)
        self._service.call("ReleaseCallable", request)

    def partial_run_setup(
        self, handle: str, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> str:
        request = wire.PartialRunSetupRequest(
            session_handle=handle, feed=feeds, fetch=fetches, target=targets
        )
        return str(self._service.call("PartialRunSetup", request).partial_run_handle)

    def partial_run(
        self,
        handle: str,
        partial_run_handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        options: interfaces.StepOptions,
        cancellation: cancellations.Cancellation | None = None,
    ) -> list[Array]:
        values, _ = self._run(
            handle, feeds, fetches, options, cancellation, partial_run_handle=partial_run_handle
        )
        return values

    def _run(
        self,
        handle: str,
        feeds: Mapping[str, Array],
        fetches: Sequence[str],
        options: interfaces.StepOptions,
        cancellation: cancellations.Cancellation | None,
        **more: Any,
    ) -> tuple[list[Array], Any]:
        """Run a step or a portion of a partial run. Return its fetches and its RunMetadata."""
        request = wire.RunStepRequest(
            session_handle=handle,
            feed=codec.encode_tensors(feeds),
            fetch=fetches,
            store_errors_in_response_body=True,
            **more,
        )
        options.fill(request.options)
        response = self._service.call("RunStep", request, cancellation=cancellation)
        if response.status_code:
            raise errors.from_code(response.status_code, response.status_error_message)
        tensors = codec.decode_tensors(response.tensor)
        return [tensors[name] for name in fetches], response.metadata

    def close_session(self, handle: str) -> None:
        self._service.call("CloseSession", wire.CloseSessionRequest(session_handle=handle))

    def reset(self, containers: Sequence[str]) -> None:
        self._service.call("Reset", wire.ResetRequest(container=containers))

    def list_devices(self, handle: str) -> tuple[interfaces.Device, ...]:
        response = self._service.call("ListDevices", wire.ListDevicesRequest(session_handle=handle))
        return codec.decode_devices([*response.local_device, *response.remote_device])

    def close(self) -> None:
        """Close the channel. Calls in progress fail."""
        self._service.close()


class GrpcWorker(interfaces.WorkerApi, interfaces.ConnectApi):
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
    ) -> int:
        request = codec.encode_part(session, part)
        if master is not None:
            request.master = master.task
            request.master_incarnation = master.number
        return int(self._service.call("RegisterGraph", request, _seconds_to(deadline)).graph)

    def deregister_graph(self, session: str, handles: Sequence[int] = ()) -> None:
        request = wire.DeregisterGraphRequest(session=session, graph=handles)
        self._service.call("DeregisterGraph", request, _PATIENCE_S)

    def cleanup_all(self, containers: Sequence[str]) -> None:
        self._service.call("CleanupAll", wire.CleanupAllRequest(container=containers))

    def connect(
        self, task: str, incarnation: int, planes: Sequence[str], deadline: float | None = None
    ) -> interfaces.Offer:
        request = wire.ConnectRequest(task=task, incarnation=incarnation, protocol=planes)
        response = self._service.call("Connect", request, _seconds_to(deadline))
        return interfaces.Offer(response.plane, response.address, response.token)

    def open_tunnel(self) -> socket.socket:
        return self._service.open_tunnel()

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
