"""The socket plane: links over TCP connections.

A link never waits in the kernel's `send`: two tasks that push large tensors to each other at once
would each wait for the other to read. A sender whose socket is full reads what the peer sends, into
memory that nobody looks at yet, until it can go on; `recv` hands those frames out first.
"""

import collections
import contextlib
import math
import select
import socket
import threading
import time
from typing import Final

from capstan import errors
from capstan.transport import api, assembly, frames, sockets

_MAX_PARTS: Final = 1024  # IOV_MAX of Linux and macOS
_STALL_S: Final = 1.0
# How soon a blocked sender looks again whether it may read, while another thread is in `recv`.
_REVISIT_MS: Final = 50


class StreamLink(api.Link):
    """`api.Link` over a connected TCP socket, which it owns.

    Thread-safe: one thread may be in `send` while another is in `recv`; two in the same take turns.
    """

    def __init__(
        self,
        sock: socket.socket,
        peer: str,
        max_message_bytes: int = frames.MAX_MESSAGE_BYTES,
    ) -> None:
        """Take over `sock`; `peer` is what messages call the other end."""
        sockets.prepare(sock)
        self.peer = peer
        self._socket = sock
        self._encoder = frames.Encoder(max_message_bytes)
        self._assembler = assembly.Assembler(max_message_bytes)
        self._ahead: collections.deque[api.Frame] = collections.deque()
        self._closed = False
        self._reason = "it was closed on this side"
        self._sending = threading.Lock()
        self._receiving = threading.Lock()
        self._readable = _poll(sock, select.POLLIN)
        self._writable = _poll(sock, select.POLLOUT)
        self._either = _poll(sock, select.POLLIN | select.POLLOUT)

    def send(self, frame: api.Frame) -> None:
        """Send a frame, as `api.Link.send`; the arrays may be reused on return.

        Raises:
            UnavailableError: the peer is gone, or the link was closed.
            InvalidArgumentError, ResourceExhaustedError: the frame cannot travel; nothing was sent
                and the link stays usable.
        """
        try:
            with self._sending:
                self._require_open()
                parts = self._encoder.encode(frame)
                try:
                    self._send(parts)
                except OSError as error:
                    raise self._gone(error.strerror or str(error)) from None
                except errors.UnavailableError:
                    raise
                except BaseException as error:
                    self._give_up(error)
                    raise
        finally:
            if self._closed:
                self._release(blocking=True)

    def recv(self, deadline: float | None = None) -> api.Frame:
        """Wait for a frame, as `api.Link.recv`.

        Raises:
            DeadlineExceededError: no frame was complete in time; the link stays usable.
            UnavailableError: the peer is gone, or the link was closed.
            DataLossError, ResourceExhaustedError: the peer sent what is no frame, or one of more
                than `max_message_bytes`. The link is closed.
        """
        try:
            with self._receiving:
                self._require_open()
                if self._ahead:
                    return self._ahead.popleft()
                try:
                    while (frame := self._assembler.take()) is None:
                        self._wait_to_read(deadline)
                        self._read()
                except (errors.DeadlineExceededError, errors.UnavailableError):
                    raise
                except BaseException as error:
                    self._give_up(error)
                    raise
                return frame
        finally:
            if self._closed:
                self._release(blocking=True)

    def pending(self) -> bool:
        return bool(self._ahead) or self._assembler.holds_bytes

    def fileno(self) -> int:
        """The socket, or -1 once it is closed."""
        return self._socket.fileno()

    def close(self) -> None:
        """End the link, as `api.Link.close`. Frames that were sent before still arrive."""
        self._closed = True
        with contextlib.suppress(OSError):  # the peer was first
            self._socket.shutdown(socket.SHUT_RDWR)
        self._release(blocking=False)

    def _release(self, *, blocking: bool) -> None:
        """Close the descriptor unless a thread is using it; that one will, on its way out.

        Closing it under a thread that polls it would let that thread poll somebody else's. Only the
        way out may wait for the other thread: `close` may come from a signal handler, on top of
        either.
        """
        if self._sending.acquire(blocking):
            if self._receiving.acquire(blocking):
                self._socket.close()
                self._receiving.release()
            self._sending.release()

    def _require_open(self) -> None:
        if self._closed:
            raise self._gone(self._reason)

    def _give_up(self, error: BaseException) -> None:
        """Close after what left the stream in the middle of a frame, or was no frame."""
        self._reason = str(error) or type(error).__name__
        self.close()

    def _send(self, parts: list[bytes | memoryview]) -> None:
        at = 0
        while at < len(parts):
            try:
                sent = self._socket.sendmsg(parts[at : at + _MAX_PARTS])
            except BlockingIOError:
                self._wait_to_send()
                continue
            while at < len(parts) and sent >= len(parts[at]):
                sent -= len(parts[at])
                at += 1
            if sent:
                parts[at] = memoryview(parts[at])[sent:]

    def _wait_to_send(self) -> None:
        """Return when the socket takes bytes again; read meanwhile, unless another thread does."""
        since = time.monotonic()
        lifted = False
        try:
            while not self._can_send():
                if not lifted and time.monotonic() - since > _STALL_S:
                    lifted = sockets.is_only_slow(self._socket)
                    if lifted:
                        sockets.limit_silence(self._socket, on=False)
        finally:
            if lifted:
                sockets.limit_silence(self._socket, on=True)

    def _can_send(self) -> bool:
        """Wait for a while; say whether to try again, be it to learn of an error."""
        if not self._receiving.acquire(blocking=False):
            return bool(self._writable.poll(_REVISIT_MS))
        try:
            events = sum(event for _, event in self._either.poll(_STALL_S * 1000))
            if events & select.POLLIN:
                self._read()
                while (frame := self._assembler.take(fresh=True)) is not None:
                    self._ahead.append(frame)
            return bool(events & ~select.POLLIN)
        finally:
            self._receiving.release()

    def _wait_to_read(self, deadline: float | None) -> None:
        millis = None
        if deadline is not None:
            millis = max(0, math.ceil((deadline - time.monotonic()) * 1000))
        if not self._readable.poll(millis):
            raise errors.DeadlineExceededError(
                None, None, f"No frame from {self.peer} was complete in time"
            )

    def _read(self) -> None:
        """Read what has come. Does not wait; holds `_receiving`."""
        try:
            count = self._socket.recv_into(self._assembler.target())
        except BlockingIOError:
            return
        except OSError as error:
            raise self._gone(error.strerror or str(error)) from None
        if not count:
            where = " in the middle of a frame" if self._assembler.holds_bytes else ""
            why = self._reason if self._closed else f"the peer closed it{where}"
            raise self._gone(why)
        self._assembler.filled(count)

    def _gone(self, why: str) -> errors.UnavailableError:
        return errors.UnavailableError(None, None, f"The link to {self.peer} is gone: {why}")


def _poll(sock: socket.socket, events: int) -> "select.poll":
    poll = select.poll()
    poll.register(sock, events)
    return poll
