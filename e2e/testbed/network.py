"""A cluster's own network: a bridge, a link for each node, and no way out.

An open file of this process and the processes in the network keep it alive. When the last of them
is gone, the kernel removes it with its links and rules. The machine's own network does not change.
"""

import contextlib
import ctypes
import os
import pathlib
import subprocess
import threading
from collections.abc import Iterator

GATEWAY = "172.31.255.1"
"""The address on which the control plane and the name server listen."""

_NEW_NETWORK = 0x40000000
_HERE = "/proc/thread-self/ns/net"


def address(node: int) -> str:
    """A node's own address."""
    return f"172.31.255.{10 + node}"


def pods(node: int) -> str:
    """The range of addresses that a node gives to its pods."""
    return f"10.244.{node}.0/24"


class Network:
    """A network namespace: threads of this process enter it, and start processes in it."""

    def __init__(self) -> None:
        """Make the network with its bridge. Raises PermissionError without root."""
        self._open = -1
        maker = threading.Thread(target=self._make)
        maker.start()
        maker.join()
        if self._open < 0:
            raise PermissionError("a network namespace cannot be made here: it takes root")
        with self.entered():
            # This sets the network of the writing thread only. Packets between the pods of two
            # nodes pass here.
            pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
            ip("link set lo up")
            ip("link add br0 type bridge")
            ip(f"addr add {GATEWAY}/24 dev br0")
            ip("link set br0 up")
            # Kubernetes' programs look for their own address along the default route, which
            # therefore exists, but leads nowhere.
            ip(f"route add default via {GATEWAY} dev br0")

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Move this thread, and all processes that it starts, into the network for the block."""
        home = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter(self._open)
            try:
                yield
            finally:
                _enter(home)
        finally:
            os.close(home)

    def join(self, node: int, pid: int) -> None:
        """Link a node, whose first process is `pid`, to the bridge."""
        with self.entered():
            ip(f"link add veth{node} type veth peer name eth0 netns {pid}")
            ip(f"link set veth{node} master br0 up")
            ip(f"route replace {pods(node)} via {address(node)}")

    def close(self) -> None:
        """Let go of the network: it ends with the last process in it."""
        os.close(self._open)

    def _make(self) -> None:
        # Runs in a thread of its own, so that the other threads stay in the machine's network.
        if _libc().unshare(_NEW_NETWORK) == 0:
            self._open = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)


def ip(words: str) -> None:
    """Run iproute2 in this thread's network. Raises CalledProcessError."""
    subprocess.run(["ip", *words.split()], check=True, capture_output=True, text=True)


def _enter(namespace: int) -> None:
    if _libc().setns(namespace, _NEW_NETWORK):
        number = ctypes.get_errno()
        raise OSError(number, f"cannot enter a network: {os.strerror(number)}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
