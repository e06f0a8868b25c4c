"""Pools of nodes with GPUs: find them in a cluster, or give a node fake GPUs."""

import json
import pathlib

from testbed.kubernetes import Kubernetes

RESOURCE = "nvidia.com/gpu"
"""The resource that pods request, and the key of the taint that keeps other pods away."""

_LABEL = "capstan.dev/fake-gpus"
_PLUGIN = pathlib.Path(__file__).resolve().parents[1] / "kind/fake-gpus"


def pools(cluster: Kubernetes, count: int) -> list[str]:
    """Return the names of the nodes that have at least `count` GPUs."""
    return [node for node, offered in _offered(cluster).items() if offered >= count]


def most(cluster: Kubernetes) -> int:
    """Return the largest number of GPUs that one node has."""
    return max(_offered(cluster).values(), default=0)


def _offered(cluster: Kubernetes) -> dict[str, int]:
    nodes = json.loads(cluster.kubectl("get", "nodes", "-o", "json").stdout)["items"]
    return {
        node["metadata"]["name"]: int(node["status"].get("allocatable", {}).get(RESOURCE, 0))
        for node in nodes
    }


def pretend(cluster: Kubernetes, node: str) -> None:
    """Give a node two fake GPUs, and the taint of a pool. Returns when pods can request them."""
    cluster.kubectl("taint", "node", node, f"{RESOURCE}=present:NoSchedule", "--overwrite")
    cluster.kubectl("label", "node", node, f"{_LABEL}=true", "--overwrite")
    install(cluster)
    cluster.until(lambda: node in pools(cluster, 2), f"{node} has GPUs")


def install(cluster: Kubernetes) -> None:
    """Install the device plugin of the fake GPUs on the nodes that have its label."""
    cluster.kubectl("apply", "-k", _PLUGIN)
