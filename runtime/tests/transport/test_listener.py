"""The listener accepts peers with a token and closes every other connection."""

import contextlib
import dataclasses
import select
import socket
import struct
import threading
import time
from concurrent import futures
from typing import Any

import numpy as np
import pytest

from capstan import errors
from capstan.transport import api, doors, frames, listener, sockets, stream

PATIENCE_S = 200.0


def dial(offer: doors.Offer) -> stream.StreamLink:
    sock = sockets.dial("127.0.0.1", int(offer.address), PATIENCE_S)
    return listener.greet(sock, offer, "the listener")


def connect_without_token(tcp: Any) -> socket.socket:
    """Return a connection that has sent no token."""
    sock = socket.create_connection(("127.0.0.1", int(tcp.offer().address)))
    sock.settimeout(PATIENCE_S)
    return sock


def assert_closed(sock: socket.socket) -> None:
    # A reset means that the peer closed the connection with unread bytes.
    with sock, contextlib.suppress(ConnectionResetError):
        assert sock.recv(1) == b""


def header(**changed: int) -> bytes:
    fields = {"magic": frames.MAGIC, "kind": 3, "step": 1, "subject": 1, "rows": 0}
    fields |= {"table": 0, "payload": 0} | changed
    return frames.HEADER.pack(*fields.values())


def raw_pair(tcp: Any) -> tuple[socket.socket, api.Link]:
    """Return a socket that was accepted with a token, and the link at its other end."""
    offer = tcp.offer()
    sock = socket.create_connection(("127.0.0.1", int(offer.address)))
    token = np.frombuffer(offer.token, np.uint8)
    for part in frames.Encoder().encode(api.Frame(api.Kind.HELLO, 0, 0, (token,))):
        sock.sendall(part)
    sock.settimeout(PATIENCE_S)
    assert len(sock.recv(frames.HEADER.size, socket.MSG_WAITALL)) == frames.HEADER.size
    return sock, tcp.accepted()


def test_the_listener_knows_which_task_dials() -> None:
    met: futures.Future[listener.Hello] = futures.Future()
    door = listener.Listener("127.0.0.1", 7, lambda link, hello: met.set_result(hello))
    link = dial(door.connect("/job:worker/replica:0/task:3", 7, ("memory", listener.TCP)))
    assert met.result(PATIENCE_S) == listener.Hello("/job:worker/replica:0/task:3")
    link.close()
    door.close()


def test_a_token_opens_the_door_once(tcp: Any) -> None:
    offer = tcp.offer()
    dial(offer).close()
    with pytest.raises(errors.UnavailableError, match="did not accept the link"):
        dial(offer)


def test_a_wrong_token_is_refused(tcp: Any) -> None:
    with pytest.raises(errors.UnavailableError, match="did not accept the link"):
        dial(dataclasses.replace(tcp.offer(), token=bytes(32)))


def test_an_offer_is_for_one_incarnation(tcp: Any) -> None:
    with pytest.raises(errors.AbortedError, match=r"expects incarnation 40 .* incarnation 41.*new"):
        tcp.listener.connect("/job:worker", 40, (listener.TCP,))


def test_a_task_without_a_common_plane_gets_an_error(tcp: Any) -> None:
    with pytest.raises(
        errors.UnimplementedError, match="offers memory, but this task offers tcp, grpc"
    ):
        tcp.listener.connect("/job:worker", 41, ("memory",))


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n",
        header(kind=1),
        header(kind=2),
        header(kind=1, rows=1, table=24, payload=1 << 30),
        header(kind=1, rows=1, table=(1 << 20) + 1),
        header(kind=1, rows=1, table=24, payload=32)
        + struct.pack("<IHHQQ", 0, 4, 1, 32, 32)
        + bytes(32),
    ],
    ids=["http", "no-token", "not-hello", "giant-payload", "giant-table", "zero-token"],
)
def test_a_connection_without_a_token_is_closed_whatever_it_sends(tcp: Any, sent: bytes) -> None:
    sock = connect_without_token(tcp)
    sock.sendall(sent)
    assert_closed(sock)
    near, far = tcp.pair()
    near.send(api.Frame(api.Kind.LEG, 1, 1))
    assert far.recv().step == 1


