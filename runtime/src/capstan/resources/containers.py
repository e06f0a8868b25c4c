"""The resources of a task, by container and name.

This is TensorFlow's ResourceMgr (core/framework/resource_mgr.h). `Session.reset` clears containers
by name. An op without a container uses the task's default container, which a server names after its
job.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Any

from capstan import errors
from capstan.core import dtypes
from capstan.resources import variable


class ResourceManager:
    """The resources of one task. Thread-safe."""

    def __init__(self, default_container: str = "localhost") -> None:
        self.default_container = default_container
        self._lock = threading.Lock()
        self._variables: dict[tuple[str, str], tuple[variable.Variable, dtypes.DType]] = {}
        self._cleared: set[tuple[str, str]] = set()

    def variable(self, container: str, name: str, dtype: dtypes.DType) -> variable.Variable:
        """Return the variable of that name. Create it uninitialised if it does not exist.

        After `clear`, the first caller may give the variable another dtype.

        Raises:
            InvalidArgumentError: the variable exists with another dtype.
        """
        key = (container or self.default_container, name)
        with self._lock:
            cell, held = self._variables.setdefault(key, (variable.Variable(name, key[0]), dtype))
            if held != dtype and key in self._cleared:
                cell, held = self._variables[key] = variable.Variable(name, key[0]), dtype
            self._cleared.discard(key)
        if held != dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Variable {name!r} in container {key[0]!r} holds {held.name}, not {dtype.name}. "
                "Another graph made it. Give one of the two another name, shared_name or container",
            )
        return cell

    def clear(self, containers: Iterable[str] = ()) -> None:
        """Forget the values in the named containers, or else in the default container."""
        chosen = set(containers) or {self.default_container}
        with self._lock:
            cleared = {key: cell for key, (cell, _) in self._variables.items() if key[0] in chosen}
            self._cleared |= cleared.keys()
        for cell in cleared.values():
            cell.clear()

    def for_session(self) -> "SessionResources":
        """Return the resources of this task for the nodes of one session."""
        return SessionResources(self)


class SessionResources:
    """The variables of a task, and the objects that nodes of one session keep between steps.

    TensorFlow keeps a stateful kernel for the life of its session (core/framework/op_segment.h). A
    random op therefore continues its stream, whichever other nodes a step fetches. Thread-safe.
    """

    def __init__(self, task: ResourceManager) -> None:
        self._task = task
        self._lock = threading.Lock()
        self._kept: dict[str, Any] = {}

    def variable(self, container: str, name: str, dtype: dtypes.DType) -> variable.Variable:
        """Return a variable of the task, as `ResourceManager.variable` does."""
        return self._task.variable(container, name, dtype)

    def keep(self, node: str, make: Callable[[], Any]) -> Any:
        """Return the object that the node called `node` keeps. The first call makes it."""
        with self._lock:
            if node not in self._kept:
                self._kept[node] = make()
            return self._kept[node]
