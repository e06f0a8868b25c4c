"""The test bed's nodes behave like nodes of a production cluster, and leave nothing behind."""

import dataclasses
import pathlib
import signal
import subprocess
import sys
import textwrap
from typing import Any

import psutil
import pytest

from testbed import cgroups, programs, wait
from testbed import nodes as real_nodes
from testbed.nodes import Nodes
from testbed.process import marked, state_folder

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

E2E = pathlib.Path(__file__).parents[1]
TRAINER = "trainer"
IMAGE = "capstan/runtime:dev"
GO = "/tmp/go"
"""The file for which a container waits that then exceeds its memory. containerd may lose the reason
of an end that comes before it has recorded the start (containerd issue 8180)."""
# These files under /proc/sys are counters, not settings. The kernel also changes some of them when
# the machine is busy.
COUNTERS = {
    *("ns_last_pid", "nf_conntrack_count", "nr", "random", "perf_event_max_sample_rate"),
    *("hung_task_detect_count", "hung_task_warnings", "tainted"),
}


def pod(namespace: str, name: str, program: str, **spec: Any) -> dict[str, Any]:
    """Return a pod that runs a Python program once."""
    resources = spec.pop("resources", {})
    container = {
        "name": TRAINER,
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": ["python", "-c", textwrap.dedent(program)],
        "resources": resources,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": namespace}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            **spec,
        },
    }


def until_phase(nodes: Nodes, namespace: str, name: str, *phases: str) -> dict[str, Any]:
    """Wait until a pod is in one of these phases. Return the pod."""

    def is_there() -> bool:
        return nodes.get("pod", name, namespace=namespace)["status"]["phase"] in phases

    nodes.until(is_there, f"{name} is {' or '.join(phases)}")
    return nodes.get("pod", name, namespace=namespace)


def ended(nodes: Nodes, namespace: str, name: str) -> dict[str, Any]:
    """Wait until a pod has ended. Return the `terminated` state of its container."""
    final = until_phase(nodes, namespace, name, "Succeeded", "Failed")
    terminated: dict[str, Any] = final["status"]["containerStatuses"][0]["state"]["terminated"]
    return terminated


def log(nodes: Nodes, namespace: str, name: str) -> str:
    """Return the log of a pod that has ended. On a busy machine, its node may answer late."""
    return wait.until(lambda: nodes.kubectl("logs", name, "-n", namespace)).stdout


def test_pods_of_two_nodes_reach_each_other_by_address_and_by_name(
    nodes: Nodes, namespace: str
) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": namespace, "name": "digits"},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"app": namespace},
        },
    }
    serve = """
        import http.server
        http.server.HTTPServer(("", 2222), http.server.SimpleHTTPRequestHandler).serve_forever()
    """
    named = {"hostname": "ps-0", "subdomain": "digits"}
    server = pod(namespace, "server", serve, nodeName="node1", **named)
    nodes.apply(service, server)
    address = until_phase(nodes, namespace, "server", "Running")["status"]["podIP"]
    name = f"ps-0.digits.{namespace}.svc.cluster.local"
    ask = f"""
        import time, urllib.request
        deadline = time.monotonic() + 90
        for host in ("{address}", "{name}"):
            while True:
                try:
                    print(urllib.request.urlopen(f"http://{{host}}:2222/", timeout=10).status)
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)
    """
    nodes.apply(pod(namespace, "client", ask, nodeName="node2"))
    assert ended(nodes, namespace, "client")["exitCode"] == 0, log(nodes, namespace, "client")
    assert log(nodes, namespace, "client").split() == ["200", "200"]


def test_an_exit_code_and_a_log_are_reported(nodes: Nodes, namespace: str) -> None:
    nodes.apply(pod(namespace, "fails", "import sys; print('goodbye'); sys.exit(7)"))
    assert ended(nodes, namespace, "fails")["exitCode"] == 7
    assert log(nodes, namespace, "fails") == "goodbye\n"


def test_a_container_over_its_memory_limit_is_killed(nodes: Nodes, namespace: str) -> None:
    limits = {"limits": {"memory": "64Mi"}}
    greedy = f"""
        import pathlib, time
        while not pathlib.Path("{GO}").exists():
            time.sleep(0.05)
        x = b"1" * (200 << 20)
    """
    nodes.apply(pod(namespace, "greedy", greedy, resources=limits))
    until_phase(nodes, namespace, "greedy", "Running")
    nodes.kubectl("exec", "greedy", "-n", namespace, "--", "touch", GO)
    terminated = ended(nodes, namespace, "greedy")
    assert (terminated["exitCode"], terminated["reason"]) == (137, "OOMKilled")


def test_a_test_can_kill_the_process_of_a_container(nodes: Nodes, namespace: str) -> None:
    nodes.apply(pod(namespace, "victim", "import time; time.sleep(3600)"))
    until_phase(nodes, namespace, "victim", "Running")
    nodes.kill("victim", namespace=namespace)
    terminated = ended(nodes, namespace, "victim")
    assert (terminated["exitCode"], terminated["reason"]) == (137, "Error")


