"""Nodes that are in the API and nowhere else: registered, ready, and silent."""

from testbed import podstatus, wait
from testbed.api import STRATEGIC, Api, now

NODES = "/api/v1/nodes"

_SILENT = ("node.kubernetes.io/unreachable", "NoSchedule")
"""Key and effect of the taint of a silent node. The controller manager adds it a while after the
node fell silent, and removes it a while after the node is ready. The scheduler looks only at it."""

_CAPACITY = {"cpu": "10000", "memory": "100Ti", "pods": "20000", "ephemeral-storage": "1Pi"}


def register(api: Api, node: str) -> None:
    """Have a node that is ready, and large enough for whatever a test asks for."""
    labels = {"kubernetes.io/hostname": node, "kubernetes.io/os": "linux"}
    api.post(NODES, {"metadata": {"name": node, "labels": labels}})
    addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
    status = {"capacity": _CAPACITY, "allocatable": _CAPACITY, "addresses": addresses}
    api.patch(f"{NODES}/{node}/status", {"status": status}, STRATEGIC)
    ready(api, node)


def ready(api: Api, node: str) -> None:
    _tell(api, node, "True", "KubeletReady", "kubelet is posting ready status")


def silence(api: Api, node: str) -> None:
    """Write what the control plane writes about a node that has been silent for long; returns when
    the scheduler places no more pods there.
    """
    _tell(api, node, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    wait.until(lambda: _is_silent(api, node), else_show=lambda: f"{node} has no taint")


def revive(api: Api, node: str) -> None:
    """The node reports again; returns when the scheduler places pods there."""
    ready(api, node)
    wait.until(lambda: not _is_silent(api, node), else_show=lambda: f"{node} has its taint")


def wait_untainted(api: Api) -> None:
    """Return when pods can be scheduled on all nodes. Raises AssertionError when time is up."""
    wait.until(
        lambda: not any("taints" in node["spec"] for node in api.list(NODES)),
        else_show=lambda: "some node has a taint",
    )


def _is_silent(api: Api, node: str) -> bool:
    taints = api.get(f"{NODES}/{node}")["spec"].get("taints", ())
    return any((one["key"], one["effect"]) == _SILENT for one in taints)


def _tell(api: Api, node: str, state: str, reason: str, message: str) -> None:
    conditions = podstatus.node_conditions(state, now(), reason, message)
    api.patch(f"{NODES}/{node}/status", {"status": {"conditions": conditions}}, STRATEGIC)
