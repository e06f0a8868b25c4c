"""A Kubernetes of real nodes on one Linux machine: kubelets, containers, networks, names.

    with nodes.running(2, images=("digits",)) as cluster:
        cluster.kubectl("apply", "-f", "pod.yaml")

A cluster has its own network and its own namespaces. It is gone when the block ends or its process
is killed. It does not touch the machine's interfaces, settings, container runtimes and other
control groups.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import urllib.parse
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
MOST_NODES = 60
"""The number of nodes that may join a cluster during its life."""

_PATHS = {
    "node": "/api/v1/nodes/{name}",
    "pod": "/api/v1/namespaces/{namespace}/pods/{name}",
    "tjob": "/apis/capstan.dev/v1alpha1/namespaces/{namespace}/trainingjobs/{name}",
}
"""The paths of the objects that tests read often. A call of kubectl would take a tenth of a second
of processor time for each read.
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
"""The commands that nodes need, and the Debian package of each."""


def unavailable() -> str | None:
    """Return why this machine cannot run nodes and how to enable them, or None if it can."""
    if sys.platform != "linux":
        return f"real nodes run only on Linux, and this machine runs {sys.platform}"
    if os.geteuid():
        return "real nodes need root: run `sudo make test`"
    missing = {package for command, package in _PACKAGES.items() if not shutil.which(command)}
    if not (containerd.plugins() / "bridge").exists():
        missing.add("containernetworking-plugins")
    if missing:
        listed = " ".join(sorted(missing))
        return f"real nodes need: apt-get install --no-install-recommends {listed}"
    if not cgroups.hierarchies():
        return f"real nodes need control groups: mount them under {cgroups.ROOT}"
    return None


class Nodes:
    """A cluster with real nodes, and the tests' operations on it. Only one thread may use it."""

    def __init__(self, folder: pathlib.Path, binaries: pathlib.Path, node_grace: str) -> None:
        """Make the network of the cluster. Nothing runs yet."""
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
        """The administrator's kubeconfig. It works only inside the cluster's network."""
        return self.control.kubeconfig

    def start(self, count: int, archives: Sequence[pathlib.Path]) -> None:
        """Start the cluster with its first nodes. Returns when they are Ready.

        All nodes, also later ones, have the images of the archives.
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
        """Start more nodes in parallel. Returns the nodes when they are Ready."""
        added = []
        for _ in range(count):
            self._added += 1
            node = Node(self._added, self.folder, self._group_of(name(self._added)), self._binaries)
            self.nodes[node.name] = node
            self.network.join(self._added, node.machine.pid)
            node.start_containerd(self._store)
            added.append(node)
        for node in added:
            self.until(node.has_containerd, f"the containerd of {node.name} answers")
            known = self.control.kubeconfigs
            node.join(known[f"system:node:{node.name}"], known[PROXY])
        for node in added:
            self.until(lambda name=node.name: self.ready(name), f"{node.name} is Ready")
        return added

    def kill_node(self, node: str) -> None:
        """Cut a node's power: all its processes are killed at once. Its Node object remains."""
        self.nodes.pop(node).kill()

    def cut_off(self, node: str) -> None:
        """Drop what a node sends to the API server. Its containers run, and reach other nodes."""
        server = urllib.parse.urlsplit(self.control.server)
        self.nodes[node].machine.run(
            f"iptables -I OUTPUT -p tcp -d {server.hostname} --dport {server.port} -j DROP"
        )

    def ready(self, node: str) -> bool:
        conditions = _at(self.find("node", node, namespace=""), ("status", "conditions")) or []
        return any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in conditions
        )

    def kubectl(
        self,
        *words: object,
        input: str | None = None,  # noqa: A002 - as subprocess names it
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as the administrator. Raises AssertionError with its output if it fails."""
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
        """Return a node, a pod or a tjob, or None if it does not exist."""
        with self.network.entered():
            return self.control.api.find(_PATHS[kind].format(namespace=namespace, name=named))

    def get(self, kind: str, named: str, *, namespace: str) -> dict[str, Any]:
        """Return a node, a pod or a tjob. Raises AssertionError if it does not exist."""
        found = self.find(kind, named, namespace=namespace)
        assert found is not None, f"there is no {kind} {named} in the namespace {namespace!r}"
        return found

    def log(self, pod: str, *, namespace: str) -> str:
        """Return the log of a pod's trainer, or an empty string if the pod has no log yet."""
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
        """Return the ids, on this machine, of the processes of a pod's container."""
        manifest = self.get("pod", pod, namespace=namespace)
        for status in manifest["status"].get("containerStatuses", []):
            if status["name"] == container and "containerID" in status:
                node = self.nodes[manifest["spec"]["nodeName"]]
                return node.processes(status["containerID"].partition("://")[2])
        return []

    def kill(self, pod: str, *, namespace: str, container: str = "trainer") -> None:
        """`kill -9` the first process of a container."""
        os.kill(self.processes(pod, namespace=namespace, container=container)[0], signal.SIGKILL)

    def until(self, condition: Callable[[], object], goal: str, within: float = 180) -> None:
        """Wait for a condition. A condition that raises AssertionError does not hold yet.

        Raises AssertionError with `goal` and the nodes' logs after `within` seconds, and HasEnded
        when a program of a node has ended.
        """

        def holds() -> bool:
            for node in self.nodes.values():
                node.check()
            return bool(condition())

        wait.until(holds, within, else_show=lambda: f"not yet: {goal}\n{self.logs()}")

    def logs(self) -> str:
        """Return the last lines of all logs."""
        return "\n".join([self.control.logs(), *(node.logs() for node in self.nodes.values())])

    def stop(self) -> None:
        """Kill the whole cluster, and remove its control groups and its network."""
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
            # A restarted task has a new address under its old name. No program may cache the old
            # address, not even for the default of 5 s.
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
    """Run a cluster of `count` nodes while the block runs. Nothing of it remains after the block.

    All nodes have these `images`, by their names in `images.RECIPES`. Without images no pod can
    run. Kubernetes treats a node as lost when it has been silent for `node_grace`. The remains of
    killed runs are removed first. Raises programs.Unavailable, programs.BuildFailed and
    images.BuildFailed, and HasEnded and AssertionError when the cluster does not start.
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
