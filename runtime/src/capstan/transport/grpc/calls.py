"""Calls to a service of another task, with the errors that they end with."""

import functools
import socket
from typing import Any

import grpc

from capstan import errors
from capstan.transport import cancellation as cancellations
from capstan.transport.grpc import channels, status, tunnel


class Service:
    """Calls to one service of one task. Thread-safe."""

    def __init__(self, address: str, service: str) -> None:
        self.address = address
        self._channel = channels.open_channel(address)
        self._method = functools.cache(functools.partial(channels.method, self._channel, service))

    def call(
        self,
        name: str,
        request: Any,
        timeout_s: float | None = None,
        *,
        wait: bool = False,
        cancellation: cancellations.Cancellation | None = None,
    ) -> Any:
        """Call a method. `wait`: until the task can be reached, else fail as soon as it cannot.

        Raises:
            OpError: what the task answered; UnavailableError if it did not.
            CancelledError: `cancellation` came before the answer.
        """
        try:
            method = self._method(name)
            if cancellation is None:
                return method(request, timeout=timeout_s, wait_for_ready=wait)
            return _result(method.future(request, timeout_s, wait_for_ready=wait), cancellation)
        except grpc.RpcError as error:
            raise status.from_call(error, self.address) from None
        except ValueError as error:  # grpc's word for a channel that was closed
            raise self._closed(error) from None

    def open_tunnel(self) -> socket.socket:
        """Return a socket to the task's door; it ends at once where the task cannot be reached.

        Raises:
            UnavailableError: this process has no descriptor left, or has hung up.
        """
        try:
            return tunnel.open_tunnel(self._channel)
        except ValueError as error:
            raise self._closed(error) from None
        except OSError as error:
            raise errors.UnavailableError(
                None, None, f"There is no way to {self.address}: {error}"
            ) from None

    def close(self) -> None:
        """Hang up; calls under way fail."""
        self._channel.close()

    def _closed(self, error: ValueError) -> errors.UnavailableError:
        return errors.UnavailableError(
            None, None, f"The connection to {self.address} was closed: {error}"
        )


def _result(call: Any, cancellation: cancellations.Cancellation) -> Any:
    """Wait for the answer of a call that ends with `cancellation`."""
    try:
        with cancellation.watched(call.cancel):
            return call.result()
    except grpc.FutureCancelledError:
        raise errors.CancelledError(None, None, "Session was closed before it existed") from None
    finally:
        call.cancel()  # for a caller that was interrupted; an answered call stays answered