def test_a_pod_reaches_the_api_server_as_its_service_account(nodes: Nodes, namespace: str) -> None:
    ask = """
        import json, pathlib, ssl, time, urllib.request
        account = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
        namespace = (account / "namespace").read_text()
        trust = ssl.create_default_context(cafile=account / "ca.crt")
        token = {"Authorization": f"Bearer {(account / 'token').read_text()}"}
        address = f"https://kubernetes.default.svc/api/v1/namespaces/{namespace}/pods/asks"
        request = urllib.request.Request(address, headers=token)
        deadline = time.monotonic() + 90
        while True:
            try:
                answer = urllib.request.urlopen(request, context=trust, timeout=10)
                break
            except OSError:
                # kube-proxy and the role binding may take effect after the pod has started.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        print(json.load(answer)["spec"]["nodeName"])
    """
    account = f"--serviceaccount={namespace}:default"
    nodes.kubectl(
        *("create", "rolebinding", "view", "--clusterrole=view", account, "-n", namespace)
    )
    nodes.apply(pod(namespace, "asks", ask, nodeName="node2"))
    assert ended(nodes, namespace, "asks")["exitCode"] == 0, log(nodes, namespace, "asks")
    assert log(nodes, namespace, "asks") == "node2\n"


def test_a_pod_that_requests_gpus_runs_on_the_node_with_gpus(
    nodes: Nodes, gpu_node: str, namespace: str
) -> None:
    show = "import os; print(len(os.environ['NVIDIA_VISIBLE_DEVICES'].split(',')))"
    limits = {"limits": {"nvidia.com/gpu": 2}}
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    nodes.apply(pod(namespace, "trains", show, resources=limits, tolerations=tolerations))
    assert ended(nodes, namespace, "trains")["exitCode"] == 0, log(nodes, namespace, "trains")
    assert log(nodes, namespace, "trains") == "2\n"
    scheduled = nodes.get("pod", "trains", namespace=namespace)
    assert scheduled["spec"]["nodeName"] == gpu_node


def settings() -> dict[str, str]:
    """Return the values of all settings of the machine, by their paths."""
    values = {}
    for folder in ("kernel", "net", "vm"):
        for path in pathlib.Path("/proc/sys", folder).rglob("*"):
            if path.is_file() and not COUNTERS.intersection(path.parts):
                try:
                    values[str(path)] = path.read_text(errors="replace")
                except OSError:
                    values[str(path)] = "cannot be read"
    return values


@dataclasses.dataclass(frozen=True)
class Machine:
    """The parts of the real machine that a cluster must not change."""

    links: list[str]
    mounts: list[str]
    settings: dict[str, str]

    @classmethod
    def now(cls) -> "Machine":
        lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
        # Another run may build images at the same time and mount their layers in the cache.
        mounts = sorted(
            " ".join(line.split()[2:5]) for line in lines if str(programs.cache()) not in line
        )
        return cls(sorted(psutil.net_if_addrs()), mounts, settings())

    def assert_unchanged(self) -> None:
        """Compare with the machine now. New settings are allowed, because a cluster may load a
        kernel module that adds some.
        """
        now = Machine.now()
        values = {path: now.settings.get(path) for path in self.settings}
        assert (now.links, now.mounts, values) == (self.links, self.mounts, self.settings)


def left_of(folder: pathlib.Path) -> list[object]:
    """Return the processes, control groups and files of the cluster with this folder."""
    groups = [tree.path / f"{cgroups.PREFIX}{folder.name}" for tree in cgroups.hierarchies()]
    return [*marked(folder), *(path for path in (*groups, folder) if path.exists())]


def need_nodes() -> None:
    if reason := real_nodes.unavailable():
        pytest.skip(reason)


def test_a_container_whose_control_group_is_removed_has_no_processes() -> None:
    """Reading the processes fails in two ways if the kernel removes the group meanwhile."""
    need_nodes()
    script = "import os\nwhile True: os.mkdir('container'), os.rmdir('container')"
    with state_folder("groups") as state:
        group = cgroups.Group(f"{cgroups.PREFIX}{state.name}")
        [folder, *_] = group.folders
        folder.mkdir()
        removing = subprocess.Popen([sys.executable, "-c", script], cwd=folder)
        try:
            assert {len(group.processes("container")) for _ in range(5000)} == {0}
            assert removing.poll() is None
        finally:
            removing.kill()
            removing.wait()
            group.remove()


def test_a_cluster_leaves_nothing_behind() -> None:
    need_nodes()
    before = Machine.now()
    with real_nodes.running(1) as cluster:
        assert left_of(cluster.folder)
    assert left_of(cluster.folder) == []
    before.assert_unchanged()


def test_a_run_removes_the_cluster_of_a_killed_run(tmp_path: pathlib.Path) -> None:
    need_nodes()
    before = Machine.now()
    run = """
        from testbed import nodes
        with nodes.running(1) as cluster:
            print(cluster.folder, flush=True)
            input()
    """
    killed = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(run)],
        cwd=E2E,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with killed:
        assert killed.stdout is not None
        line = killed.stdout.readline().strip()
        assert line, "the run ended before its cluster was ready"
        folder = pathlib.Path(line)
        assert folder.exists()
        killed.send_signal(signal.SIGKILL)
    assert left_of(folder)
    with real_nodes.running(0):
        pass
    assert left_of(folder) == []
    before.assert_unchanged()
