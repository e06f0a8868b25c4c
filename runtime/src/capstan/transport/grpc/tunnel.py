"""The plane `grpc`, or stream plane: the bytes of a link inside one gRPC call.

It serves tasks that cannot reach each other's sockets. Each side of the call holds one end of a
local socket pair, and the link is an ordinary `StreamLink` on the other end. Frames, tokens,
closing and blocked senders therefore work as on the plane `tcp`. The call only carries bytes, at
most 1 MiB in a gRPC message, under gRPC's own flow control. This costs two copies and a thread
switch each way.

A peer that does not answer gRPC's pings (channels.py) counts as dead, even if its process is only
stopped.
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
"""Takes over a connected socket. Returns at once."""


class _GrpcEnd(Iterator[bytes]):
    """The gRPC side of a socket pair: an iterator of the bytes that the link sends.

    `copy_from` gives the link the bytes that arrive. One thread iterates, and another thread
    copies. When either direction ends, the other direction ends too.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._reading = threading.Lock()

    def __next__(self) -> bytes:
        """Wait until the link has sent bytes, and return at most a chunk of them.

        The iteration stops when the link has ended.
        """
        with self._reading:
            if self._socket.fileno() < 0:
                raise StopIteration
            try:
                chunk = self._socket.recv(CHUNK_BYTES)
            except ConnectionResetError:  # the link was closed with unread bytes
                raise StopIteration from None
        if not chunk:
            raise StopIteration
        return chunk

    def copy_from(self, chunks: Iterable[bytes]) -> None:
        """Give `chunks` to the link until the chunks or the link end. Then close the socket."""
        try:
            with contextlib.suppress(OSError, grpc.RpcError):
                for chunk in chunks:
                    self._socket.sendall(chunk)
        finally:
            self.end()
            with self._reading:
                self._socket.close()

    def end(self) -> None:
        """Shut the socket down, which wakes both threads.

        The link still reads the remaining bytes, and then the end.
        """
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


def open_tunnel(channel: grpc.Channel) -> socket.socket:
    """Start a call to the task at the other end of `channel`. Return a socket to that task.

    Does not wait for an answer. If the task cannot be reached, the socket closes.
    """
    link_end, grpc_end = _pair()
    try:
        call: Any = channel.stream_stream(f"/{channels.WORKER}/{METHOD}", None, None)(grpc_end)
    except BaseException:
        link_end.close()
        grpc_end.copy_from(())
        raise

    def carry() -> None:
        grpc_end.copy_from(call)
        call.cancel()

    threading.Thread(target=carry, name="capstan-tunnel", daemon=True).start()
    return link_end


def handler(admit: Admit) -> "grpc.RpcMethodHandler[Any, Any]":
    """Return the server side. Each call gives a socket to `admit`, and ends with this socket."""

    def serve(chunks: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        try:
            link_end, grpc_end = _pair()
        except OSError as error:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"There is no socket left: {error}")
        threading.Thread(
            target=grpc_end.copy_from, args=(chunks,), name="capstan-tunnel", daemon=True
        ).start()
        if not context.add_callback(grpc_end.end):
            grpc_end.end()
        admit(link_end)
        return grpc_end

    return grpc.stream_stream_rpc_method_handler(serve)


def _pair() -> tuple[socket.socket, _GrpcEnd]:
    link_end, other_end = socket.socketpair()
    for end in (link_end, other_end):
        # A chunk can only be as large as the buffer. The system may make the buffer smaller than
        # requested.
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, CHUNK_BYTES)
    return link_end, _GrpcEnd(other_end)
