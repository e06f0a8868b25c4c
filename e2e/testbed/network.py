"""A network of its own for a cluster: a bridge, a link for each node, and no way out of it.

It is held by an open file of this process and by the processes in it: with the last of them it is
gone, links, rules and all. Nothing is added to the machine's own network.
"""

import contextlib
import ctypes
import os
import pathlib
import subprocess
import threading
from collections.abc import Iterator

GATEWAY = "172.31.255.1"
"""Where the control plane and the name server listen."""

_NEW_NETWORK = 0x40000000
_HERE = "/proc/thread-self/ns/net"


def address(node: int) -> str:
    return f"172.31.255.{10 + node}"


def pods(node: int) -> str:
    """The addresses that a node gives to its pods."""
    return f"10.244.{node}.0/24"


class Network:
    """A network namespace; threads of this process enter it, and what they start stays in it."""

    def __init__(self) -> None:
        """Make it, with a bridge that all nodes are joined to. Needs root."""
        self._open = -1
        maker = threading.Thread(target=self._make)
        maker.start()
        maker.join()
        if self._open < 0:
            raise PermissionError("a network namespace cannot be made here: it takes root")
        with self.entered():
            # The network that the writing thread is in; from here packets go to other nodes' pods.
            pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
            ip("link set lo up")
            ip("link add br0 type bridge")
            ip(f"addr add {GATEWAY}/24 dev br0")
            ip("link set br0 up")
            # A way out that leads nowhere: programs that look for their own address find one.
            ip(f"route add default via {GATEWAY} dev br0")

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Be in this network for the block: this thread, and the processes that it starts."""
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
        """Give a node, whose first process is `pid`, its link to the bridge."""
        with self.entered():
            ip(f"link add veth{node} type veth peer name eth0 netns {pid}")
            ip(f"link set veth{node} master br0 up")
            ip(f"route replace {pods(node)} via {address(node)}")

    def close(self) -> None:
        os.close(self._open)

    def _make(self) -> None:
        # In a thread that ends: the others stay where they are.
        if _libc().unshare(_NEW_NETWORK) == 0:
            self._open = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)


def ip(words: str) -> None:
    """Run iproute2 in the network that this thread is in."""
    subprocess.run(["ip", *words.split()], check=True, capture_output=True, text=True)


def _enter(namespace: int) -> None:
    if _libc().setns(namespace, _NEW_NETWORK):
        number = ctypes.get_errno()
        raise OSError(number, f"cannot enter a network: {os.strerror(number)}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
