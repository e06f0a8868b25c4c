"""Pods in the network of their node (`hostNetwork: true`).

Such pods share the ports of their node, and by default its DNS, which does not know the names of
tasks.
"""

from typing import Any


def prepared(spec: dict[str, Any], trainer: int, port: int | None) -> dict[str, Any]:
    """Return the spec of a pod whose task can be reached, and can reach the others.

    The trainer, the container at index `trainer`, lists the `port` of its task, so that the
    scheduler places no two tasks with this port on one node. `port` is None for a task that does
    not listen. The pod uses the DNS of the cluster, unless the template has chosen another. A pod
    in a network of its own stays as it is.
    """
    if spec.get("hostNetwork") is not True:
        return spec
    containers = list(spec["containers"])
    listed = [
        given
        for container in (*containers, *(spec.get("initContainers") or []))
        for given in container.get("ports") or []
    ]
    if port is not None and not any(_is_tcp(given, port) for given in listed):
        own = {"containerPort": port, "protocol": "TCP"}
        ports = [*(containers[trainer].get("ports") or []), own]
        containers[trainer] = {**containers[trainer], "ports": ports}
    dns = spec.get("dnsPolicy") or "ClusterFirstWithHostNet"
    return {**spec, "containers": containers, "dnsPolicy": dns}


def _is_tcp(given: dict[str, Any], port: int) -> bool:
    return given.get("containerPort") == port and given.get("protocol") in (None, "TCP")
