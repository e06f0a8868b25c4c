"""Pools of nodes with GPUs: find them in a cluster, or give a node fake GPUs."""

import json
import pathlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from testbed.kubernetes import Kubernetes

RESOURCE = "nvidia.com/gpu"
"""The resource that pods request, and the key of the taint that keeps other pods away."""

Json = Mapping[str, Any]

_LABEL = "capstan.dev/fake-gpus"
_PLUGIN = pathlib.Path(__file__).resolve().parents[1] / "kind/fake-gpus"


def pools(cluster: Kubernetes, count: int) -> list[str]:
    """Return the names of the nodes that have at least `count` free GPUs."""
    nodes, pods = _listed(cluster, "nodes"), _listed(cluster, "pods", "--all-namespaces")
    return [node for node, left in free(nodes, pods).items() if left >= count]


def free(nodes: Iterable[Json], pods: Iterable[Json]) -> Mapping[str, int]:
    """Return how many GPUs of each node no pod uses. A pod that has ended uses none."""
    left = Counter(_allocatable(nodes))
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node in left and pod["status"].get("phase") not in ("Succeeded", "Failed"):
            left[node] -= requested(pod["spec"])
    return left


def requested(spec: Json) -> int:
    """Return how many GPUs a pod takes from its node. Init containers run one by one before the
    others, but sidecars, which restart always, run beside all that follow.
    """
    beside = most = 0
    for container in spec.get("initContainers", []):
        most = max(most, beside + _limit(container))
        if container.get("restartPolicy") == "Always":
            beside += _limit(container)
    return max(most, beside + sum(map(_limit, spec["containers"])))


def _limit(container: Json) -> int:
    # Kubernetes demands that the request of such a resource is its limit.
    return int(container.get("resources", {}).get("limits", {}).get(RESOURCE, 0))


def most(cluster: Kubernetes) -> int:
    """Return the largest number of GPUs that one node has."""
    return max(_allocatable(_listed(cluster, "nodes")).values(), default=0)


def _allocatable(nodes: Iterable[Json]) -> dict[str, int]:
    return {
        node["metadata"]["name"]: int(node["status"].get("allocatable", {}).get(RESOURCE, 0))
        for node in nodes
    }


def _listed(cluster: Kubernetes, *words: str) -> list[Json]:
    items: list[Json] = json.loads(cluster.kubectl("get", *words, "-o", "json").stdout)["items"]
    return items


def pretend(cluster: Kubernetes, node: str) -> None:
    """Give a node two fake GPUs, and the taint of a pool. Returns when pods can request them."""
    cluster.kubectl("taint", "node", node, f"{RESOURCE}=present:NoSchedule", "--overwrite")
    cluster.kubectl("label", "node", node, f"{_LABEL}=true", "--overwrite")
    install(cluster)
    cluster.until(lambda: node in pools(cluster, 2), f"{node} has GPUs")


def install(cluster: Kubernetes) -> None:
    """Install the device plugin of the fake GPUs on the nodes that have its label."""
    cluster.kubectl("apply", "-k", _PLUGIN)
