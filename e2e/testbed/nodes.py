"""A Kubernetes of real nodes on one Linux machine: kubelets, containers, networks, names.

    with nodes.running(2) as cluster:
        cluster.kubectl("apply", "-f", "pod.yaml")

Everything is in a network of its own and in namespaces, and gone when the block ends, or when its
process is killed; the machine's interfaces, settings, container runtimes and other control groups
are not touched.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from testbed import cgroups, control, images, network, programs
from testbed.node import Node, name, plugins
from testbed.process import Daemon, state_folder

PROXY = "system:kube-proxy"
RESOLVER = "resolver"
MOST_NODES = 8
"""How many nodes a cluster may ever have had."""

_PACKAGES = {
    "buildah": "buildah",
    "containerd": "containerd",
    "conntrack": "conntrack",
    "ctr": "containerd",
    "ip": "iproute2",
    "ipset": "ipset",
    "iptables": "iptables",
    "mmdebstrap": "mmdebstrap",
    "nsenter": "util-linux",
    "runc": "runc",
}
"""The commands that are needed, and Debian's package of each."""


def unavailable() -> str | None:
    """Why this machine cannot have nodes, and what would change that; None if it can."""
    if sys.platform != "linux":
        return f"real nodes run on Linux only, and this is {sys.platform}"
    if os.geteuid():
        return "real nodes take root: `sudo make test`"
    lacking = {package for command, package in _PACKAGES.items() if not shutil.which(command)}
    if not (plugins() / "bridge").exists():
        lacking.add("containernetworking-plugins")
    if lacking:
        listed = " ".join(sorted(lacking))
        return f"real nodes need: apt-get install --no-install-recommends {listed}"
    if not cgroups.hierarchies():
        return f"real nodes need control groups, and none is mounted under {cgroups.ROOT}"
    return None


