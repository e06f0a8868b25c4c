"""Reads the requests of a server, and bounds the memory that they take.

gRPC reads a request only when the handler of the call asks for it. If the size of a request is
known before, a request that does not fit is refused unread. Capstan's clients send the sizes of
large requests as metadata (`declare`). TensorFlow's clients do not, so their requests are counted
when they have arrived. gRPC itself refuses a request that alone exceeds the bound, unread.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Final

import grpc

from capstan import errors
from capstan.transport import limits
from capstan.transport.grpc import trimming

SMALL_BYTES: Final = 64 << 10
"""Smaller requests are never refused, so that a full server still closes sessions and answers
health checks. The number of calls bounds their memory."""

_KEY: Final = "capstan-request-bytes"
LARGE_BYTES: Final = 16 << 20
"""Each request from this declared size on has a connection of its own. As long as a connection
lives, gRPC keeps the buffers into which it has read, which may take twice the largest request.
"""


def declare(size: int) -> tuple[tuple[str, str], ...]:
    """Return the metadata that declares the size of a request.

    >>> declare(100), declare(1 << 20)
    ((), (('capstan-request-bytes', '1048576'),))
    """
    return () if size < SMALL_BYTES else ((_KEY, str(size)),)


def declared(context: grpc.ServicerContext) -> int:
    """Return the size that a call declares, or 0 if it declares none.

    Raises:
        InvalidArgumentError: the metadata is malformed.
    """
    text = str(dict(context.invocation_metadata()).get(_KEY, "0"))
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise errors.InvalidArgumentError(
            None, None, f"The metadata {_KEY} must be a number of bytes, not {text!r}"
        )
    return int(text)


def lasting_peer(context: grpc.ServicerContext) -> str:
    """Return the peer of a call, or "" if its connection is closed after this call."""
    return "" if declared(context) >= LARGE_BYTES else context.peer()


class Intake:
    """The memory of the requests that a server holds. Thread-safe."""

    def __init__(self, limit_bytes: int) -> None:
        """Hold at most `limit_bytes` of requests at once, apart from small ones."""
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._held = 0
        self._trimming = trimming.Trimming()

    @contextlib.contextmanager
    def request(self) -> "Iterator[Reservation]":
        """Hold the memory of one request. The block reserves it, and its end releases it."""
        reservation = Reservation(self)
        try:
            yield reservation
        finally:
            self.add(-reservation.size)
            if reservation.arrived >= LARGE_BYTES:
                self._trimming.begin()

    def add(self, size: int) -> None:
        """Count `size` more bytes, or fewer if it is negative.

        Raises:
            ResourceExhaustedError: the bytes exceed the limit. They are not counted.
        """
        with self._lock:
            if size > 0 and self._held + size > self._limit:
                raise errors.ResourceExhaustedError(
                    None,
                    None,
                    f"A request needs {size} bytes, but this server holds {self._held} bytes of "
                    f"other requests, and its bound is {self._limit}. Send less at once, send "
                    f"again later, or start the server with a larger {limits.VARIABLE}",
                )
            self._held += size


class Reservation:
    """The memory of one request. Only the thread of the request uses it."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self.size = 0
        """The bytes that are reserved."""
        self.arrived = 0
        """The bytes that have arrived, also if there was no room for them."""

    def received(self, size: int) -> None:
        """Reserve `size` bytes in total for a request that has arrived. Raises as `raise_to`."""
        self.arrived = size
        self.raise_to(size)
        if size >= LARGE_BYTES:
            # The buffers of the connection, which are as large as the request, are free.
            trimming.trim()

    def raise_to(self, size: int) -> None:
        """Reserve `size` bytes in total, unless so many are reserved already or `size` is small.

        Raises as `Intake.add`.
        """
        if size >= SMALL_BYTES and size > self.size:
            self._intake.add(size - self.size)
            self.size = size
