"""`tensorflow.MasterService`, as TensorFlow's own client calls it.

If the response has a field for the error of a step, the error is returned in this field. The client
repeats a call that ends with UNAVAILABLE, and a step must not run twice. The service therefore runs
calls with the same request id once.
"""

import collections
import functools
from collections.abc import Callable, Mapping
from typing import Any

import grpc

from capstan import errors
from capstan.core import config, graph_def, tensor_proto
from capstan.framework import function_def
from capstan.transport import cancellation as cancellations
from capstan.transport import interfaces
from capstan.transport.grpc import codec, leases, replay, wire


class MasterService:
    """The methods of a master. Each takes a request message and returns a response message."""

    def __init__(self, master: interfaces.MasterApi, sessions: leases.Leases) -> None:
        """`sessions` keeps the leases, which every call for a session renews."""
        self._master = master
        self._sessions = sessions
        self._once = replay.Once()

    def answers(self) -> Mapping[str, Callable[[Any, grpc.ServicerContext], Any]]:
        """Return the methods by name."""
        session_calls = {
            "ExtendSession": self._extend,
            "PartialRunSetup": self._partial_run_setup,
            "RunStep": self._run,
            "ListDevices": self._list,
            "MakeCallable": self._make_callable,
            "RunCallable": self._run_callable,
            "ReleaseCallable": self._release_callable,
        }
        return {
            **{
                name: functools.partial(self._answer_in_session, answer)
                for name, answer in session_calls.items()
            },
            "CreateSession": self._create,
            "CloseSession": self._close,
            "Reset": self._reset,
        }

    def _answer_in_session(
        self,
        answer: Callable[[Any, grpc.ServicerContext], Any],
        request: Any,
        context: grpc.ServicerContext,
    ) -> Any:
        """Answer a call for a session, and renew its lease."""
        self._sessions.renew(request.session_handle, context)
        return answer(request, context)

    def _create(self, request: Any, context: grpc.ServicerContext) -> Any:
        nodes = graph_def.decode(request.graph_def)
        functions = tuple(function_def.decode(request.graph_def.library).values())
        settings = config.SessionConfig.from_proto(request.config)
        is_gone = _end_of(context)
        handle = self._master.create_session(nodes, settings, is_gone, functions)
        self._sessions.grant(handle, context)
        if is_gone.is_cancelled:
            self._sessions.forget(handle)
            self._master.close_session(handle)
            raise errors.CancelledError(None, None, "The client of the new session is gone")
        return wire.CreateSessionResponse(session_handle=handle, graph_version=0)

    def _extend(self, request: Any, context: grpc.ServicerContext) -> Any:
        version = self._master.extend_session(
            request.session_handle,
            graph_def.decode(request.graph_def),
            request.current_graph_version,
            tuple(function_def.decode(request.graph_def.library).values()),
        )
        return wire.ExtendSessionResponse(new_graph_version=version)

    def _run(self, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            step = functools.partial(self._step, request)
            return self._once.run(request.request_id, context, step)
        except errors.OpError as error:
            if not request.store_errors_in_response_body:
                raise
            return wire.RunStepResponse(
                status_code=error.error_code, status_error_message=error.message
            )

    def _step(self, request: Any, cancellation: cancellations.Cancellation) -> Any:
        feeds = codec.decode_tensors(request.feed)
        if len(feeds) < len(request.feed):
            counts = collections.Counter(message.name for message in request.feed)
            raise errors.InvalidArgumentError(
                None, None, f'Endpoint "{counts.most_common(1)[0][0]}" fed more than once.'
            )
        options = interfaces.StepOptions.from_proto(request.options)
        handle, fetches = request.session_handle, list(request.fetch)
        metadata = None
        if request.partial_run_handle:
            partial = request.partial_run_handle
            values = self._master.partial_run(
                handle, partial, feeds, fetches, options, cancellation
            )
        else:
            targets = list(request.target)
            values, metadata = self._master.run_step_with_metadata(
                handle, feeds, fetches, targets, options, cancellation
            )
        return wire.RunStepResponse(
            tensor=codec.encode_tensors(dict(zip(fetches, values, strict=True))),
            # The last response of a step has this field, even if the field is empty.
            metadata=metadata or wire.RunMetadata(),
        )

    def _partial_run_setup(self, request: Any, context: grpc.ServicerContext) -> Any:
        names = (list(request.feed), list(request.fetch), list(request.target))

        def begin(_: cancellations.Cancellation) -> str:
            return self._master.partial_run_setup(request.session_handle, *names)

        handle = self._once.run(request.request_id, context, begin, repeatable=True)
        return wire.PartialRunSetupResponse(partial_run_handle=handle)

    def _make_callable(self, request: Any, context: grpc.ServicerContext) -> Any:
        options = request.options
        if options.tensor_connection:
            raise errors.UnimplementedError(
                None,
                None,
                "A callable cannot connect tensors here (tensor_connection): feed the tensor "
                f"{options.tensor_connection[0].to_tensor!r} instead",
            )
        limits = interfaces.StepOptions.from_proto(options.run_options)
        names = (list(options.feed), list(options.fetch), list(options.target))

        def make(_: cancellations.Cancellation) -> int:
            return self._master.make_callable(request.session_handle, *names, limits)

        handle = self._once.run(request.request_id, context, make, repeatable=True)
        return wire.MakeCallableResponse(handle=handle)

    def _run_callable(self, request: Any, context: grpc.ServicerContext) -> Any:
        call = functools.partial(self._call, request)
        return self._once.run(request.request_id, context, call)

    def _call(self, request: Any, cancellation: cancellations.Cancellation) -> Any:
        feeds = [
            codec.decode_tensor(value, f"feed {place}") for place, value in enumerate(request.feed)
        ]
        values, metadata = self._master.run_callable(
            request.session_handle, request.handle, feeds, cancellation
        )
        return wire.RunCallableResponse(
            fetch=map(tensor_proto.make, values), metadata=metadata or wire.RunMetadata()
        )

    def _release_callable(self, request: Any, context: grpc.ServicerContext) -> Any:
        self._master.release_callable(request.session_handle, request.handle)
        return wire.ReleaseCallableResponse()

    def _close(self, request: Any, context: grpc.ServicerContext) -> Any:
        self._sessions.forget(request.session_handle)
        self._master.close_session(request.session_handle)
        return wire.CloseSessionResponse()

    def _reset(self, request: Any, context: grpc.ServicerContext) -> Any:
        closed = self._sessions.handles()
        try:
            self._master.reset(list(request.container), list(request.device_filters))
        finally:
            for handle in closed:
                self._sessions.forget(handle)
        return wire.ResetResponse()

    def _list(self, request: Any, context: grpc.ServicerContext) -> Any:
        devices = self._master.list_devices(request.session_handle, _end_of(context))
        return wire.ListDevicesResponse(local_device=codec.encode_devices(devices))


def _end_of(context: grpc.ServicerContext) -> cancellations.Cancellation:
    """Return a cancellation that is set when the call ends, also because its client is gone."""
    ended = cancellations.Cancellation()
    if not context.add_callback(ended.cancel):
        ended.cancel()
    return ended
