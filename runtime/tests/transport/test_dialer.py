"""A link uses a socket if the port can be reached, else the control plane."""

import contextlib
import itertools
import logging
import pathlib
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent import futures
from typing import Any

import clusters
import numpy as np
import pytest

from capstan import errors
from capstan.transport import api, dialer, doors, listener, pool
from capstan.transport.grpc import remote_worker, server

PS = "/job:ps/replica:0/task:0"
INCARNATION = 7


def answer(link: api.Link, hello: listener.Hello) -> None:
    while True:
        link.send(link.recv())


class Ps:
    """A task with a listener behind a real control plane.

    If `walled` is set, nothing listens on the data port that it offers. `asked` holds the planes of
    each request, and `opened` the plane of each offer.
    """

    def __init__(self, host: str | None) -> None:
        self.door = listener.Listener(host, INCARNATION, answer)
        self.walled = False
        self.together: threading.Barrier | None = None
        """Lets several requests for a walled port be answered at the same time."""
        self.asked: list[tuple[str, ...]] = []
        self.opened: list[str] = []
        self.control = server.ControlServer("127.0.0.1", 0, self, self, self, bytes, 1 << 29)  # type: ignore[arg-type]
        self.control.start()
        self.address = f"127.0.0.1:{self.control.port}"
        self.worker = remote_worker.GrpcWorker(self.address)

    def connect(self, task: str, incarnation: int, planes: Sequence[str]) -> doors.Offer:
        self.asked.append(tuple(planes))
        offer = self.door.connect(task, incarnation, planes)
        if self.walled and offer.plane == listener.TCP:
            if self.together is not None:
                self.together.wait(60)
            port = clusters.addresses(1)[0].rpartition(":")[2]
            offer = doors.Offer(offer.plane, port, offer.token)
        self.opened.append(offer.plane)
        return offer

    def admit(self, sock: socket.socket) -> None:
        self.door.admit(sock)

    def drop(self, task: str) -> None:
        self.door.drop(task)

    def close_session(self, handle: str) -> None:
        raise AssertionError("no test opens a session")

    def close(self) -> None:
        self.door.close()
        self.worker.close()
        self.control.stop()

    def dialer(self, *planes: str) -> dialer.LinkDialer:
        ways = planes or listener.PLANES
        return dialer.LinkDialer("/job:w", {PS: self.address}, lambda task: self.worker, ways)


@pytest.fixture
def ps() -> Iterator[Ps]:
    with contextlib.closing(Ps("127.0.0.1")) as made:
        yield made


@pytest.fixture
def portless() -> Iterator[Ps]:
    with contextlib.closing(Ps(None)) as made:
        yield made


class Clock:
    """The time of a test. It stands still until the test sets `second`, counted from its start."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self.second = 0

    def now(self) -> float:
        return self._start + self.second


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(dialer.time, "monotonic", clock.now)
    return clock


def soon() -> float:
    return time.monotonic() + 20


def assert_works(link: api.Link) -> None:
    sent = api.Frame(api.Kind.LEG, 5, 6, [np.arange(300_000)])
    link.send(sent)
    np.testing.assert_array_equal(link.recv(soon()).values[0], sent.values[0])
    link.close()


def test_a_socket_is_used_where_it_can_be_reached(ps: Ps) -> None:
    assert_works(ps.dialer().dial(PS, INCARNATION, soon()))
    assert ps.opened == [listener.TCP]


@pytest.mark.e2e
def test_a_port_that_cannot_be_connected_is_replaced_by_a_stream(
    ps: Ps, caplog: pytest.LogCaptureFixture
) -> None:
    ps.walled = True
    ways = ps.dialer()
    with caplog.at_level(logging.WARNING, "capstan"):
        assert_works(ways.dial(PS, INCARNATION, soon()))
        assert ps.opened == [listener.TCP, listener.GRPC]
        # The next link does not try the port again, and there is no second warning.
        assert_works(ways.dial(PS, INCARNATION, soon()))
    assert ps.opened == [listener.TCP, listener.GRPC, listener.GRPC]
    (record,) = caplog.records
    assert "answers, but its data port does not" in record.getMessage()


@pytest.mark.e2e
def test_a_port_is_tried_again_and_idle_streams_are_replaced_when_its_time_has_come(
    ps: Ps, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One lost packet must not slow down all later steps."""
    ps.walled = True
    with contextlib.closing(pool.Pool(ps.dialer())) as links:

        def step() -> str:
            """Use a link as a step does, and return the plane of the last link."""
            link = links.take(PS, INCARNATION, soon())
            links.give_back(PS, INCARNATION, link)
            return ps.opened[-1]

        assert step() == listener.GRPC
        ps.walled = False
        asked = len(ps.asked)
        assert step() == listener.GRPC
        assert len(ps.asked) == asked  # the stream was used again
        later = time.monotonic() + 10
        with monkeypatch.context() as patch:
            patch.setattr(dialer.time, "monotonic", lambda: later)
            assert step() == listener.TCP
        asked = len(ps.asked)
        assert step() == listener.TCP
        assert len(ps.asked) == asked
    assert len(caplog.records) == 1


@pytest.mark.e2e
def test_a_port_that_stays_closed_is_tried_ever_more_rarely(ps: Ps, clock: Clock) -> None:
    ps.walled = True
    ways = ps.dialer()
    tried = []
    for clock.second in range(0, 100, 10):
        before = len(ps.opened)
        ways.dial(PS, INCARNATION, soon()).close()
        if listener.TCP in ps.opened[before:]:
            tried.append(clock.second)
    assert tried == [0, 10, 30, 70]


@pytest.mark.e2e
def test_a_port_that_stays_closed_is_tried_once_an_hour_at_least(ps: Ps, clock: Clock) -> None:
    ps.walled = True
    ways = ps.dialer()
    waits = [10 * 2**number for number in range(9)] + [3600, 3600]
    for due in itertools.accumulate(waits, initial=0):
        for clock.second, is_tried in ((due - 1, False), (due, True)):
            before = len(ps.opened)
            if due or is_tried:
                ways.dial(PS, INCARNATION, soon()).close()
                assert (listener.TCP in ps.opened[before:]) == is_tried


@pytest.mark.e2e
def test_the_intervals_of_a_port_begin_anew_after_a_link_over_it_and_for_a_new_process(
    ps: Ps, clock: Clock
) -> None:
    ps.walled = True
    ways = ps.dialer()

    def planes(second: int) -> list[str]:
        clock.second = second
        before = len(ps.opened)
        link = ways.dial(PS, INCARNATION, soon())
        assert ways.is_outdated(PS, INCARNATION + 1, link) == (ps.opened[-1] == listener.GRPC)
        link.close()
        return ps.opened[before:]

    assert planes(0) == [listener.TCP, listener.GRPC]
    ps.walled = False
    assert planes(10) == [listener.TCP]
    ps.walled = True
    assert planes(11) == [listener.TCP, listener.GRPC]
    assert planes(20) == [listener.GRPC]
    assert planes(21) == [listener.TCP, listener.GRPC]


@pytest.mark.e2e
def test_dials_that_fail_together_count_once(ps: Ps, clock: Clock) -> None:
    ps.walled, ps.together = True, threading.Barrier(3)
    ways = ps.dialer()
    with futures.ThreadPoolExecutor(3) as threads:
        dialled = [threads.submit(ways.dial, PS, INCARNATION, clock.now() + 60) for _ in range(3)]
        for each in dialled:
            each.result(60).close()
    ps.together = None
    clock.second = 10
    before = len(ps.opened)
    ways.dial(PS, INCARNATION, clock.now() + 60).close()
    assert listener.TCP in ps.opened[before:]


@pytest.mark.e2e
def test_every_stream_is_replaced_when_the_time_of_its_port_has_come(ps: Ps, clock: Clock) -> None:
    ps.walled = True
    ways = ps.dialer()
    links = [ways.dial(PS, INCARNATION, clock.now() + 60) for _ in range(2)]
    assert not any(ways.is_outdated(PS, INCARNATION, link) for link in links)
    clock.second = 10
    assert all(ways.is_outdated(PS, INCARNATION, link) for link in links)
    for link in links:
        link.close()


@pytest.mark.e2e
def test_a_task_without_a_port_offers_the_stream(portless: Ps) -> None:
    assert_works(portless.dialer().dial(PS, INCARNATION, soon()))
    assert portless.opened == [listener.GRPC]
    assert portless.asked == [listener.PLANES]


@pytest.mark.e2e
def test_a_dialler_with_only_the_stream_plane_asks_only_for_a_stream(ps: Ps) -> None:
    assert_works(ps.dialer(listener.GRPC).dial(PS, INCARNATION, soon()))
    assert ps.asked == [(listener.GRPC,)]


@pytest.mark.e2e
def test_without_the_stream_a_port_that_cannot_be_connected_is_unavailable(ps: Ps) -> None:
    ps.walled = True
    with pytest.raises(errors.UnavailableError, match="Cannot connect to 127"):
        ps.dialer(listener.TCP).dial(PS, INCARNATION, time.monotonic() + 4)


