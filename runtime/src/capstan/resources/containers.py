"""Who shares what: resources by (container, name), one table per task.

TensorFlow's ResourceMgr (core/framework/resource_mgr.h). A container is what `Session.reset` clears
by name; ops without one use the task's default container, which a server names after its job.
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
        """Return the variable of that name, making it (uninitialised) the first time.

        After `clear` its first user may give it another dtype.

        Raises:
            InvalidArgumentError: it exists with another dtype.
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
                f"Variable {name!r} in container {key[0]!r} holds {held.name}, not {dtype.name}; "
                "another graph made it: give one of the two another name, shared_name or container",
            )
        return cell

    def clear(self, containers: Iterable[str] = ()) -> None:
        """Forget the values in the named containers, or in the default one when none is named."""
        doomed = set(containers) or {self.default_container}
        with self._lock:
            gone = {key: cell for key, (cell, _) in self._variables.items() if key[0] in doomed}
            self._cleared |= gone.keys()
        for cell in gone.values():
            cell.clear()

    def for_session(self) -> "SessionResources":
        """Return what the nodes of one session see of this task's resources."""
        return SessionResources(self)


class SessionResources:
    """The variables of a task, and what the nodes of one session keep from step to step.

    TensorFlow keeps a stateful kernel for the life of its session (core/framework/op_segment.h), so
    a random op goes on with its stream whatever is fetched beside it. Thread-safe.
    """

    def __init__(self, task: ResourceManager) -> None:
        self._task = task
        self._lock = threading.Lock()
        self._kept: dict[str, Any] = {}

    def variable(self, container: str, name: str, dtype: dtypes.DType) -> variable.Variable:
        """Return a variable of the task, as `ResourceManager.variable`."""
        return self._task.variable(container, name, dtype)

    def keep(self, node: str, make: Callable[[], Any]) -> Any:
        """Return what `make` gave when the node called `node` was first compiled."""
        with self._lock:
            if node not in self._kept:
                self._kept[node] = make()
            return self._kept[node]
