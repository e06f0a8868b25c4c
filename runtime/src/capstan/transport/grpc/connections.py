"""Finds out whether the connection of a call is still open.

gRPC tells a server the address of a client, but not that the client is gone. Linux lists the
connections of a process's network (proc(5), /proc/net/tcp). On other systems the state is unknown.
"""

import ipaddress
import pathlib
import sys
import urllib.parse
from collections.abc import Iterator
from typing import Final

_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
_ESTABLISHED: Final = "01"

Address = tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]


def is_open(peer: str, port: int) -> bool | None:
    """Return whether `peer`, as `ServicerContext.peer` names it, is connected to our `port`.

    Return None if the state of the connection is unknown.
    """
    remote = parse(peer)
    if remote is None:
        return None
    try:
        tables = [pathlib.Path(name).read_text(encoding="ascii") for name in _TABLES]
    except OSError:
        return None
    return any(
        local[1] == port and other == remote
        for table in tables
        for local, other in established(table)
    )


def parse(peer: str) -> Address | None:
    """Return the address in the name of a peer, or None if it is not an IP address.

    >>> parse("ipv4:127.0.0.1:4711"), parse("ipv6:%5B::1%5D:4711"), parse("unix:")
    ((IPv4Address('127.0.0.1'), 4711), (IPv6Address('::1'), 4711), None)
    """
    scheme, _, rest = urllib.parse.unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if scheme not in ("ipv4", "ipv6") or not port.isdecimal():
        return None
    try:
        return _plain(ipaddress.ip_address(host.strip("[]"))), int(port)
    except ValueError:
        return None


def established(table: str) -> Iterator[tuple[Address, Address]]:
    """Yield the local and remote address of each open connection in one of the kernel's tables."""
    for line in table.splitlines()[1:]:
        _, local, remote, state, *_ = line.split()
        if state == _ESTABLISHED:
            yield _address(local), _address(remote)


def _address(text: str) -> Address:
    """Parse an address: words of four bytes in the machine's byte order, then the port."""
    host, _, port = text.partition(":")
    data = bytes.fromhex(host)
    if sys.byteorder == "little":
        data = b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4))
    return _plain(ipaddress.ip_address(data)), int(port, 16)


def _plain(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the IPv4 address if `address` is an IPv4-mapped one, as dual-stack sockets list it."""
    mapped = getattr(address, "ipv4_mapped", None)
    return address if mapped is None else mapped
