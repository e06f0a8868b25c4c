"""What `with` blocks set while a graph is built: name, device, colocation, dependencies, container.

Every thread has its own scopes on a graph, so threads may build one graph side by side; a new
thread starts outside all scopes. (TensorFlow 1.4 shares the scopes between threads, and they must
not build at once.)
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from capstan.core import devices
from capstan.framework import names

DeviceFunction = Callable[[Any], "str | devices.DeviceSpec | None"]


@dataclass(slots=True)
class Dependencies:
    """One `control_dependencies` block: what it asks for, and the ops created inside.

    `is_cleared` blocks hide the blocks around them (`control_dependencies(None)`).
    """

    inputs: tuple[Any, ...]
    is_cleared: bool = False
    members: set[Any] = field(default_factory=set)


class Branch(Protocol):
    """One side of a conditional that is being built: `framework.branch`."""

    @property
    def outer(self) -> "Branch | None": ...

    @property
    def pred(self) -> Any: ...

    def admit(self, tensor: Any) -> Any: ...

    def wait(self, control: Sequence[Any]) -> list[Any]: ...

    def note(self, op: Any) -> None: ...


class Scopes(threading.local):
    """The scopes that the current thread has open on one graph."""

    def __init__(self) -> None:
        self.name = ""
        self.container = ""
        # A None among the devices hides those before it.
        self.devices: tuple[DeviceFunction | None, ...] = ()
        # Operations, or groups (`loc:@name`) of operations that do not exist yet.
        self.colocated: tuple[Any, ...] = ()
        self.dependencies: tuple[Dependencies, ...] = ()
        self.branch: Branch | None = None

    def device_functions(self) -> Iterator[DeviceFunction]:
        """Iterate over the device functions that apply to a new operation, innermost first."""
        for function in reversed(self.devices):
            if function is None:
                return
            yield function

    def control_inputs(self, producers: Iterable[Any]) -> list[Any]:
        """Return the ops that a new op with these data inputs must also wait for.

        A block adds nothing to an op that reads a member of the block: that one waits already.
        """
        read = set(producers)
        wanted: dict[Any, None] = {}
        for block in self._open_blocks():
            if not read & block.members:
                wanted.update(dict.fromkeys(op for op in block.inputs if op not in read))
        return list(wanted)

    def note(self, op: Any) -> None:
        """Remember that `op` was created in the open blocks, and so waits for what they ask."""
        for block in self._open_blocks():
            block.members.add(op)

    def _open_blocks(self) -> tuple[Dependencies, ...]:
        for index in range(len(self.dependencies) - 1, -1, -1):
            if self.dependencies[index].is_cleared:
                return self.dependencies[index + 1 :]
        return self.dependencies


class Scoped:
    """The part of `tf.Graph` that opens scopes. A block belongs to the thread that enters it."""

    def __init__(self) -> None:
        self._scopes = Scopes()
        self._names = names.NameTable()
        self._lock = threading.RLock()

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        raise TypeError(f"{type(self).__name__} holds no elements")

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return `name` within the current name scope, numbered if it is taken."""
        full = f"{self._scopes.name}/{name}" if self._scopes.name else name
        with self._lock:
            return self._names.unique(full, take=mark_as_used)

    def get_name_scope(self) -> str:
        """Return the current name scope, without a slash at its end."""
        return self._scopes.name

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefix the names of new operations with `name/`, numbered if it is taken.

        A name that ends with a slash is entered again as it is; None or "" leaves all scopes. The
        value of the block is the prefix.

        Raises:
            ValueError: no valid name for a scope.
        """
        outer = self._scopes.name
        if not name:
            inner = ""
        else:
            names.check_scope_name(name, is_inner=bool(outer))
            inner = name[:-1] if name.endswith("/") else self.unique_name(name)
        self._scopes.name = inner
        try:
            yield f"{inner}/" if inner else ""
        finally:
            self._scopes.name = outer

    @contextmanager
    def device(
        self, device_name_or_function: "str | devices.DeviceSpec | DeviceFunction | None"
    ) -> Iterator[None]:
        """Place new operations on a device.

        Of nested blocks the inner one decides, field by field. A function gets each new operation
        and returns its device, which replaces what inner blocks gave. None ignores the blocks
        around.

        Raises:
            ValueError: no valid device name.
        """
        outer = self._scopes.devices
        chosen = device_name_or_function
        if chosen is not None and not callable(chosen):
            chosen = _merging(devices.parse(chosen))
        self._scopes.devices = (*outer, chosen)
        try:
            yield
        finally:
            self._scopes.devices = outer

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Place new operations where `op` is, whatever device blocks say.

        `ignore_existing` leaves the colocations around; None for `op` then leaves it at that.

        Raises:
            ValueError: None without `ignore_existing`.
        """
        if op is None and not ignore_existing:
            raise ValueError(
                "Trying to reset colocation (op is None) but ignore_existing is not True"
            )
        outer, outer_devices = self._scopes.colocated, self._scopes.devices
        inner = () if ignore_existing else outer
        if op is not None:
            element = self.as_graph_element(op)
            inner = (*inner, getattr(element, "op", element))
        self._scopes.colocated = inner
        self._scopes.devices = ()
        try:
            yield
        finally:
            self._scopes.colocated, self._scopes.devices = outer, outer_devices

    @contextmanager
    def colocate_with_name(self, name: str) -> Iterator[None]:
        """Place new operations where the operation `name` will be, which need not exist yet."""
        outer, outer_devices = self._scopes.colocated, self._scopes.devices
        self._scopes.colocated = (*outer, b"loc:@" + name.encode())
        self._scopes.devices = ()
        try:
            yield
        finally:
            self._scopes.colocated, self._scopes.devices = outer, outer_devices

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Keep the state of new operations in a container, which `Session.reset` can clear."""
        outer = self._scopes.container
        self._scopes.container = container_name
        try:
            yield container_name
        finally:
            self._scopes.container = outer

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Make new operations wait for all of `control_inputs`: operations, tensors, variables.

        Nested blocks add up; None ignores the blocks around, and leaves the branches of
        conditionals.

        Raises:
            TypeError: something that is neither, such as None in the list.
        """
        wanted: dict[Any, None] = {}
        for item in () if control_inputs is None else control_inputs:
            # An IndexedSlices is known by the operation that makes its values.
            element = self.as_graph_element(item.op if hasattr(item, "dense_shape") else item)
            wanted[getattr(element, "op", element)] = None
        outer, branch = self._scopes.dependencies, self._scopes.branch
        block = Dependencies(tuple(wanted), is_cleared=control_inputs is None)
        self._scopes.dependencies = (*outer, block)
        if block.is_cleared:
            self._scopes.branch = None
        try:
            yield
        finally:
            self._scopes.dependencies, self._scopes.branch = outer, branch

    @property
    def branch(self) -> Branch | None:
        """The side of a conditional that this thread builds, or None."""
        return self._scopes.branch

    @contextmanager
    def branched(self, branch: Branch) -> Iterator[None]:
        """Build new operations within one side of a conditional."""
        outer = self._scopes.branch
        self._scopes.branch = branch
        try:
            yield
        finally:
            self._scopes.branch = outer


def _merging(spec: devices.DeviceSpec) -> DeviceFunction:
    def fill_in(op: Any) -> str:
        return spec.merged(devices.parse(op.device)).to_string()

    return fill_in
