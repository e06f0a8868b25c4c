"""A Kubernetes of real nodes on one Linux machine: kubelets, containers, networks, names.

    with nodes.running(2, images=("digits",)) as cluster:
        cluster.kubectl("apply", "-f", "pod.yaml")

A cluster lives in a network and in namespaces of its own, and is gone when the block ends or its
process is killed. It does not touch the machine's interfaces, settings, container runtimes and
other control groups.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from testbed import cgroups, containerd, control, network, programs, wait
from testbed.api import ApiError
from testbed.images import archive
from testbed.machine import Machine
from testbed.node import Node, name
from testbed.process import Daemon, state_folder

PROXY = "system:kube-proxy"
RESOLVER = "resolver"
MOST_NODES = 8
"""How many nodes may join a cluster during its life."""

_PATHS = {
    "node": "/api/v1/nodes/{name}",
    "pod": "/api/v1/namespaces/{namespace}/pods/{name}",
    "tjob": "/apis/capstan.dev/v1alpha1/namespaces/{namespace}/trainingjobs/{name}",
}
"""Where the API server has the objects that tests read again and again: each call of kubectl takes
a tenth of a second of processor time.
"""

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
    """Say why this machine cannot have nodes, and what would change that; None if it can."""
    if sys.platform != "linux":
        return f"real nodes run on Linux only, and this is {sys.platform}"
    if os.geteuid():
        return "real nodes take root: `sudo make test`"
    lacking = {package for command, package in _PACKAGES.items() if not shutil.which(command)}
    if not (containerd.plugins() / "bridge").exists():
        lacking.add("containernetworking-plugins")
    if lacking:
        listed = " ".join(sorted(lacking))
        return f"real nodes need: apt-get install --no-install-recommends {listed}"
    if not cgroups.hierarchies():
        return f"real nodes need control groups, and none is mounted under {cgroups.ROOT}"
    return None


class Nodes:
    """A cluster with real nodes, and what tests do with it and to it. One thread only."""

    def __init__(self, folder: pathlib.Path, binaries: pathlib.Path, node_grace: str) -> None:
        """Make the network of the cluster; nothing runs yet."""
        self.folder = folder
        self.nodes: dict[str, Node] = {}
        self._binaries = binaries
        self._group = cgroups.Group(f"{cgroups.PREFIX}{folder.name}")
        self._resolver: Daemon | None = None
        self._store: containerd.ImageStore | None = None
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

    def start(self, count: int, archives: Sequence[pathlib.Path]) -> None:
        """Start the cluster with its first nodes; returns when they are Ready.

        These nodes and those that are added later have the images of the archives.
        """
        self._group.make()
        self._group.hand_on()
        if archives:
            machine = Machine("images", self.folder / "images", self._group_of("images"))
            self._store = containerd.ImageStore(machine, archives)
        with self.network.entered():
            self.control.start()
            self._start_resolver()
        if self._store is not None:
            self._store.wait()
        self.add_nodes(count)

    def add_nodes(self, count: int) -> list[Node]:
        """Start more nodes, at once; returns when they are Ready."""
        added = []
        for _ in range(count):
            self._added += 1
            node = Node(self._added, self.folder, self._group_of(name(self._added)), self._binaries)
            self.nodes[node.name] = node
            self.network.join(self._added, node.machine.pid)
            node.start_containerd(self._store)
            added.append(node)
        for node in added:
            known = self.control.kubeconfigs
            node.join(known[f"system:node:{node.name}"], known[PROXY])
        for node in added:
            self.until(lambda name=node.name: self.ready(name), f"{node.name} is Ready")
        return added

    def device_plugin(self, node: str, count: int) -> None:
        """Give a node GPUs that do not exist; returns when pods may ask for them."""
        self.nodes[node].device_plugin(count)
        path = ("status", "allocatable", "nvidia.com/gpu")
        self.until(
            lambda: _at(self.get("node", node, namespace=""), path) == str(count),
            f"{node} has {count} GPUs",
        )

    def kill_node(self, node: str) -> None:
        """Cut a node's power: its programs cannot say goodbye. Its Node object stays."""
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
        """Apply a file of CRDs, and wait until the API server serves their kinds."""
        with self.network.entered():
            self.control.apply(path)

    def find(self, kind: str, named: str, *, namespace: str) -> dict[str, Any] | None:
        """Read a node, a pod or a tjob; None if there is none."""
        with self.network.entered():
            return self.control.api.find(_PATHS[kind].format(namespace=namespace, name=named))

    def get(self, kind: str, named: str, *, namespace: str) -> dict[str, Any]:
        """Read a node, a pod or a tjob. Raises AssertionError if there is none."""
        found = self.find(kind, named, namespace=namespace)
        assert found is not None, f"there is no {kind} {named} in {namespace!r}"
        return found

    def log(self, pod: str, *, namespace: str) -> str:
        """The log of a pod's trainer; empty if there is none, or none yet."""
        path = _PATHS["pod"].format(namespace=namespace, name=pod)
        with self.network.entered(), contextlib.suppress(ApiError):
            return self.control.api.text(f"{path}/log?container=trainer")
        return ""

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
        """The processes of a container of a pod, by their ids on this machine."""
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
        """Wait for a condition; one that raises AssertionError does not hold yet.

        Raises AssertionError with the nodes' logs when time is up, and HasEnded when a program of
        a node does not run any more.
        """

        def holds() -> bool:
            for node in self.nodes.values():
                node.check()
            return bool(condition())

        wait.until(holds, within, else_show=lambda: f"not yet: {what}\n{self.logs()}")

    def logs(self) -> str:
        """The last lines of all logs."""
        return "\n".join([self.control.logs(), *(node.logs() for node in self.nodes.values())])

    def stop(self) -> None:
        """End all of it at once."""
        for node in self.nodes.values():
            node.kill()
        self.nodes.clear()
        if self._store is not None:
            self._store.stop()
        self.control.stop()
        if self._resolver is not None:
            self._resolver.kill()
        self._group.remove()
        self.network.close()

    def _group_of(self, machine: str) -> cgroups.Group:
        return cgroups.Group(f"{self._group.folders[0].name}/{machine}")

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
    count: int,
    *,
    images: Sequence[str] = (),
    node_grace: str = "20s",
    tell: programs.Tell | None = None,
) -> Iterator[Nodes]:
    """Run a cluster of `count` nodes; nothing is left of it when the block ends.

    All nodes have these `images`, by their names in `images.RECIPES`; without any, no pod can run.
    Kubernetes takes a node for lost when it has been silent for `node_grace`. What killed runs left
    is removed first. Raises programs.Unavailable, programs.BuildFailed and images.BuildFailed, and
    HasEnded and AssertionError when the cluster does not come up.
    """
    if reason := unavailable():
        raise programs.Unavailable(reason)
    binaries = programs.folder(tell)
    archives = [archive(image, tell) for image in ("pause", *images)] if images else []
    with state_folder("nodes") as folder:
        cgroups.remove_left(folder.parent)
        cluster = Nodes(folder, binaries, node_grace)
        try:
            cluster.start(count, archives)
            yield cluster
        finally:
            cluster.stop()


def _at(content: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        content = content.get(key) if content else None
    return content
