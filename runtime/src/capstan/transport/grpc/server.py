"""The control plane of a task on one port: TensorFlow's master, the worker, health and progress."""

import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import grpc

from capstan import errors
from capstan.hardware import threads
from capstan.transport import certificates, collective_api, doors, fence, interfaces
from capstan.transport.grpc import (
    callers,
    channels,
    codec,
    collective_service,
    connections,
    health,
    intake,
    leases,
    master_service,
    progress,
    security,
    status,
    tunnel,
    wire,
)

Answer = Callable[[Any, grpc.ServicerContext], Any]

# A blocked call occupies its thread, and blocked calls must not delay others. A thread starts only
# when all others are busy.
_MAX_CALLS: Final = 1024


class ControlServer:
    """Answers calls from `start` to `stop`. Thread-safe."""

    def __init__(  # noqa: PLR0913 - it connects the parts of a server
        self,
        host: str,
        port: int,
        master: interfaces.MasterApi,
        worker: interfaces.WorkerApi,
        door: doors.Door,
        report: Callable[[], bytes],
        max_request_bytes: int,
        tls: certificates.Folder | None = None,
        addresses: Mapping[str, str] = MappingProxyType({}),
        leader: collective_api.CollectiveApi | None = None,
    ) -> None:
        """Open the port. If `port` is 0, the system chooses one. `self.port` is its number.

        `report` returns the progress of the training in this process, as JSON.
        The server holds at most `max_request_bytes` of requests at once. Each further request ends
        with ResourceExhaustedError. If `tls` has certificates, only clients with a certificate of
        the same authority can connect. `addresses` has the address of each task of the cluster.
        `leader` knows the groups of collective operations.

        Raises:
            UnknownError: the port is in use, or this process may not open it.
        """
        calls = threads.DaemonThreads(_MAX_CALLS, "capstan-call")
        self._server = grpc.server(
            calls,  # type: ignore[arg-type]  # gRPC accepts any executor
            options=channels.server_options(max_request_bytes),
        )
        self._sessions = leases.Leases(master.close_session)
        masters = master_service.MasterService(master, self._sessions)
        methods = functools.partial(
            _methods, attempts=fence.Fence(door.drop), requests=intake.Intake(max_request_bytes)
        )
        answers = _Worker(worker, door, addresses).answers()
        if leader is not None:
            answers = {**answers, **collective_service.answers(leader)}
        workers = methods(answers)
        workers[tunnel.METHOD] = tunnel.handler(door.admit)
        for service, handlers in (
            (channels.MASTER, methods(masters.answers())),
            (channels.WORKER, workers),
            (health.SERVICE, methods(health.answers())),
            (progress.SERVICE, progress.handlers(report)),
        ):
            self._server.add_generic_rpc_handlers(
                [grpc.method_handlers_generic_handler(service, handlers)]
            )
        try:
            self.port: int = security.add_port(self._server, f"{host}:{port}", tls)
        except RuntimeError as error:
            raise errors.UnknownError(
                None,
                None,
                f"Could not start gRPC server on {host}:{port}: {error}. If another server uses "
                "this port, end that server or choose another port",
            ) from None

    def start(self) -> None:
        """Start to answer calls."""
        self._server.start()
        self._sessions.watch(functools.partial(connections.is_open, port=self.port))

    def stop(self) -> None:
        """Release the port and cancel the calls in progress. Idempotent."""
        self._sessions.close()
        self._server.stop(grace=None).wait()


class _Worker:
    """The methods of the service `capstan.Worker`."""

    def __init__(
        self,
        worker: interfaces.WorkerApi,
        door: doors.Door,
        addresses: Mapping[str, str],
    ) -> None:
        self._worker = worker
        self._door = door
        self._addresses = addresses

    def answers(self) -> Mapping[str, Answer]:
        """Return the methods by name."""
        return {
            "GetStatus": self._status,
            "RegisterGraph": self._register,
            "DeregisterGraph": self._deregister,
            "CleanupAll": self._cleanup,
            "Connect": self._offer,
        }

    def _status(self, request: Any, context: grpc.ServicerContext) -> Any:
        found = self._worker.get_status()
        return wire.GetStatusResponse(
            device=codec.encode_devices(found.devices),
            incarnation=found.incarnation,
            protocol_version=found.protocol_version,
            kernels=codec.encode_kernels(found.kernels),
            caller_address=self._addresses.get(request.task, ""),
        )

    def _register(self, request: Any, context: grpc.ServicerContext) -> Any:
        master = None
        if request.master:
            master = interfaces.Incarnation(request.master, request.master_incarnation)
        part = codec.decode_part(request)
        graph = self._worker.register_graph(
            request.session,
            part,
            master,
            registration=request.registration,
            is_isolated=request.is_isolated,
        )
        return wire.RegisterGraphResponse(graph=graph)

    def _deregister(self, request: Any, context: grpc.ServicerContext) -> Any:
        self._worker.deregister_graph(request.session, tuple(request.registration))
        return wire.DeregisterGraphResponse()

    def _cleanup(self, request: Any, context: grpc.ServicerContext) -> Any:
        self._worker.cleanup_all(list(request.container))
        return wire.CleanupAllResponse()

    def _offer(self, request: Any, context: grpc.ServicerContext) -> Any:
        offer = self._door.connect(request.task, request.incarnation, tuple(request.protocol))
        return wire.ConnectResponse(plane=offer.plane, address=offer.address, token=offer.token)


def _methods(
    answers: Mapping[str, Answer], attempts: fence.Fence, requests: intake.Intake
) -> "dict[str, grpc.RpcMethodHandler[Any, Any]]":
    return {
        name: channels.handler(name, functools.partial(_answer, name, answer, attempts, requests))
        for name, answer in answers.items()
    }


def _answer(
    name: str,
    answer: Answer,
    attempts: fence.Fence,
    requests: intake.Intake,
    messages: Iterator[bytes],
    context: grpc.ServicerContext,
) -> Any:
    """Answer a call, or end it with the gRPC status of its error."""
    with requests.request() as reservation:
        # The frames of an error keep the request in memory, so the error ends inside this block.
        found, failure = _outcome(name, answer, attempts, reservation, messages, context)
    if failure is not None:
        context.abort(*failure)
    return found


def _outcome(
    name: str,
    answer: Answer,
    attempts: fence.Fence,
    reservation: intake.Reservation,
    messages: Iterator[bytes],
    context: grpc.ServicerContext,
) -> tuple[Any, tuple[grpc.StatusCode, str] | None]:
    """Return the response of a call and None, or None and the status of its error."""
    try:
        caller = callers.decode(context)
        attempts.check(caller)
        reservation.raise_to(intake.declared(context))
        found = answer(_read(name, messages, reservation), context)
        # A newer attempt may have called meanwhile. The token of a link must not reach the old one.
        attempts.check(caller)
        return found, None
    except errors.OpError as error:
        return None, status.to_status(error)
    except ValueError as error:  # The request is not consistent.
        return None, (grpc.StatusCode.INVALID_ARGUMENT, str(error))
    except grpc.RpcError:
        raise  # The client is gone.
    except Exception as error:
        logging.getLogger("capstan").exception("%s failed; please report this", name)
        return None, (grpc.StatusCode.INTERNAL, f"{name}: {type(error).__name__}: {error}")


def _read(name: str, messages: Iterator[bytes], reservation: intake.Reservation) -> Any:
    """Read the request of a call. Its bytes are free when this function returns."""
    data = next(messages, None)
    if data is None:
        raise errors.InvalidArgumentError(None, None, f"The call of {name} has no request")
    reservation.received(len(data))
    return channels.read(name, data)
