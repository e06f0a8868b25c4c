"""Masters of other tasks: `interfaces.MasterApi` over a gRPC channel.

TensorFlow: grpc_remote_master.cc.
"""

import contextlib
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from capstan import errors
from capstan.core import config, function, graph_def, node, tensor_proto
from capstan.framework import function_def
from capstan.transport import cancellation as cancellations
from capstan.transport import certificates, fence, interfaces
from capstan.transport.grpc import calls, channels, codec, wire

Array = np.ndarray[Any, Any]

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

    def reset(
        self,
        containers: Sequence[str],
        device_filters: Sequence[str] = (),
        timeout_ms: int = 0,
    ) -> None:
        request = wire.ResetRequest(container=containers, device_filters=device_filters)
        self._service.call("Reset", request, timeout_ms / 1000 or None)

    def list_devices(
        self, handle: str, cancellation: cancellations.Cancellation | None = None
    ) -> tuple[interfaces.Device, ...]:
        request = wire.ListDevicesRequest(session_handle=handle)
        response = self._service.call("ListDevices", request, cancellation=cancellation)
        return codec.decode_devices([*response.local_device, *response.remote_device])

    def close(self) -> None:
        """Close the channel. Calls in progress fail."""
        self._service.close()
