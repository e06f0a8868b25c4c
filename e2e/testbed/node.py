"""A node: containerd, kubelet and kube-proxy on a simulated machine."""

import json
import pathlib
from typing import Any

from testbed import cgroups, containerd, network
from testbed.machine import Machine
from testbed.process import Daemon, HasEnded


class Node:
    """One node of a cluster, from its start until its power is cut."""

    def __init__(
        self,
        number: int,
        folder: pathlib.Path,
        group: cgroups.Group,
        binaries: pathlib.Path,
    ) -> None:
        """Start the machine. `start_containerd` and `join` turn the machine into a node."""
        self.name = name(number)
        self._number = number
        self._binaries = binaries
        self._daemons: list[Daemon] = []
        self.machine = Machine(self.name, folder / self.name, group)
        self._folder = self.machine.folder

    def start_containerd(self, store: containerd.ImageStore | None) -> None:
        """Connect the machine to the network, and start containerd with the images of the store."""
        self.machine.run(
            f"ip addr add {network.address(self._number)}/24 dev eth0\n"
            "ip link set eth0 up\n"
            f"ip route add default via {network.GATEWAY}\n"
        )
        (self._folder / "net.d").mkdir()
        self._write_json("net.d/10-pods.conflist", self._pod_network())
        if store is not None:
            store.link(self.machine)
        self._daemons.append(containerd.start(self.machine))

    def has_containerd(self) -> bool:
        """Return whether containerd answers. A kubelet that starts before that soon ends.

        Raises AssertionError if it does not answer.
        """
        return bool(containerd.version(self.machine))

    def join(self, kubelet: pathlib.Path, proxy: pathlib.Path) -> None:
        """Start the kubelet and kube-proxy, each with its kubeconfig for the cluster."""
        resolver = self._folder / "resolv.conf"
        resolver.write_text(f"nameserver {network.GATEWAY}\n")
        config = self._write_json("kubelet.json", _kubelet(self._folder, resolver))
        self._start(
            str(self._binaries / "kubelet"),
            *(f"--config={config}", f"--kubeconfig={kubelet}", f"--hostname-override={self.name}"),
            f"--node-ip={network.address(self._number)}",
            f"--cert-dir={self._folder / 'pki'}",
        )
        config = self._write_json("kube-proxy.json", _kube_proxy(self.name, proxy))
        self._start(str(self._binaries / "kube-proxy"), f"--config={config}")

    def processes(self, container: str) -> list[int]:
        """Return the ids, on the real machine, of the processes of a container, given its id."""
        return self.machine.group.processes(container)

    def check(self) -> None:
        """Raise HasEnded if one of the node's programs has ended."""
        for daemon in self._daemons:
            if not daemon.running():
                raise HasEnded(f"{self.name}: a program has ended\n{daemon.tail()}")

    def logs(self) -> str:
        """Return the last lines of each program's log."""
        return "\n".join(daemon.tail(15) for daemon in self._daemons)

    def kill(self) -> None:
        """Cut the node's power: its processes, mounts and network are gone at once."""
        self.machine.kill()
        for daemon in self._daemons:
            daemon.kill()
        self._daemons.clear()

    def _start(self, program: str, *words: object) -> None:
        self._daemons.append(self.machine.start(program, *words))

    def _write_json(self, file: str, content: dict[str, Any]) -> pathlib.Path:
        """Write a configuration file. The programs read YAML, and JSON is YAML."""
        path = self._folder / file
        path.write_text(json.dumps(content, indent=1))
        return path

    def _pod_network(self) -> dict[str, Any]:
        bridge = {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "hairpinMode": True,
            # Pods reach other nodes with their own addresses. The cluster's network has routes.
            "ipMasq": False,
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": network.pods(self._number)}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }
        return {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge]}


def name(number: int) -> str:
    return f"node{number}"


def _kubelet(folder: pathlib.Path, resolver: pathlib.Path) -> dict[str, Any]:
    config: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "containerRuntimeEndpoint": containerd.ENDPOINT,
        "resolvConf": str(resolver),
        "clusterDNS": [network.GATEWAY],
        "clusterDomain": "cluster.local",
        # Most sandboxes do not allow a process to lower its own score or to raise its limits.
        "oomScoreAdj": 0,
        "maxOpenFiles": 20000,
        # The disk and the memory are those of the whole machine, and other programs use them, too.
        # The kubelet may therefore evict no pod, however little is left. It may remove no image
        # either, because no image can be pulled here.
        "evictionHard": {
            "nodefs.available": "0%",
            "imagefs.available": "0%",
            "memory.available": "0%",
        },
        "imageGCHighThresholdPercent": 100,
        "nodeStatusUpdateFrequency": "4s",
        "volumePluginDir": str(folder / "plugins"),
    }
    # Control groups of version 2 need no such permission, and old kubelets do not know the field.
    return config if cgroups.only_version_2() else {**config, "failCgroupV1": False}


def _kube_proxy(node: str, kubeconfig: pathlib.Path) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "mode": "iptables",
        "hostnameOverride": node,
        "detectLocalMode": "BridgeInterface",
        "detectLocal": {"bridgeInterface": "cni0"},
        # These settings belong to the whole machine, and a namespace cannot write them.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }
