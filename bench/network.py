"""A network namespace for the processes of a row, with reno as its congestion control.

A host whose default is bbr limits the rate of loopback connections too. TensorFlow's connections
then lose half of their throughput (Capstan chooses reno for its own connections). The default can
be changed only for a whole network namespace, so a row creates one for its processes. Settings and
ports of the machine are not touched. If the system does not allow a new namespace, the row uses the
host's.
"""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import socket
import struct

CONTROL = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control")

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1
_IFREQ = "16sh22x"


def isolate() -> None:
    """Move this process to a new network namespace. It must have only one thread."""
    if not hasattr(os, "sched_getaffinity"):  # not Linux
        return
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET):
            return
        pathlib.Path("/proc/self/setgroups").write_text("deny")
        pathlib.Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        pathlib.Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack(_IFREQ, b"lo", 0)
        _, flags = struct.unpack(_IFREQ, fcntl.ioctl(sock, _SIOCGIFFLAGS, request))
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack(_IFREQ, b"lo", flags | _IFF_UP))
    with contextlib.suppress(OSError):
        CONTROL.write_text("reno")


def free_ports(count: int) -> list[int]:
    """Return ports that are free at the time of the call."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [int(sock.getsockname()[1]) for sock in sockets]
