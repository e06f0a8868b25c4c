"""A node: containerd, kubelet and kube-proxy on a machine that is not there."""

import json
import pathlib
import subprocess
import sys
import threading
import time
from typing import Any

from testbed import cgroups, images, network
from testbed.machine import Machine
from testbed.process import Daemon

_SOCKET = "/run/containerd/containerd.sock"
_CTR = ("ctr", "--address", _SOCKET, "--namespace", "k8s.io")
_DEVICE_PLUGIN = pathlib.Path(__file__).parent / "device_plugin.py"


class Node:
    """One node of a cluster, from its start to the loss of its power."""

    def __init__(
        self,
        number: int,
        folder: pathlib.Path,
        group: cgroups.Group,
        binaries: pathlib.Path,
    ) -> None:
        """Start the machine. `join` makes it a node."""
        self.name = name(number)
        self._number = number
        self._binaries = binaries
        self._daemons: list[Daemon] = []
        self.machine = Machine(self.name, folder / self.name, group)
        self._folder = self.machine.folder

    def start_containerd(self) -> None:
        """Connect the machine, and start what runs containers."""
        me = network.address(self._number)
        self.machine.run(
            f"ip addr add {me}/24 dev eth0\n"
            "ip link set eth0 up\n"
            f"ip route add default via {network.GATEWAY}\n"
        )
        (self._folder / "net.d").mkdir()
        self._write_json("net.d/10-pods.conflist", self._pod_network())
        config = self._folder / "containerd.toml"
        config.write_text(_containerd(self._folder))
        self._start("containerd", "--config", config)

    def join(self, kubelet: pathlib.Path, proxy: pathlib.Path) -> None:
        """Start what makes it a node of the cluster that these kubeconfigs lead to."""
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

    def import_image(self, archive: pathlib.Path) -> None:
        """Have an image of `images.archive`. Waits for containerd."""
        deadline = time.monotonic() + 180
        never = threading.Event()
        while self._ctr("version").returncode:
            self.check()
            assert time.monotonic() < deadline, f"containerd does not answer\n{self.logs()}"
            never.wait(0.1)
        ran = self._ctr("images", "import", archive)
        assert ran.returncode == 0, f"{self.name}: {archive} cannot be imported: {ran.stderr}"

    def device_plugin(self, count: int) -> None:
        """Pretend that it has this many GPUs. The kubelet must run."""
        # -P: beside the script stand modules with the names of the standard library's.
        self._start(sys.executable, "-P", _DEVICE_PLUGIN, count)

    def processes(self, container: str) -> list[int]:
        """The processes of a container, by its id, as the real machine counts them."""
        for folder in self.machine.group.folders:
            for path in folder.glob(f"**/{container}/cgroup.procs"):
                pids = [int(pid) for pid in path.read_text().split()]
                if pids:
                    return pids
        return []

    def check(self) -> None:
        """Raises AssertionError with what was logged if one of its programs has ended."""
        for daemon in self._daemons:
            assert daemon.running(), f"{self.name}: a program has ended\n{daemon.tail()}"

    def logs(self) -> str:
        return "\n".join(daemon.tail(15) for daemon in self._daemons)

    def kill(self) -> None:
        """Lose its power."""
        self.machine.kill()
        for daemon in self._daemons:
            daemon.kill()
        self._daemons.clear()

    def _start(self, program: str, *words: object) -> None:
        self._daemons.append(self.machine.start(program, *words))

    def _ctr(self, *words: object) -> subprocess.CompletedProcess[str]:
        command = self.machine.command(*_CTR, *words)
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    def _write_json(self, file: str, content: dict[str, Any]) -> pathlib.Path:
        """JSON is YAML."""
        path = self._folder / file
        path.write_text(json.dumps(content, indent=1))
        return path

    def _pod_network(self) -> dict[str, Any]:
        bridge = {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "hairpinMode": True,
            # Pods keep their own addresses on other nodes; the cluster's network has routes.
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


def _containerd(folder: pathlib.Path) -> str:
    cri = '[plugins."io.containerd.grpc.v1.cri"'
    return f"""\
version = 2
root = "{folder}/containerd"
state = "/run/containerd"
[grpc]
  address = "{_SOCKET}"
{cri}]
  sandbox_image = "{images.RECIPES["pause"].name}"
  disable_apparmor = true
  # Most sandboxes do not let a process make itself less likely to be killed than others.
  restrict_oom_score_adj = true
{cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
{cri}.containerd.runtimes.runc.options]
  SystemdCgroup = false
{cri}.cni]
  bin_dir = "{plugins()}"
  conf_dir = "{folder}/net.d"
"""


def plugins() -> pathlib.Path:
    """Where the plugins for pods' networks are installed."""
    places = [pathlib.Path("/usr/lib/cni"), pathlib.Path("/opt/cni/bin")]
    return next((place for place in places if (place / "bridge").exists()), places[0])


def _kubelet(folder: pathlib.Path, resolver: pathlib.Path) -> dict[str, Any]:
    config: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "containerRuntimeEndpoint": f"unix://{_SOCKET}",
        "resolvConf": str(resolver),
        "clusterDNS": [network.GATEWAY],
        "clusterDomain": "cluster.local",
        # As with containerd: no lower score, no higher limit than this machine's.
        "oomScoreAdj": 0,
        "maxOpenFiles": 20000,
        "evictionHard": {
            "nodefs.available": "1%",
            "imagefs.available": "1%",
            "memory.available": "100Mi",
        },
        # No image can be pulled here, so none may be collected, however full the machine's disk is.
        "imageGCHighThresholdPercent": 100,
        "nodeStatusUpdateFrequency": "4s",
        "volumePluginDir": str(folder / "plugins"),
    }
    # Version 2 needs no permission, and the kubelets of old do not know the word.
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
        # These are the whole machine's, and cannot be written in a namespace.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }
