"""Leases: sessions of dead clients are closed, and sessions of quiet clients are kept."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import clusters
import pytest

import capstan as tf
from capstan import errors
from capstan.transport.grpc import connections, intake, leases, master_service, wire

SOURCES = pathlib.Path(__file__).parents[3] / "src"
PEER = "ipv4:10.0.0.1:5000"
CLIENT = """
import sys, time
import capstan as tf
session = tf.Session(sys.argv[1])
print(session.run(tf.constant(7.0)), flush=True)
sys.stdin.read()
"""


class Call:
    """The context of a call in progress, whose request declares `size` bytes."""

    def __init__(self, peer: str = PEER, size: int = 0) -> None:
        self._peer = peer
        self._size = size
        self._callbacks: list[Any] = []
        self.is_over = False

    def peer(self) -> str:
        return self._peer

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return intake.declare(self._size)

    def add_callback(self, callback: Any) -> bool:
        self._callbacks.append(callback)
        return not self.is_over

    def end(self) -> None:
        self.is_over = True
        for callback in self._callbacks:
            callback()


class LostCall(Call):
    """The context of a call that ends when `peer` is called."""

    def peer(self) -> str:
        self.end()
        return super().peer()


class Master:
    """A master that creates the session `new` at once."""

    def __init__(self) -> None:
        self.closed: list[str] = []

    def create_session(self, *arguments: object) -> str:
        return "new"

    def reset(self, *arguments: object) -> None:
        """Close every session. A task does not answer."""
        raise errors.UnavailableError(None, None, "a task is away")

    def close_session(self, handle: str) -> None:
        self.closed.append(handle)


def test_a_session_whose_client_goes_while_its_lease_is_granted_is_closed() -> None:
    master: Any = Master()
    call: Any = LostCall()
    sessions = leases.Leases(master.close_session)
    create = master_service.MasterService(master, sessions).answers()["CreateSession"]
    with pytest.raises(errors.CancelledError, match="client of the new session is gone"):
        create(wire.CreateSessionRequest(), call)
    assert master.closed == ["new"]
    sessions.sweep(time.monotonic() + leases.IDLE_S, lambda peer: False)
    assert master.closed == ["new"], "the lease remained"


def test_sessions_that_a_reset_has_closed_have_no_lease() -> None:
    master: Any = Master()
    call: Any = Call()
    sessions = leases.Leases(master.close_session)
    answers = master_service.MasterService(master, sessions).answers()
    answers["CreateSession"](wire.CreateSessionRequest(), call)
    with pytest.raises(errors.UnavailableError):
        answers["Reset"](wire.ResetRequest(), call)
    assert sessions.handles() == ()


class Sessions:
    """Leases of sessions that exist only as handles."""

    def __init__(self) -> None:
        self.closed: list[str] = []
        self.leases = leases.Leases(self.closed.append)
        self.now = time.monotonic()

    def created(self, handle: str) -> None:
        call: Any = Call()
        self.leases.grant(handle, call)
        call.end()

    def after(self, seconds: float, connected: bool | None) -> list[str]:
        self.now += seconds
        self.leases.sweep(self.now, lambda peer: connected if peer else None)
        return self.closed


@pytest.fixture
def sessions() -> Sessions:
    return Sessions()


def test_a_client_that_is_connected_keeps_its_session(sessions: Sessions) -> None:
    sessions.created("a")
    for _ in range(30):
        assert sessions.after(3600, connected=True) == []


def test_a_client_that_is_gone_loses_its_session_after_a_minute(sessions: Sessions) -> None:
    sessions.created("a")
    assert sessions.after(600, connected=True) == []
    assert sessions.after(50, connected=False) == []
    assert sessions.after(20, connected=False) == ["a"]
    assert sessions.after(600, connected=False) == ["a"]


def test_a_client_that_comes_back_keeps_its_session(sessions: Sessions) -> None:
    sessions.created("a")
    assert sessions.after(50, connected=False) == []
    assert sessions.after(5, connected=True) == []
    assert sessions.after(55, connected=False) == []


def test_a_client_whose_idle_connection_grpc_closed_keeps_its_session_for_a_day(
    sessions: Sessions,
) -> None:
    sessions.created("a")
    assert sessions.after(29 * 60, connected=True) == []
    assert sessions.after(12 * 3600, connected=False) == []
    assert sessions.after(12 * 3600 + 1, connected=False) == ["a"]


def test_a_client_whose_connection_state_is_unknown_keeps_its_session_for_a_day(
    sessions: Sessions,
) -> None:
    sessions.created("a")
    assert sessions.after(23 * 3600, connected=None) == []
    assert sessions.after(3601, connected=None) == ["a"]


def test_a_call_in_progress_keeps_its_session(sessions: Sessions) -> None:
    sessions.created("a")
    call: Any = Call()
    sessions.leases.renew("a", call)
    assert sessions.after(48 * 3600, connected=False) == []
    call.end()
    assert sessions.after(0, connected=False) == ["a"]


def test_a_call_that_ended_before_it_was_recorded_does_not_keep_its_session(
    sessions: Sessions,
) -> None:
    sessions.created("a")
    late: Any = Call()
    late.is_over = True
    sessions.leases.renew("a", late)
    assert sessions.after(61, connected=False) == ["a"]


def test_the_connection_of_a_large_request_does_not_tell_that_a_client_is_gone(
    sessions: Sessions,
) -> None:
    sessions.created("a")
    large: Any = Call(size=intake.LARGE_BYTES)
    sessions.leases.renew("a", large)
    large.end()
    assert sessions.after(23 * 3600, connected=False) == []
    small: Any = Call(size=intake.LARGE_BYTES - 1)
    sessions.leases.renew("a", small)
    small.end()
    assert sessions.after(61, connected=False) == ["a"]


def test_a_closed_session_is_not_closed_again(sessions: Sessions) -> None:
    sessions.created("a")
    sessions.leases.forget("a")
    unrelated: Any = Call()
    sessions.leases.renew("unheard of", unrelated)
    assert sessions.after(48 * 3600, connected=False) == []


@pytest.mark.e2e
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists connections in /proc")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_kernel_tells_whether_a_connection_is_open(host: str, eventually: Any) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as door:
        port = door.getsockname()[1]
        near = socket.create_connection((host, port))
        far, (_, number, *_) = door.accept()
        quoted = f"ipv6:%5B{host}%5D:{number}" if ":" in host else f"ipv4:{host}:{number}"
        assert connections.is_open(quoted, port) is True
        assert connections.is_open(quoted, port + 1) is False
        near.close()
        eventually(lambda: connections.is_open(quoted, port) is False)
        far.close()


@pytest.mark.parametrize("peer", ["unix:", "unix:/tmp/x", "ipv4:nonsense", "ipv4:1.2.3:x", ""])
def test_a_peer_without_an_address_is_unknown(peer: str) -> None:
    assert connections.is_open(peer, 1) is None


@pytest.mark.alone
@pytest.mark.e2e
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists connections in /proc")
def test_the_session_of_a_killed_client_is_closed(eventually: Any) -> None:
    (server,) = clusters.start(worker=1).values()
    held: Any = server
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, server.target],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with client, tf.Graph().as_default(), tf.Session(server.target) as mine:
        mine.run(tf.constant(1.0))
        assert client.stdout is not None
        assert client.stdout.readline() == b"7.0\n"
        port = held._control.port
        table = held._control._sessions

        (lease,) = table._leases.values()

        def is_open(peer: str) -> bool | None:
            return connections.is_open(peer, port)

        def after(minutes: int) -> int:
            table.sweep(time.monotonic() + minutes * leases.GONE_S, is_open)
            return len(held.master._sessions.all())

        assert after(1) == 2
        client.send_signal(signal.SIGKILL)
        client.wait()
        eventually(lambda: not is_open(lease.peer))
        # The sweep for one minute later has recorded that the connection was open then.
        eventually(lambda: after(2) == 1)
        assert mine.run(tf.constant(2.0)) == 2.0
    server.stop()
