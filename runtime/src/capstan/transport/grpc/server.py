"""The control plane of one task: TensorFlow's master service and our worker service on one port."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

import grpc

from capstan import errors
from capstan.core import config, graph_def
from capstan.transport import interfaces
from capstan.transport.grpc import channels, codec, replay, status, threads, tunnel, wire

# A blocked call keeps its thread; four blocked calls must not starve the fifth. They start lazily.
_MAX_CALLS: Final = 1024


class ControlServer:
    """Answers calls from `start` to `stop`. Thread-safe."""

    def __init__(
        self,
        host: str,
        port: int,
        master: interfaces.MasterApi,
        worker: interfaces.WorkerApi,
        door: interfaces.Door,
    ) -> None:
        """Take the port; 0 lets the system choose one, which `port` tells.

        Raises:
            UnknownError: the port is taken, or is not ours to take.
        """
        calls = threads.DaemonThreads(_MAX_CALLS, "capstan-call")
        self._server = grpc.server(
            calls,  # type: ignore[arg-type]  # any executor will do
            options=channels.SERVER_OPTIONS,
        )
        methods = _methods(_Worker(worker, door).answers())
        methods[tunnel.METHOD] = tunnel.handler(door.admit)
        for service, found in (
            (channels.MASTER, _methods(_Master(master).answers())),
            (channels.WORKER, methods),
        ):
            self._server.add_generic_rpc_handlers(
                [grpc.method_handlers_generic_handler(service, found)]
            )
        try:
            self.port: int = self._server.add_insecure_port(f"{host}:{port}")
        except RuntimeError as error:
            raise errors.UnknownError(
                None,
                None,
                f"Could not start gRPC server on {host}:{port}: {error}. Is another server, or an "
                "earlier one that is still alive, on this port?",
            ) from None

    def start(self) -> None:
        """Answer from now on."""
        self._server.start()

    def stop(self) -> None:
        """Give the port back; calls under way are cancelled. Idempotent."""
        self._server.stop(grace=None).wait()


class _Master:
    """`tensorflow.MasterService`. Errors of a step go into its response, as TensorFlow's client
    expects: it would repeat the step after some errors of the call.
    """

    def __init__(self, master: interfaces.MasterApi) -> None:
        self._master = master
        self._steps = replay.Once()

    def answers(self) -> Mapping[str, Callable[[Any], Any]]:
        """The methods by name."""
        return {
            "CreateSession": self._create,
            "ExtendSession": self._extend,
            "RunStep": self._run,
            "CloseSession": self._close,
            "Reset": self._reset,
            "ListDevices": self._list,
        }

    def _create(self, request: Any) -> Any:
        nodes = graph_def.decode(request.graph_def)
        settings = config.SessionConfig.from_proto(request.config)
        handle = self._master.create_session(nodes, settings)
        return wire.CreateSessionResponse(session_handle=handle, graph_version=0)

    def _extend(self, request: Any) -> Any:
        version = self._master.extend_session(
            request.session_handle,
            graph_def.decode(request.graph_def),
            request.current_graph_version,
        )
        return wire.ExtendSessionResponse(new_graph_version=version)

    def _run(self, request: Any) -> Any:
        try:
            return self._steps.run(request.request_id, functools.partial(self._step, request))
        except errors.OpError as error:
            if not request.store_errors_in_response_body:
                raise
            return wire.RunStepResponse(
                status_code=error.error_code, status_error_message=error.message
            )

    def _step(self, request: Any) -> Any:
        values = self._master.run_step(
            request.session_handle,
            codec.decode_tensors(request.feed),
            list(request.fetch),
            list(request.target),
            interfaces.StepOptions(timeout_ms=request.options.timeout_in_ms),
        )
        return wire.RunStepResponse(
            tensor=codec.encode_tensors(dict(zip(request.fetch, values, strict=True))),
            metadata=wire.RunMetadata(),  # its presence says that this is the last response
        )

    def _close(self, request: Any) -> Any:
        self._master.close_session(request.session_handle)
        return wire.CloseSessionResponse()

    def _reset(self, request: Any) -> Any:
        self._master.reset(list(request.container))
        return wire.ResetResponse()

    def _list(self, request: Any) -> Any:
        devices = self._master.list_devices(request.session_handle)
        return wire.ListDevicesResponse(local_device=codec.encode_devices(devices))


class _Worker:
    """`capstan.Worker`."""

    def __init__(self, worker: interfaces.WorkerApi, door: interfaces.Door) -> None:
        self._worker = worker
        self._door = door

    def answers(self) -> Mapping[str, Callable[[Any], Any]]:
        """The methods by name."""
        return {
            "GetStatus": self._status,
            "RegisterGraph": self._register,
            "DeregisterGraph": self._deregister,
            "CleanupAll": self._cleanup,
            "Connect": self._offer,
        }

    def _status(self, request: Any) -> Any:
        found = self._worker.get_status()
        return wire.GetStatusResponse(
            device=codec.encode_devices(found.devices),
            incarnation=found.incarnation,
            protocol_version=found.protocol_version,
        )

    def _register(self, request: Any) -> Any:
        graph = self._worker.register_graph(request.session, codec.decode_part(request))
        return wire.RegisterGraphResponse(graph=graph)

    def _deregister(self, request: Any) -> Any:
        self._worker.deregister_graph(request.session)
        return wire.DeregisterGraphResponse()

    def _cleanup(self, request: Any) -> Any:
        self._worker.cleanup_all(list(request.container))
        return wire.CleanupAllResponse()

    def _offer(self, request: Any) -> Any:
        offer = self._door.connect(request.task, request.incarnation, tuple(request.protocol))
        return wire.ConnectResponse(plane=offer.plane, address=offer.address, token=offer.token)


def _methods(
    answers: Mapping[str, Callable[[Any], Any]],
) -> "dict[str, grpc.RpcMethodHandler[Any, Any]]":
    return {
        name: channels.handler(name, functools.partial(_answer, answer))
        for name, answer in answers.items()
    }


def _answer(answer: Callable[[Any], Any], request: Any, context: grpc.ServicerContext) -> Any:
    """Answer a call, or end it with the status that stands for the error."""
    try:
        return answer(request)
    except errors.OpError as error:
        context.abort(*status.to_status(error))
    except ValueError as error:  # of a message that contradicts itself
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
