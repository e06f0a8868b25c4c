"""The name under which a task keeps a resource, such as a variable or a queue.

TensorFlow's ContainerInfo has the same rule (core/framework/resource_mgr.cc).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from capstan.core import attr_value


class ResourceName(NamedTuple):
    """A container, and the name of a resource in the container.

    Two nodes with the same ResourceName share the resource.
    """

    container: str
    name: str


def of_node(node: str, attrs: Mapping[str, Any], default_container: str) -> ResourceName:
    """Return the name of the resource that the node called `node` makes or finds.

    A node without the attribute `container` uses the task's default container. A node without
    `shared_name` uses its own name.

    >>> of_node("w", {"container": b"", "shared_name": b""}, "ps")
    ResourceName(container='ps', name='w')
    """
    container = attr_value.text(attrs.get("container") or b"")
    shared_name = attr_value.text(attrs.get("shared_name") or b"")
    return ResourceName(container or default_container, shared_name or node)
