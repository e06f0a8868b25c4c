"""Say in one sentence how many devices a pod requests, and how many the nodes have free. Pure.

The scheduler's message names the resources that are short on each node. It names neither the
requested amount nor the free amount. Devices such as `nvidia.com/gpu` are counted in whole numbers,
so "insufficient" means that none is free if the pod requests one. The operator has no right to list
nodes, so it knows only what the scheduler's message says.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

Manifest = Mapping[str, Any]

_SHORT = re.compile(r"(?P<nodes>\d+) Insufficient (?P<resource>[\w.-]+/[\w.-]*\w)")
_ALL = re.compile(r"\d+/(?P<nodes>\d+) nodes are available")


def explained(pod: Manifest, message: str) -> str:
    """Return the scheduler's message about a pod. Before it, put one sentence for each kind of
    device that the nodes lack: how many the pod requests, and how many are free.
    """
    return "".join([*(f"{sentence}; " for sentence in _sentences(pod, message)), message])


def _sentences(pod: Manifest, message: str) -> Iterator[str]:
    all_nodes = _ALL.search(message)
    # The part after "preemption:" says why no other pod can make room.
    first, _, _ = message.partition("preemption:")
    for short in _SHORT.finditer(first):
        resource, nodes = short["resource"], short["nodes"]
        count = requested(pod, resource)
        if count:
            free = "none is free" if count == 1 else f"fewer than {count} are free"
            where = f"{nodes} of {all_nodes['nodes']} nodes" if all_nodes else f"{nodes} nodes"
            yield f"it requests {count} {resource}, and {free} on {where}"


def requested(pod: Manifest, resource: str) -> int:
    """Return how many devices a pod requests: the sum over its containers and sidecars, or the
    request of an init container if it is larger.
    """
    spec = pod["spec"]
    inits = spec.get("initContainers") or ()
    sidecars = [init for init in inits if init.get("restartPolicy") == "Always"]
    beside = [*(spec.get("containers") or ()), *sidecars]
    together = sum(devices(container).get(resource, 0) for container in beside)
    return max([together, *(devices(init).get(resource, 0) for init in inits)])


def devices(container: Manifest) -> dict[str, int]:
    """Return the devices that a container requests, by resource.

    A resource with a domain in its name and a whole number as its amount counts as a device.
    """
    resources = container.get("resources") or {}
    # The API server copies the limit of a device to its request.
    amounts = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {
        name: int(amount)
        for name, amount in amounts.items()
        if "/" in name and str(amount).isdecimal()
    }


def only_devices(container: Manifest) -> dict[str, Any]:
    """Return a container without all fields but the devices that it requests. Return an empty
    mapping for a container without devices.
    """
    found = devices(container)
    return {"resources": {"requests": found}} if found else {}
