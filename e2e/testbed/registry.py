"""Nodes that are in the API and nowhere else: registered, ready, and silent."""

import threading
import time

from testbed import podstatus
from testbed.api import STRATEGIC, Api, now

NODES = "/api/v1/nodes"

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
    """What the control plane says of a node that it has not heard of for long."""
    _tell(api, node, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")


def wait_untainted(api: Api, within: float = 90) -> None:
    """Return when pods can be scheduled on all nodes. Raises AssertionError when time is up."""
    deadline = time.monotonic() + within
    never = threading.Event()
    while tainted := [node for node in api.list(NODES) if "taints" in node["spec"]]:
        names = [node["metadata"]["name"] for node in tainted]
        assert time.monotonic() < deadline, f"not within {within} s: no taints on {names}"
        never.wait(0.05)


def _tell(api: Api, node: str, state: str, reason: str, message: str) -> None:
    conditions = podstatus.node_conditions(state, now(), reason, message)
    api.patch(f"{NODES}/{node}/status", {"status": {"conditions": conditions}}, STRATEGIC)