@pytest.mark.e2e
def test_a_timeout_within_an_attempt_does_not_hide_the_error_of_earlier_attempts(
    ps: Ps, monkeypatch: pytest.MonkeyPatch
) -> None:
    ps.walled = True
    offered = ps.connect

    def slow_from_the_second_on(task: str, incarnation: int, planes: Sequence[str]) -> doors.Offer:
        if ps.opened:
            threading.Event().wait(5)
        return offered(task, incarnation, planes)

    monkeypatch.setattr(ps, "connect", slow_from_the_second_on)
    with pytest.raises(errors.UnavailableError, match="Cannot connect to 127"):
        ps.dialer(listener.TCP).dial(PS, INCARNATION, time.monotonic() + 4)


def test_a_task_that_is_only_slow_is_late_and_not_unavailable(
    ps: Ps, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, connect = threading.Event(), ps.connect

    def slow(task: str, incarnation: int, planes: Sequence[str]) -> doors.Offer:
        gate.wait()
        return connect(task, incarnation, planes)

    monkeypatch.setattr(ps, "connect", slow)
    try:
        with pytest.raises(errors.DeadlineExceededError, match="cannot be reached: Connect: no an"):
            ps.dialer().dial(PS, INCARNATION, time.monotonic() + 0.01)
    finally:
        gate.set()


def test_a_stale_incarnation_is_refused_whatever_the_plane(ps: Ps) -> None:
    for ways in (ps.dialer(), ps.dialer(listener.GRPC)):
        with pytest.raises(errors.AbortedError, match="the task was restarted"):
            ways.dial(PS, INCARNATION + 1, soon())


def test_a_stream_without_a_token_is_closed(ps: Ps) -> None:
    tunnel = ps.worker.open_tunnel()
    with tunnel:
        tunnel.settimeout(20)
        tunnel.sendall(b"GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n" * 10)
        with contextlib.suppress(ConnectionResetError):
            assert tunnel.recv(1) == b""


def test_a_stream_to_an_address_without_a_server_ends(ps: Ps) -> None:
    unreachable = remote_worker.GrpcWorker("127.0.0.1:1")
    with contextlib.closing(unreachable), unreachable.open_tunnel() as sock:
        sock.settimeout(20)
        assert sock.recv(1) == b""
    with pytest.raises(errors.UnavailableError, match="was closed"):
        unreachable.open_tunnel()


def descriptors() -> int:
    return len(list(pathlib.Path("/proc/self/fd").iterdir()))


@pytest.mark.alone
@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_ended_streams_leave_no_threads_and_no_descriptors(portless: Ps, eventually: Any) -> None:
    others = carriers()
    ways = portless.dialer()
    assert_works(ways.dial(PS, INCARNATION, soon()))
    eventually(lambda: carriers() <= others)
    before = descriptors()
    for _ in range(20):
        assert_works(ways.dial(PS, INCARNATION, soon()))
    eventually(lambda: carriers() <= others)
    # gRPC opens and closes descriptors of its own at any time.
    eventually(lambda: descriptors() < before + 10)


def carriers() -> set[threading.Thread]:
    """Return the threads of links, also those of earlier tests."""
    names = ("capstan-tunnel", "capstan-link")
    return {thread for thread in threading.enumerate() if thread.name in names}


def relay(there: tuple[str, int], dark: threading.Event) -> socket.socket:
    """Return a port that relays to `there`. When `dark` is set, it sends nothing any more, and its
    connections stay open.
    """
    door = socket.create_server(("127.0.0.1", 0))

    def copy(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if dark.is_set():
                    return
                sink.sendall(data)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = door.accept()
                far = socket.create_connection(there)
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=copy, args=ends, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return door


@pytest.mark.alone
@pytest.mark.e2e
def test_a_half_open_stream_ends_on_both_sides(
    portless: Ps, aside: futures.Executor, eventually: Any
) -> None:
    others = carriers()
    dark = threading.Event()
    door = relay(("127.0.0.1", portless.control.port), dark)
    worker = remote_worker.GrpcWorker(f"127.0.0.1:{door.getsockname()[1]}")
    with door, contextlib.closing(worker):
        addresses = {PS: portless.address}
        link = dialer.LinkDialer("/job:w", addresses, lambda task: worker).dial(PS, INCARNATION)
        link.send(api.Frame(api.Kind.LEG, 1, 1))
        link.recv(soon())
        dark.set()
        with pytest.raises(errors.UnavailableError):
            link.recv(time.monotonic() + 200)
        eventually(lambda: carriers() <= others)
        link.close()
