"""Nodes that exist only in the API: register them, silence them and make them ready."""

from testbed import podstatus, wait
from testbed.api import STRATEGIC, Api, now

NODES = "/api/v1/nodes"

_SILENT = ("node.kubernetes.io/unreachable", "NoSchedule")
"""The key and the effect of the taint of a silent node. The controller manager adds the taint a
while after the node fell silent, and removes it a while after the node is ready. The scheduler
looks only at the taint."""

_NO_ANSWER = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
_CAPACITY = {"cpu": "10000", "memory": "100Ti", "pods": "20000", "ephemeral-storage": "1Pi"}


def register(api: Api, node: str) -> None:
    """Register a node that is ready and large enough for every test."""
    labels = {"kubernetes.io/hostname": node, "kubernetes.io/os": "linux"}
    api.post(NODES, {"metadata": {"name": node, "labels": labels}})
    addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
    status = {"capacity": _CAPACITY, "allocatable": _CAPACITY, "addresses": addresses}
    api.patch(f"{NODES}/{node}/status", {"status": status}, STRATEGIC)
    ready(api, node)


def register_silent(api: Api, node: str) -> None:
    """Register a node that has never answered and that the scheduler never uses."""
    api.post(NODES, {"metadata": {"name": node}, "spec": {"unschedulable": True}})
    _report(api, node, *_NO_ANSWER)


def ready(api: Api, node: str) -> None:
    """Write the status of a ready node."""
    _report(api, node, "True", "KubeletReady", "kubelet is posting ready status")


def silence(api: Api, node: str) -> None:
    """Write the status of a node that has been silent for long, as the control plane does. Returns
    when the scheduler places no more pods there.
    """
    _report(api, node, *_NO_ANSWER)
    wait.until(lambda: _is_silent(api, node), else_show=lambda: f"{node} has no taint")


def revive(api: Api, node: str) -> None:
    """Write the status of a ready node. Returns when the scheduler places pods there again."""
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
    return any((taint["key"], taint["effect"]) == _SILENT for taint in taints)


def _report(api: Api, node: str, state: str, reason: str, message: str) -> None:
    conditions = podstatus.node_conditions(state, now(), reason, message)
    api.patch(f"{NODES}/{node}/status", {"status": {"conditions": conditions}}, STRATEGIC)
