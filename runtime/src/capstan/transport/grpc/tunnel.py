"""The stream plane: a link's bytes inside one gRPC call, for tasks that cannot reach each other's
sockets.

Each end of the call holds one end of a local socket pair; the link is an ordinary `StreamLink` on
the other. So frames, tokens, closing and what a blocked sender does are those of the socket plane,
and the call only carries bytes, at most 1 MiB a message, under gRPC's own flow control. That costs
two copies and a thread hop each way.

A peer that answers no ping of gRPC's (channels.py) is dead, a process that was stopped for that
long included.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import grpc

from capstan.transport.grpc import channels

METHOD: Final = "Link"
CHUNK_BYTES: Final = 1 << 20

Admit = Callable[[socket.socket], None]
"""Take a connected socket over; returns at once."""


class _Mouth(Iterator[bytes]):
    """Our end of a socket pair: an iterator of what the link sends, and a sink for what it gets.

    Two threads use it, one each way. Whichever way ends first ends the other.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._reading = threading.Lock()

    def __next__(self) -> bytes:
        """Return what the link has sent, up to a chunk; blocks. Stops when the link is closed."""
        with self._reading:
            if self._socket.fileno() < 0:
                raise StopIteration
            try:
                chunk = self._socket.recv(CHUNK_BYTES)
            except ConnectionResetError:  # it was closed with bytes unread
                raise StopIteration from None
        if not chunk:
            raise StopIteration
        return chunk

    def swallow(self, chunks: Iterable[bytes]) -> None:
        """Give the link all that comes, until the end of it or of the link; then close."""
        try:
            with contextlib.suppress(OSError, grpc.RpcError):
                for chunk in chunks:
                    self._socket.sendall(chunk)
        finally:
            self.end()
            with self._reading:
                self._socket.close()

    def end(self) -> None:
        """Wake both threads: the link reads what is there, then the end."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


def open_tunnel(channel: grpc.Channel) -> socket.socket:
    """Start a call to the task at the other end of `channel`; returns the socket that leads there.

    Nothing is waited for: where nobody answers, the socket ends.
    """
    ours, mouth = _pair()
    try:
        call: Any = channel.stream_stream(f"/{channels.WORKER}/{METHOD}", None, None)(mouth)
    except BaseException:
        ours.close()
        mouth.swallow(())
        raise

    def carry() -> None:
        mouth.swallow(call)
        call.cancel()

    threading.Thread(target=carry, name="capstan-tunnel", daemon=True).start()
    return ours


def handler(admit: Admit) -> "grpc.RpcMethodHandler[Any, Any]":
    """Return the server's end: `admit` gets a socket for each call, which lasts as long as that."""

    def serve(chunks: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        try:
            ours, mouth = _pair()
        except OSError as error:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"There is no socket left: {error}")
        threading.Thread(
            target=mouth.swallow, args=(chunks,), name="capstan-tunnel", daemon=True
        ).start()
        if not context.add_callback(mouth.end):
            mouth.end()
        admit(ours)
        return mouth

    return grpc.stream_stream_rpc_method_handler(serve)


def _pair() -> tuple[socket.socket, _Mouth]:
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        # So that chunks become as large as they may; systems give what they allow.
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, CHUNK_BYTES)
    return ours, _Mouth(theirs)
