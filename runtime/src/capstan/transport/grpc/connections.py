"""Whether the connection behind a call still stands.

gRPC tells a server who called, and nothing when that client is gone. The kernel knows: Linux lists
the connections of a process's network (proc(5), /proc/net/tcp). Elsewhere it stays unknown.
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
    """Say whether `peer`, as `ServicerContext.peer` names it, is connected to our `port`.

    None where that cannot be known.
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
    """Read the name of a peer; None when it is none of IP.

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
    """Read local and remote addresses of the open connections in one of the kernel's tables."""
    for line in table.splitlines()[1:]:
        _, local, remote, state, *_ = line.split()
        if state == _ESTABLISHED:
            yield _address(local), _address(remote)


def _address(text: str) -> Address:
    """Read an address: words of four bytes in the machine's byte order, then the port."""
    host, _, port = text.partition(":")
    data = bytes.fromhex(host)
    if sys.byteorder == "little":
        data = b"".join(data[at : at + 4][::-1] for at in range(0, len(data), 4))
    return _plain(ipaddress.ip_address(data)), int(port, 16)


def _plain(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address where one is wrapped in IPv6: a socket for both kinds lists it so."""
    mapped = getattr(address, "ipv4_mapped", None)
    return address if mapped is None else mapped
