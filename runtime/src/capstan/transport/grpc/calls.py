"""Calls the services of other tasks, and raises failed calls as `capstan.errors`."""

import contextlib
import functools
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import grpc
from google.protobuf import message

from capstan import errors
from capstan.transport import cancellation as cancellations
from capstan.transport import certificates, fence
from capstan.transport.grpc import callers, channels, intake, status, tunnel

_PROBE: Final = "/grpc.health.v1.Health/Check"
"""A method without effects. Servers of gRPC that do not have it say so."""
_PROBE_S: Final = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class _Channel:
    """A channel, the certificates that it uses, and the function that returns its methods."""

    channel: grpc.Channel
    held: certificates.Certificates | None
    method: Callable[[str], Any]


class Service:
    """Calls to one service of one task. Thread-safe."""

    def __init__(
        self,
        address: str,
        service: str,
        caller: fence.Caller | None = None,
        tls: certificates.Folder | None = None,
    ) -> None:
        """Open a channel to `address`. Every call says that `caller` makes it.

        If `tls` has certificates, the channel uses them. When they have been replaced, later calls
        use a new channel. Calls and tunnels in progress stay on their channel.
        """
        self.address = address
        self._service = service
        self._metadata = callers.encode(caller)
        self._tls = tls
        self._lock = threading.Lock()
        self._is_closed = False
        self._replaced: list[_Channel] = []
        self._single: set[_Channel] = set()
        self._current = self._open(None if tls is None else tls.current())

    def call(
        self,
        name: str,
        request: Any,
        timeout_s: float | None = None,
        *,
        wait: bool = False,
        cancellation: cancellations.Cancellation | None = None,
    ) -> Any:
        """Call a method and return its response. Blocks.

        If `wait`, the call waits until the task can be reached. Otherwise it fails at once if the
        task cannot be reached.

        Raises:
            OpError: the error that the task answered with.
            UnavailableError: the task did not answer.
            DeadlineExceededError: the task did not answer within `timeout_s` seconds.
            CancelledError: `cancellation` was set before the answer.
            InvalidArgumentError: the request is larger than a message can be.
        """
        data = _serialised(name, request)
        metadata = (*self._metadata, *intake.declare(len(data)))
        translated = self._translated(name, timeout_s, is_waiting=wait)
        with translated, self._method(name, len(data)) as method:
            if cancellation is None:
                return method(data, timeout=timeout_s, metadata=metadata, wait_for_ready=wait)
            call = method.future(data, timeout_s, metadata, wait_for_ready=wait)
            return _result(name, call, cancellation)

    def call_or_undo(
        self, name: str, request: Any, timeout_s: float | None, undo: Callable[[Any], None]
    ) -> Any:
        """Call a method as `call` does, and call `undo` with a response that comes too late.

        After `timeout_s` seconds, this raises, but the call goes on. `undo` runs in a thread of its
        own. It may raise OpError, which is ignored.

        Raises: as `call`.
        """
        data = _serialised(name, request)
        metadata = (*self._metadata, *intake.declare(len(data)))
        with self._translated(name, timeout_s), contextlib.ExitStack() as connection:
            method = connection.enter_context(self._method(name, len(data)))
            call = method.future(data, None, metadata)
            try:
                return call.result(timeout_s)
            except grpc.RpcError:
                raise
            except BaseException as error:  # The time is up, or the wait was interrupted.
                late = functools.partial(_undo, call, undo, connection.pop_all())
                call.add_done_callback(lambda _: threading.Thread(target=late, daemon=True).start())
                if isinstance(error, grpc.FutureTimeoutError) and timeout_s is not None:
                    raise self._late(name, timeout_s) from None
                raise

    def trouble(self) -> str:
        """Say in a sentence why a call that waits has no answer. Blocks for two seconds at most."""
        try:
            probe = self._channel().channel.unary_unary(_PROBE, bytes, bytes)
            probe(b"", timeout=_PROBE_S)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                return status.from_call(error, self.address).message
            if status.is_late(error):
                return "Check that a server runs at this address"
        except ValueError:  # grpc raises this if the channel is closed
            return "The connection was closed"
        return "A server runs at this address; its log says for which task it waits"

    def open_tunnel(self) -> socket.socket:
        """Return a socket to the task's `Door`. If the task cannot be reached, the socket closes.

        Raises:
            UnavailableError: this process has no descriptor left, or `close` was called.
        """
        try:
            return tunnel.open_tunnel(self._channel().channel)
        except ValueError as error:
            raise self._closed(error) from None
        except OSError as error:
            raise errors.UnavailableError(
                None, None, f"Cannot open a stream to {self.address}: {error}"
            ) from None

    def close(self) -> None:
        """Close every channel. Calls in progress and later calls fail."""
        with self._lock:
            self._is_closed = True
            opened = (self._current, *self._replaced, *self._single)
        for each in opened:
            each.channel.close()

    @contextlib.contextmanager
    def _translated(
        self, name: str, timeout_s: float | None, *, is_waiting: bool = False
    ) -> Iterator[None]:
        """Raise the errors of gRPC as `capstan.errors`."""
        try:
            yield
        except grpc.RpcError as error:
            if status.is_late(error) and timeout_s is not None:
                raise self._late(name, timeout_s, is_waiting=is_waiting) from None
            raise status.from_call(error, self.address) from None
        except ValueError as error:  # grpc raises this if the channel is closed
            raise self._closed(error) from None

    @contextlib.contextmanager
    def _method(self, name: str, size: int) -> Iterator[Any]:
        """Yield the method for a request of `size` bytes. See `intake.LARGE_BYTES`."""
        current = self._channel()
        if size < intake.LARGE_BYTES:
            yield current.method(name)
            return
        single = self._open(current.held, is_shared=False)
        with self._lock:
            self._single.add(single)
            if self._is_closed:
                single.channel.close()
        try:
            yield single.method(name)
        finally:
            with self._lock:
                self._single.remove(single)
            single.channel.close()

    def _channel(self) -> "_Channel":
        """Return the channel with the current certificates, or a closed channel after `close`."""
        if self._tls is None:
            return self._current
        held = self._tls.current()
        with self._lock:
            if held is not self._current.held and not self._is_closed:
                self._replaced.append(self._current)
                self._current = self._open(held)
            return self._current

    def _open(
        self, held: certificates.Certificates | None, *, is_shared: bool = True
    ) -> "_Channel":
        channel = channels.open_channel(self.address, held, is_shared=is_shared)
        method = functools.partial(channels.method, channel, self._service)
        return _Channel(channel, held, functools.cache(method))

    def _late(
        self, name: str, timeout_s: float, *, is_waiting: bool = False
    ) -> errors.DeadlineExceededError:
        hint = f". {self.trouble()}" if is_waiting else ""
        return errors.DeadlineExceededError(
            None, None, f"{name}: no answer from {self.address} within {timeout_s:g} s{hint}"
        )

    def _closed(self, error: ValueError) -> errors.UnavailableError:
        return errors.UnavailableError(
            None, None, f"The connection to {self.address} was closed: {error}"
        )


def _serialised(name: str, request: Any) -> bytes:
    try:
        return channels.serialised(request)
    except message.EncodeError as error:
        raise errors.InvalidArgumentError(
            None, None, f"The {name}Request cannot be sent: {error}. It may have at most 2 GB"
        ) from None


def _result(name: str, call: Any, cancellation: cancellations.Cancellation) -> Any:
    """Wait for the answer of a call, and cancel the call when `cancellation` is set."""
    try:
        with cancellation.watched(call.cancel):
            return call.result()
    except grpc.FutureCancelledError:
        raise errors.CancelledError(
            None, None, f"The call of {name} was cancelled before its answer"
        ) from None
    finally:
        call.cancel()  # The wait may have been interrupted. An answered call does not change.


def _undo(call: Any, undo: Callable[[Any], None], connection: contextlib.ExitStack) -> None:
    """Undo an answered call, and close its connection. A call that failed has changed nothing."""
    with connection, contextlib.suppress(errors.OpError):
        if call.code() is grpc.StatusCode.OK:
            undo(call.result())
