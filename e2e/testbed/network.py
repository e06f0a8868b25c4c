"""A cluster's own network: a bridge and a link for each node, without a route to the outside.

An open file of this process and the processes in the network keep the network alive. After the last
of them, the kernel removes the network with its links and rules. The machine's own network does not
change.
"""

import contextlib
import ctypes
import os
import pathlib
import subprocess
import threading
from collections.abc import Iterator

GATEWAY = "172.31.255.1"
"""The address of the control plane and of the name server."""

_NEW_NETWORK = 0x40000000
_HERE = "/proc/thread-self/ns/net"


def address(node: int) -> str:
    """Return a node's own address."""
    return f"172.31.255.{10 + node}"


def pods(node: int) -> str:
    """Return the range of addresses that a node gives to its pods."""
    return f"10.244.{node}.0/24"


class Network:
    """A network namespace. Threads of this process enter it and start processes in it."""

    def __init__(self) -> None:
        """Make the network with its bridge. Raises PermissionError without root."""
        self._open = -1
        maker = threading.Thread(target=self._make)
        maker.start()
        maker.join()
        if self._open < 0:
            raise PermissionError("cannot make a network namespace: run the tests as root")
        with self.entered():
            # This changes only the network of the writing thread. The namespace forwards packets
            # between the pods of two nodes.
            pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
            ip("link set lo up")
            ip("link add br0 type bridge")
            ip(f"addr add {GATEWAY}/24 dev br0")
            ip("link set br0 up")
            # Kubernetes' programs find their own address by the default route. The route therefore
            # exists, but leads nowhere.
            ip(f"route add default via {GATEWAY} dev br0")

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Move this thread, and all processes that it starts, into the network while the block
        runs.
        """
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
        """Release the network. It ends with the last process in it."""
        os.close(self._open)

    def _make(self) -> None:
        # This runs in a thread of its own. All other threads stay in the machine's network.
        if _libc().unshare(_NEW_NETWORK) == 0:
            self._open = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)


def ip(words: str) -> None:
    """Run iproute2 in this thread's network. Raises CalledProcessError."""
    subprocess.run(["ip", *words.split()], check=True, capture_output=True, text=True)


def _enter(namespace: int) -> None:
    if _libc().setns(namespace, _NEW_NETWORK):
        number = ctypes.get_errno()
        raise OSError(number, f"cannot enter the network namespace: {os.strerror(number)}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
