"""Named objects of a task other than variables, such as queues and accumulators.

A node that names no `shared_name` has a resource of its own in each session. A node with a
`shared_name` shares its resource with every node of that container, name and kind, in all sessions
(TensorFlow's ResourceMgr and ContainerInfo, core/framework/resource_mgr.cc).
"""

import itertools
import threading
import weakref
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import numpy as np

from capstan import errors
from capstan.core import resource_name
from capstan.core.arrays import Array


class Resource:
    """An object that nodes find by container and name. Handles and references stand for it."""

    # A handle is a tensor without axes, which ops such as `Pack` combine with others.
    shape: tuple[int, ...] = ()
    ndim = 0
    dtype = np.dtype(object)

    def __init__(self, name: resource_name.ResourceName) -> None:
        self.container, self.name = name

    def read(self) -> Array:
        """Return the value of a reference: the container and the name."""
        return np.array([self.container.encode(), self.name.encode()], object)

    def snapshot(self, _out: Array | None = None) -> Array:
        """Return the value of a reference that leaves the task."""
        return self.read()

    def abandon(self, error: errors.OpError) -> None:
        """End every operation that waits, and each later one, with `error`."""


Kind = TypeVar("Kind", bound=Resource)
Make = Callable[[resource_name.ResourceName], Kind]


class Registry:
    """The resources of one task, by device, kind, container and name. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: dict[tuple[str, str, resource_name.ResourceName], Resource] = {}
        self._private: weakref.WeakSet[Resource] = weakref.WeakSet()
        self._serial = itertools.count()

    def find(
        self, device: str, kind: str, name: resource_name.ResourceName, make: Make[Kind]
    ) -> tuple[Kind, bool]:
        """Return the resource of that name, and whether this call made it.

        `kind` separates name spaces: a queue and a barrier may have the same name.
        """
        with self._lock:
            found: Any = self._shared.get((device, kind, name))
            if found is not None:
                return found, False
            made = make(name)
            self._shared[device, kind, name] = made
            return made, True

    def create_private(self, container: str, node: str, make: Make[Kind]) -> Kind:
        """Make the resource of one node in one session, which keeps it alive.

        No other resource of the task has its name.
        """
        with self._lock:
            made = make(resource_name.ResourceName(container, f"_{next(self._serial)}_{node}"))
            self._private.add(made)
        return made

    def containers(self) -> set[str]:
        """Return the containers that have a resource."""
        with self._lock:
            found = {name.container for _, _, name in self._shared}
            return found | {held.container for held in self._private}

    def clear(self, containers: Collection[str]) -> None:
        """Remove the resources in the named containers. End the operations that wait for them."""
        with self._lock:
            removed = [key for key in self._shared if key[2].container in containers]
            abandoned = [self._shared.pop(key) for key in removed]
            abandoned += [held for held in self._private if held.container in containers]
        for resource in abandoned:
            resource.abandon(
                errors.NotFoundError(
                    None,
                    None,
                    f"Container {resource.container} does not exist. (Could not find resource: "
                    f"{resource.container}/{resource.name})",
                )
            )
