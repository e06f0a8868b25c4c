"""A loopback network of the row's own, in which both sides have the better congestion control.

Hosts that default to bbr pace even what never leaves the machine, and TensorFlow's connections lose
half of their throughput to that (Capstan chooses reno for its own). The default can only be changed
for a whole network namespace, so a row makes one for its processes: nothing of the machine changes,
and no port of anybody else is taken. Where that is not allowed, the row runs in the host's.
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
    """Move this process, which must have one thread, and its children to a network of their own."""
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


def congestion_control() -> str:
    """The congestion control that new connections of this process get."""
    try:
        return CONTROL.read_text().strip()
    except OSError:
        return "unknown"


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for sock in held:
            sock.bind(("127.0.0.1", 0))
        return [int(sock.getsockname()[1]) for sock in held]