class Nodes:
    """A cluster with real nodes, and what tests do with it and to it."""

    def __init__(self, folder: pathlib.Path, binaries: pathlib.Path, node_grace: str) -> None:
        """Prepare it; nothing runs yet but its network."""
        self.folder = folder
        self.nodes: dict[str, Node] = {}
        self._binaries = binaries
        self._group = cgroups.Group(f"{cgroups.PREFIX}{folder.name}")
        self._resolver: Daemon | None = None
        self._added = 0
        self.network = network.Network()
        users = {PROXY: "system:node-proxier", RESOLVER: "system:masters"}
        for number in range(1, MOST_NODES + 1):
            users[f"system:node:{name(number)}"] = "system:nodes"
        with self.network.entered():
            self.control = control.Cluster(
                folder, binaries, node_grace, address=network.GATEWAY, users=users
            )

    @property
    def kubeconfig(self) -> pathlib.Path:
        """The administrator's; it leads to the API server from the inside only."""
        return self.control.kubeconfig

    def start(self, count: int) -> None:
        """Start the cluster with its first nodes; returns when they are Ready."""
        self._group.make()
        self._group.hand_on()
        with self.network.entered():
            self.control.start()
            self._start_resolver()
        self.add_nodes(count)

    def add_nodes(self, count: int) -> list[Node]:
        """Start more nodes, at once; returns when they are Ready."""
        added = []
        for _ in range(count):
            self._added += 1
            group = cgroups.Group(f"{self._group.folders[0].name}/{name(self._added)}")
            node = Node(self._added, self.folder, group, self._binaries)
            self.nodes[node.name] = node
            self.network.join(self._added, node.machine.pid)
            node.start_containerd()
            added.append(node)
        pause = images.archive("pause")
        for node in added:
            node.import_image(pause)
            known = self.control.kubeconfigs
            node.join(known[f"system:node:{node.name}"], known[PROXY])
        for node in added:
            self.until(lambda name=node.name: self.ready(name), f"{node.name} is Ready")
        return added

    def import_image(self, image: str, *on: str) -> None:
        """Have an image of `images.RECIPES` on these nodes, or on all that run."""
        archive = images.archive(image)
        for node in on or self.nodes:
            self.nodes[node].import_image(archive)

    def device_plugin(self, node: str, count: int) -> None:
        """Give a node GPUs that do not exist; returns when pods may ask for them."""
        self.nodes[node].device_plugin(count)
        path = ("status", "allocatable", "nvidia.com/gpu")
        self.until(
            lambda: _at(self.get("node", node, namespace=""), path) == str(count),
            f"{node} has {count} GPUs",
        )

    def kill_node(self, node: str) -> None:
        """It loses its power: nobody says goodbye. Its Node object stays."""
        self.nodes.pop(node).kill()

    def ready(self, node: str) -> bool:
        found = self.find("node", node, namespace="")
        conditions = _at(found, ("status", "conditions")) or []
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def kubectl(
        self,
        *words: object,
        input: str | None = None,  # noqa: A002 - as subprocess names it
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the administrator. Raises AssertionError with what it said."""
        with self.network.entered():
            return self.control.kubectl(*words, input=input, check=check)

    def apply(self, *manifests: dict[str, Any]) -> None:
        """Apply manifests as a user would."""
        self.kubectl("apply", "-f", "-", input="\n---\n".join(map(json.dumps, manifests)))

    def apply_kinds(self, path: pathlib.Path) -> None:
        """Apply a file, and wait until its kinds can be used."""
        with self.network.entered():
            self.control.apply(path)

    def find(self, kind: str, named: str, *, namespace: str) -> dict[str, Any] | None:
        """Read an object; None if there is none."""
        where = (f"--namespace={namespace}",) if namespace else ()
        said = self.kubectl("get", kind, named, *where, "--ignore-not-found", "-o=json").stdout
        return json.loads(said) if said.strip() else None

    def get(self, kind: str, named: str, *, namespace: str) -> dict[str, Any]:
        """Read an object. Raises AssertionError if there is none."""
        found = self.find(kind, named, namespace=namespace)
        assert found is not None, f"there is no {kind} {named} in {namespace!r}"
        return found

    def namespace(self) -> str:
        """Make a namespace in which pods can be created, and return its name."""
        with self.network.entered():
            return self.control.namespace()

    def inside(self, *command: object) -> subprocess.CompletedProcess[str]:
        """Run a command in the cluster's network, to its end."""
        with self.network.entered():
            return subprocess.run(
                [str(word) for word in command], capture_output=True, text=True, timeout=120
            )

    def processes(self, pod: str, *, namespace: str, container: str = "trainer") -> list[int]:
        """The processes of a container of a pod, as this machine counts them, first one first."""
        found = self.get("pod", pod, namespace=namespace)
        for status in found["status"].get("containerStatuses", []):
            if status["name"] == container and "containerID" in status:
                node = self.nodes[found["spec"]["nodeName"]]
                return node.processes(status["containerID"].partition("://")[2])
        return []

    def kill(self, pod: str, *, namespace: str, container: str = "trainer") -> None:
        """`kill -9` the first process of a container, from outside."""
        os.kill(self.processes(pod, namespace=namespace, container=container)[0], signal.SIGKILL)

    def until(self, condition: Callable[[], object], what: str, within: float = 180) -> None:
        """Wait for a condition. Raises AssertionError that tells what the nodes said last."""
        deadline = time.monotonic() + within
        never = threading.Event()
        while not condition():
            for node in self.nodes.values():
                node.check()
            assert time.monotonic() < deadline, f"not within {within} s: {what}\n{self.logs()}"
            never.wait(0.1)

    def logs(self) -> str:
        """The last lines of all logs."""
        return "\n".join([self.control.logs(), *(node.logs() for node in self.nodes.values())])

    def stop(self) -> None:
        """End it all, at once."""
        for node in self.nodes.values():
            node.kill()
        self.nodes.clear()
        self.control.stop()
        if self._resolver is not None:
            self._resolver.kill()
        self._group.remove()
        self.network.close()

    def _start_resolver(self) -> None:
        config = self.folder / "Corefile"
        config.write_text(
            ".:53 {\n"
            f"  bind {network.GATEWAY}\n"
            "  errors\n"
            "  kubernetes cluster.local in-addr.arpa {\n"
            f"    kubeconfig {self.control.kubeconfigs[RESOLVER]}\n"
            "    pods disabled\n"
            # A task that comes back has a new address under its old name: at once, not in 5 s.
            "    ttl 0\n"
            "  }\n"
            "}\n"
        )
        log = self.folder / "coredns.log"
        command = [self._binaries / "coredns", "-conf", config]
        self._resolver = Daemon(command, log, mark=self.folder)


@contextlib.contextmanager
def running(
    count: int, *, node_grace: str = "20s", tell: programs.Tell | None = None
) -> Iterator[Nodes]:
    """Run a cluster; nothing is left when the block ends.

    A node is taken for lost when it has been silent for `node_grace`. What killed runs left is
    removed first. Raises programs.Unavailable, programs.BuildFailed, images.BuildFailed, and
    AssertionError when it does not come up.
    """
    if reason := unavailable():
        raise programs.Unavailable(reason)
    binaries = programs.folder(*programs.CONTROL_PLANE, *programs.NODES, tell=tell)
    images.archive("pause", tell)
    with state_folder("nodes") as folder:
        cgroups.remove_left(folder.parent)
        cluster = Nodes(folder, binaries, node_grace)
        try:
            cluster.start(count)
            yield cluster
        finally:
            cluster.stop()


def _at(content: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        content = content.get(key) if content else None
    return content
