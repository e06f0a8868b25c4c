"""The resources of a task, by container and name.

This is TensorFlow's ResourceMgr (core/framework/resource_mgr.h). `Session.reset` clears containers
by name. An op without a container uses the task's default container, which a server names after its
job.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Any

from capstan import errors
from capstan.core import dtypes, resource_name
from capstan.hardware import costs, cpu, device
from capstan.resources import alarms, collective_member, handles, resource, variable

_Key = tuple[resource_name.ResourceName, str, type[variable.Variable]]
"""The name of a variable, its device and its kind."""


class ResourceManager:
    """The devices of one task and its resources. Thread-safe.

    Each device has resources of its own, so equal names on two devices are two variables.
    """

    def __init__(
        self, default_container: str = "localhost", devices: device.Devices | None = None
    ) -> None:
        """Without `devices`, the task has one CPU."""
        self.default_container = default_container
        self.devices = devices or device.Devices(cpu.create("", None))
        self.registry = resource.Registry()
        self.handles = handles.Handles()
        self.alarms = alarms.Alarms()
        self.iterate: Callable[..., None] = _refuse_loops
        """Runs a loop whose iterations are steps. The services of the task set it."""
        self.collectives: collective_member.Runner = collective_member.NoRunner()
        """Runs collective operations. The services of the task set it."""
        self._lock = threading.Lock()
        self._variables: dict[_Key, tuple[variable.Variable, dtypes.DType]] = {}
        self._cleared: set[_Key] = set()
        self._shared: dict[str, resource.Registry] = {}

    def isolated(self, session: str) -> "ResourceManager":
        """Return a manager of the same devices without resources, for one session alone.

        TensorFlow: ConfigProto.isolate_session_state. The container called `session`, in which a
        master keeps the tensors of its partial runs, is that of this manager.
        """
        made = ResourceManager(self.default_container, self.devices)
        made.handles, made.alarms = self.handles, self.alarms
        made.iterate, made.collectives = self.iterate, self.collectives
        made._shared[session] = self.registry
        return made

    def registry_of(self, container: str) -> resource.Registry:
        """Return the registry that has a container."""
        return self._shared.get(container, self.registry)

    def variable(
        self,
        name: resource_name.ResourceName,
        dtype: dtypes.DType,
        device_name: str = "",
        kind: type[variable.Variable] = variable.Variable,
    ) -> variable.Variable:
        """Return the variable of that name and kind. Create it uninitialised if it does not exist.

        `device_name` is a full or partial name, as for `Devices.of`. After `clear`, the first
        caller may give the variable another dtype. A reference variable and a resource variable
        may have the same name.

        Raises:
            InvalidArgumentError: the variable exists with another dtype, or the task has no such
                device.
        """
        home = self.devices.of(device_name)
        key = (name, home.name, kind)
        with self._lock:
            fresh = kind(name.name, name.container, home)
            cell, held = self._variables.setdefault(key, (fresh, dtype))
            if held != dtype and key in self._cleared:
                cell, held = self._variables[key] = fresh, dtype
            self._cleared.discard(key)
        if held != dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Variable {name.name!r} in container {name.container!r} holds {held.name}, not "
                f"{dtype.name}. Another graph made the variable. Give one of the two variables "
                "another name, shared_name or container",
            )
        return cell

    def clear(self, containers: Iterable[str] = ()) -> None:
        """Forget the values in `containers`. If there are none, clear the default container."""
        chosen = set(containers) or {self.default_container}
        with self._lock:
            cleared = {
                key: cell
                for key, (cell, _) in self._variables.items()
                if key[0].container in chosen
            }
            self._cleared |= cleared.keys()
        for cell in cleared.values():
            cell.clear()
        self.registry.clear(chosen)

    def end(self) -> None:
        """Forget everything, because nobody uses this manager any more. Ends what waits for it."""
        with self._lock:
            found = {name.container for name, _, _ in self._variables}
        self.clear({self.default_container, *found, *self.registry.containers()})

    def for_session(self) -> "SessionResources":
        """Return the resources of this task for the nodes of one session."""
        return SessionResources(self)


class SessionResources:
    """The variables of a task, and the objects that nodes of one session keep between steps.

    TensorFlow keeps a stateful kernel for the life of its session (core/framework/op_segment.h). A
    random op therefore continues its stream, whichever other nodes a step fetches. Thread-safe.
    """

    def __init__(self, task: ResourceManager, spent: costs.Costs | None = None) -> None:
        self._task = task
        self._lock = threading.Lock()
        self._kept: dict[str, Any] = {}
        self.spent = spent or costs.Costs()
        """The time that the elementwise programs of the session have taken."""

    def apart(self) -> "SessionResources":
        """Return the resources of the task for nodes that keep other objects than the session's."""
        return SessionResources(self._task, self.spent)

    @property
    def iterate(self) -> Callable[..., None]:
        """Runs a loop whose iterations are steps, as `services.iterations` does."""
        return self._task.iterate

    @property
    def collectives(self) -> collective_member.Runner:
        """Runs collective operations, as `services.collectives` does."""
        return self._task.collectives

    @property
    def handles(self) -> handles.Handles:
        """The objects of the task whose handles have left a part."""
        return self._task.handles

    @property
    def alarms(self) -> alarms.Alarms:
        """Calls functions of the task's resources at set times."""
        return self._task.alarms

    @property
    def default_container(self) -> str:
        """The container of the resources whose nodes name none."""
        return self._task.default_container

    @property
    def devices(self) -> device.Devices:
        """The devices of the task."""
        return self._task.devices

    def variable(
        self,
        name: resource_name.ResourceName,
        dtype: dtypes.DType,
        device_name: str = "",
        kind: type[variable.Variable] = variable.Variable,
    ) -> variable.Variable:
        """Return a variable of the task, as `ResourceManager.variable` does."""
        return self._task.variable(name, dtype, device_name, kind)

    def named(
        self,
        node: str,
        name: resource_name.ResourceName,
        kind: str,
        device_name: str,
        make: resource.Make[resource.Kind],
        verify: Callable[[resource.Kind], None],
        *,
        is_private: bool,
    ) -> resource.Kind:
        """Return the resource of the node called `node`, and make it if it does not exist.

        If `is_private`, only this session uses the resource, and `name` gives only its container.
        `kind` is as for `resource.Registry.find`. `verify` raises if a resource that another node
        made does not fit this node.
        """

        def find() -> resource.Kind:
            registry = self._task.registry_of(name.container)
            if is_private:
                return registry.create_private(name.container, node, make)
            home = self.devices.of(device_name).name
            found, is_new = registry.find(home, kind, name, make)
            if not is_new:
                verify(found)
            return found

        kept: resource.Kind = self.keep(node, find)
        return kept

    def keep(self, node: str, make: Callable[[], Any]) -> Any:
        """Return the object that belongs to the node `node`. The first call makes the object."""
        with self._lock:
            if node not in self._kept:
                self._kept[node] = make()
            return self._kept[node]


def _refuse_loops(*arguments: Any, **named: Any) -> None:
    raise errors.InternalError(None, None, "a task without services cannot run steps of its own")
