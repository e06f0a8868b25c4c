"""The plane `tcp`, or socket plane: links over TCP connections.

A link never blocks in the kernel's `send`. Otherwise two tasks that send large tensors to each
other at once would each wait for the other to read. While the socket of a sender is full, the
sender reads the peer's frames into new memory. `recv` returns these frames first.
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

_MAX_PARTS: Final = 1024  # Linux and macOS have this IOV_MAX.
_BLOCKING: Final = 0
_STALL_S: Final = 1.0
# How often a blocked sender checks whether it may read while another thread is in `recv`.
_REVISIT_MS: Final = 50


class StreamLink(api.Link):
    """An `api.Link` over a connected socket, which it owns.

    Thread-safe: one thread may be in `send` while another one is in `recv`. Two threads in the same
    method run one after the other.
    """

    def __init__(
        self,
        sock: socket.socket,
        peer: str,
        max_message_bytes: int = frames.MAX_MESSAGE_BYTES,
    ) -> None:
        """Take over `sock`. `peer` is the name of the other end in error messages."""
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
        """Send a frame, as `api.Link.send`. The caller may overwrite the arrays on return.

        Raises:
            UnavailableError: the peer is gone, or the link was closed.
            InvalidArgumentError, ResourceExhaustedError: the frame cannot be encoded. Nothing was
                sent, and the link stays usable.
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

    def offer(self, frame: api.Frame) -> bool:
        """Send a frame without values if this takes no time, as `api.Link.offer`."""
        if not self._sending.acquire(blocking=False):
            return False
        try:
            (header,) = self._encoder.encode(frame)
            sent = 0 if self._closed else self._socket.sendmsg([header], (), socket.MSG_DONTWAIT)
            if 0 < sent < len(header):  # the peer would wait for the rest of the frame
                self.close()
            return sent == len(header)
        except OSError:
            return False
        finally:
            self._sending.release()
            if self._closed:
                self._release(blocking=False)

    def recv(self, deadline: float | None = None) -> api.Frame:
        """Wait for a frame, as `api.Link.recv`.

        Raises:
            DeadlineExceededError: no complete frame arrived in time. The link stays usable.
            UnavailableError: the peer is gone, or the link was closed.
            DataLossError: the peer sent bytes that are not a frame. The link is closed.
            ResourceExhaustedError: a frame exceeds `max_message_bytes`. The link is closed.
        """
        try:
            with self._receiving:
                self._require_open()
                if self._ahead:
                    return self._ahead.popleft()
                try:
                    while (frame := self._assembler.take()) is None:
                        if deadline is None:
                            self._read(_BLOCKING)
                        else:
                            self._wait_to_read(deadline)
                            self._read(socket.MSG_DONTWAIT)
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

    def is_quiet(self) -> bool:
        return not (self._closed or self.pending() or self._readable.poll(0))

    def has_ended(self) -> bool:
        """Return whether the socket has nothing to read any more, as `api.Link.has_ended`."""
        try:
            return not self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def fileno(self) -> int:
        """Return the descriptor of the socket, or -1 after it was closed."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the link, as `api.Link.close`. Frames that were sent before still arrive."""
        self._closed = True
        with contextlib.suppress(OSError):  # the peer has closed it already
            self._socket.shutdown(socket.SHUT_RDWR)
        self._release(blocking=False)

    def _release(self, *, blocking: bool) -> None:
        """Close the descriptor. If a thread is in `send` or `recv`, that thread closes it later.

        If the descriptor were closed while a thread polls it, the thread could poll a new file that
        got the same number. `send` and `recv` call this with `blocking` before they return. `close`
        does not block, because a signal handler may call it inside `send` or `recv`.
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
        """Close the link after a bad frame, or after an error in the middle of a frame."""
        self._reason = str(error) or type(error).__name__
        self.close()

    def _send(self, parts: list[bytes | memoryview]) -> None:
        at = 0
        while at < len(parts):
            try:
                sent = self._socket.sendmsg(parts[at : at + _MAX_PARTS], (), socket.MSG_DONTWAIT)
            except BlockingIOError:
                self._wait_to_send()
                continue
            while at < len(parts) and sent >= len(parts[at]):
                sent -= len(parts[at])
                at += 1
            if sent:
                parts[at] = memoryview(parts[at])[sent:]

    def _wait_to_send(self) -> None:
        """Block until the socket accepts bytes. Read meanwhile, unless another thread reads."""
        since = time.monotonic()
        unlimited = False
        try:
            while not self._can_send():
                if not unlimited and time.monotonic() - since > _STALL_S:
                    unlimited = sockets.is_only_slow(self._socket)
                    if unlimited:
                        sockets.limit_silence(self._socket, on=False)
        finally:
            if unlimited:
                sockets.limit_silence(self._socket, on=True)

    def _can_send(self) -> bool:
        """Wait a short time. Return whether `sendmsg` will now send bytes or raise an error."""
        if not self._receiving.acquire(blocking=False):
            return bool(self._writable.poll(_REVISIT_MS))
        try:
            events = sum(event for _, event in self._either.poll(_STALL_S * 1000))
            if events & select.POLLIN:
                self._read(socket.MSG_DONTWAIT)
                while (frame := self._assembler.take(fresh=True)) is not None:
                    self._ahead.append(frame)
            return bool(events & ~select.POLLIN)
        finally:
            self._receiving.release()

    def _wait_to_read(self, deadline: float) -> None:
        millis = max(0, math.ceil((deadline - time.monotonic()) * 1000))
        if not self._readable.poll(millis):
            raise errors.DeadlineExceededError(
                None, None, f"No complete frame from {self.peer} arrived in time"
            )

    def _read(self, flags: int) -> None:
        """Read the bytes that have arrived. The caller must hold `_receiving`.

        If `flags` is MSG_DONTWAIT, do not wait for bytes.
        """
        try:
            count = self._socket.recv_into(self._assembler.target(), 0, flags)
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