@pytest.mark.alone
def test_a_connection_that_closes_without_a_token_leaves_no_thread(
    tcp: Any, eventually: Any
) -> None:
    def link_threads() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "capstan-link"}

    # Threads of earlier tests may still be ending.
    others = link_threads()
    connect_without_token(tcp).close()
    mute = connect_without_token(tcp)
    tcp.pair()
    mute.close()
    eventually(lambda: len(link_threads() - others) == 1)


@pytest.mark.parametrize(
    "sent, error",
    [
        (b"nonsense, " * 10, errors.DataLossError),
        (header(rows=1, table=24, payload=1 << 40), errors.ResourceExhaustedError),
        (header(rows=1, table=1 << 30), errors.ResourceExhaustedError),
        (header(rows=9, table=24), errors.DataLossError),
    ],
)
def test_bytes_that_are_not_a_frame_close_the_link(tcp: Any, sent: bytes, error: Any) -> None:
    sock, link = raw_pair(tcp)
    sock.sendall(sent)
    with pytest.raises(error):
        link.recv()
    assert link.fileno() == -1
    with pytest.raises(errors.UnavailableError, match="A frame"):
        link.recv()
    assert_closed(sock)


def test_a_deadline_may_pass_in_the_middle_of_a_frame(tcp: Any) -> None:
    sock, link = raw_pair(tcp)
    sent = api.Frame(api.Kind.LEG, 1, 1, [np.arange(50_000)])
    data = b"".join(frames.Encoder().encode(sent))
    for cut in (10, 40, 100, 30_000):
        piece, data = data[:cut], data[cut:]
        sock.sendall(piece)
        assert select.select([link], [], [], PATIENCE_S)[0]
        with pytest.raises(errors.DeadlineExceededError):
            link.recv(time.monotonic() + 0.02)
        assert link.pending()
    sock.sendall(data)
    np.testing.assert_array_equal(link.recv().values[0], np.arange(50_000))
    assert not link.pending()
    sock.close()


def test_closing_the_listener_closes_its_links(
    tcp: Any, aside: futures.Executor, eventually: Any
) -> None:
    near, far = tcp.pair()
    waiting = aside.submit(far.recv)
    eventually(waiting.running)
    offer = tcp.offer()
    tcp.listener.close()
    tcp.listener.close()
    with pytest.raises(errors.UnavailableError):
        waiting.result(PATIENCE_S)
    with pytest.raises(errors.UnavailableError):
        near.recv()
    with pytest.raises(errors.UnavailableError, match="Cannot connect"):
        dial(offer)
    with pytest.raises(errors.UnavailableError, match="shutting down"):
        tcp.offer()


def test_a_peer_that_does_not_answer_is_late_or_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is late after the deadline of the caller, and unavailable after the limit of a link."""
    offer = doors.Offer(listener.TCP, "", b"token")
    ends = [socket.socketpair() for _ in range(2)]
    with pytest.raises(errors.DeadlineExceededError, match="ps did not accept the link"):
        listener.greet(ends[0][0], offer, "ps", time.monotonic() + 0.01)
    monkeypatch.setattr(listener, "_HELLO_S", 0.01)
    with pytest.raises(errors.UnavailableError, match="ps did not accept the link"):
        listener.greet(ends[1][0], offer, "ps", time.monotonic() + 3600)
    for near, far in ends:
        assert near.fileno() == -1
        far.close()


@pytest.mark.alone
def test_ended_links_leave_no_threads(tcp: Any, eventually: Any) -> None:
    others = set(threading.enumerate())

    def answer(link: api.Link, hello: listener.Hello) -> None:
        while True:
            link.send(link.recv())

    door = listener.Listener("127.0.0.1", 1, answer)
    for _ in range(20):
        link = dial(door.connect("/job:worker", 1, (listener.TCP,)))
        link.send(api.Frame(api.Kind.START, 1, 1))
        link.recv()
        link.close()
    door.close()
    eventually(lambda: set(threading.enumerate()) <= others)


def test_the_error_names_a_host_that_is_not_this_machine() -> None:
    with pytest.raises(errors.UnavailableError, match=r"Cannot listen .* 'nowhere\.invalid'"):
        listener.Listener("nowhere.invalid", 1, lambda link, hello: None)
