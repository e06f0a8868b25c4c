"""Opens the sockets of links, and sets and reads their options.

A dead host must be noticed in about ten seconds, but a slow process must never count as dead. A
task that computes, is stopped by a debugger or waits for a core is alive. Keepalive finds a dead
host while no bytes are in transit, and TCP_USER_TIMEOUT while sent bytes are not acknowledged. For
TCP_USER_TIMEOUT, Linux also counts the time in which the peer acknowledges all bytes but does not
read (tcp(7)). It would therefore end the connection of a stopped process. During this time a
blocked sender switches TCP_USER_TIMEOUT off, and counts unanswered probes itself.

Only Linux has all of these options. On other systems only keepalive finds a dead host. A local
socket needs none of them, because its other end is in this process (grpc/tunnel.py).
"""

import contextlib
import ipaddress
import socket
import sys
from typing import Final

from capstan import errors

DEAD_AFTER_S: Final = 10

_LINUX = sys.platform == "linux"
# struct tcp_info in linux/tcp.h: unanswered probes, and segments sent but not acknowledged.
_TCP_INFO_BYTES: Final = 28
_PROBES_AT: Final = 3
_UNACKED_AT: Final = slice(24, 28)
_DEAD_PROBES: Final = 5


def prepare(sock: socket.socket) -> None:
    """Set the options of a link on a connected socket, and make the socket blocking."""
    sock.setblocking(True)
    if not _is_tcp(sock):
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if not _LINUX:
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, DEAD_AFTER_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 2)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
    limit_silence(sock, on=True)
    if ipaddress.ip_address(sock.getpeername()[0].partition("%")[0]).is_loopback:
        # bbr, the default of some hosts, paces loopback traffic too and halves the throughput.
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")


def limit_silence(sock: socket.socket, *, on: bool) -> None:
    """Set whether the kernel ends the connection if the peer's host is silent for ten seconds."""
    if _LINUX and _is_tcp(sock):
        millis = DEAD_AFTER_S * 1000 if on else 0
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, millis)


def is_only_slow(sock: socket.socket) -> bool:
    """Return whether the peer of a blocked socket has acknowledged all bytes but does not read.

    Raises:
        UnavailableError: the peer's host does not answer the kernel's probes.
    """
    if not _LINUX or not _is_tcp(sock):
        return False
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    if int.from_bytes(info[_UNACKED_AT], sys.byteorder):
        return False
    if info[_PROBES_AT] >= _DEAD_PROBES:
        raise errors.UnavailableError(None, None, "The host of the peer does not answer any more")
    return True


def listen(host: str) -> socket.socket:
    """Listen on a port of `host` that the system chooses.

    Raises:
        UnavailableError: the name has no address of this machine.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=128)
    except OSError as error:
        raise errors.UnavailableError(
            None, None, f"Cannot listen for other tasks on {host!r}: {error}"
        ) from None


def dial(host: str, port: int, timeout_s: float) -> socket.socket:
    """Resolve the name `host` and connect to its port `port`.

    Raises:
        UnavailableError: there is no answer within `timeout_s`, or the name has no address.
    """
    try:
        return socket.create_connection((host, port), timeout=max(0.001, timeout_s))
    except OSError as error:
        raise errors.UnavailableError(
            None, None, f"Cannot connect to {host}:{port}: {error}"
        ) from None


def _is_tcp(sock: socket.socket) -> bool:
    return sock.family in (socket.AF_INET, socket.AF_INET6)
