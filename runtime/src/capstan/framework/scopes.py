"""The scopes that `with` blocks open on a graph: name, device, colocation, control dependencies,
container.

Every thread has its own scopes on a graph, so several threads may build one graph at once. A new
thread starts outside all scopes. (TensorFlow 1.4 shares the scopes between threads, which therefore
must not build at once.)
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from capstan.core import devices
from capstan.framework import names
from capstan.framework.open_scopes import (
    ControlFlowContext,
    Dependencies,
    DeviceFunction,
    Scopes,
)

GRADIENT = "_gradient_op_type"
"""The attribute of an operation that names its gradient. See `framework.registered_gradients`."""


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

    def scopes_of_thread(self) -> Mapping[str, Any]:
        """Return the scopes that this thread has open, for `in_scopes` in another thread."""
        return dict(vars(self._scopes))

    @contextmanager
    def in_scopes(self, scopes: Mapping[str, Any]) -> Iterator[None]:
        """Build in the scopes that `scopes_of_thread` has returned."""
        outer = self.scopes_of_thread()
        vars(self._scopes).update(scopes)
        try:
            yield
        finally:
            vars(self._scopes).update(outer)

    @property
    def awaited_operations(self) -> tuple[Any, ...]:
        """The operations that new operations of this thread wait for."""
        return tuple(op for block in self._scopes.open_blocks() for op in block.inputs)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return `name` with the current name scope before it, and a number if the name is in use.

        The name is in use afterwards, unless `mark_as_used` is False.
        """
        full = f"{self._scopes.name}/{name}" if self._scopes.name else name
        with self._lock:
            return self._names.unique(full, take=mark_as_used)

    def get_name_scope(self) -> str:
        """Return the current name scope, without a trailing slash."""
        return self._scopes.name

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefix the names of new operations with `name/`. Add a number if `name` is in use.

        A name that ends with a slash reopens a scope, and gets no number. None or "" leaves all
        scopes. The context manager returns the prefix.

        Raises:
            ValueError: `name` is not valid for a scope.
        """
        outer = self._scopes.name
        if not name:
            inner = ""
        else:
            name = names.text(name)
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

        The inner block of nested blocks decides each field of the device name. A function receives
        each new operation and returns its device, which replaces the device of inner blocks. None
        ignores the outer blocks.

        Raises:
            ValueError: the device name is not valid.
        """
        outer = self._scopes.devices
        device_function = device_name_or_function
        if device_function is not None and not callable(device_function):
            device_function = _merging(devices.parse(device_function))
        self._scopes.devices = (*outer, device_function)
        try:
            yield
        finally:
            self._scopes.devices = outer

    @property
    def is_colocated(self) -> bool:
        """Whether new operations are placed beside another operation (`colocate_with`)."""
        return bool(self._scopes.colocated)

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Place new operations on the device of `op` and ignore the outer device blocks.

        `ignore_existing` also ignores the outer colocations. With it, `op` may be None: new
        operations are then not colocated.

        Raises:
            ValueError: `op` is None without `ignore_existing`.
        """
        if op is None and not ignore_existing:
            raise ValueError(
                "Trying to reset colocation (op is None) but ignore_existing is not True"
            )
        outer, outer_devices = self._scopes.colocated, self._scopes.devices
        inner = () if ignore_existing else outer
        if op is not None:
            element = self.as_graph_element(op.handle if hasattr(op, "handle") else op)
            inner = (*inner, getattr(element, "op", element))
        self._scopes.colocated = inner
        self._scopes.devices = ()
        try:
            yield
        finally:
            self._scopes.colocated, self._scopes.devices = outer, outer_devices

    @contextmanager
    def colocation_group(self, name: str) -> Iterator[None]:
        """Place new operations with the operation `name`, which need not exist yet."""
        outer = self._scopes.colocated
        self._scopes.colocated = (*outer, b"loc:@" + name.encode())
        try:
            yield
        finally:
            self._scopes.colocated = outer

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
    def gradient_override_map(self, op_type_map: Any) -> Iterator[None]:
        """Give new operations of an op another gradient, registered by `tf.RegisterGradient`.

        `op_type_map` is a dictionary from types of operations to names of gradients.

        Raises:
            TypeError: `op_type_map` does not map strings to strings.
        """
        if not isinstance(op_type_map, dict) or not all(
            isinstance(text, str) for pair in op_type_map.items() for text in pair
        ):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        outer = self._scopes.gradients
        self._scopes.gradients = {**outer, **op_type_map}
        try:
            yield
        finally:
            self._scopes.gradients = outer

    @property
    def variable_creators(self) -> tuple[Callable[..., Any], ...]:
        """The creators of variables of the open blocks. The last is called first."""
        return tuple(creator for _, creator in self._scopes.creators)

    @contextmanager
    def _variable_creator_scope(
        self, creator: Callable[..., Any], priority: int = 100
    ) -> Iterator[None]:
        """Let `creator` make variables. Creators of higher priority are called first."""
        outer = self._scopes.creators
        self._scopes.creators = tuple(
            sorted((*outer, (priority, creator)), key=lambda entry: entry[0])
        )
        try:
            yield
        finally:
            self._scopes.creators = outer

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Make new operations wait for all of `control_inputs`: operations, tensors, variables.

        Nested blocks add up. None ignores the outer blocks and leaves conditionals and loops.

        Raises:
            TypeError: a control input has another type, for example None.
        """
        wanted: dict[Any, None] = {}
        for value in () if control_inputs is None else control_inputs:
            # For an IndexedSlices, wait for the operation that computes its values. To wait for a
            # resource variable does not read the variable.
            has_op = hasattr(value, "dense_shape") or hasattr(value, "handle")
            element = self.as_graph_element(value.op if has_op else value)
            wanted[getattr(element, "op", element)] = None
        outer, context = self._scopes.dependencies, self._scopes.control_flow_context
        block = Dependencies(tuple(wanted), is_cleared=control_inputs is None)
        self._scopes.dependencies = (*outer, block)
        if block.is_cleared:
            self._scopes.control_flow_context = None
        try:
            yield
        finally:
            self._scopes.dependencies, self._scopes.control_flow_context = outer, context

    def control_inputs_for(self, producers: Iterable[Any]) -> list[Any]:
        """Return the control inputs that an operation with inputs from `producers` would get."""
        return self._scopes.control_inputs(producers)

    def note_dependent(self, op: Any) -> None:
        """Record that `op` waits for the control inputs of the open blocks."""
        self._scopes.note(op)

    @property
    def control_flow_context(self) -> Any:
        """The conditional or loop that this thread builds, or None."""
        return self._scopes.control_flow_context

    def _get_control_flow_context(self) -> Any:
        # Programs ask for it by this name of TensorFlow's.
        return self._scopes.control_flow_context

    @contextmanager
    def in_control_flow_context(self, context: ControlFlowContext | None) -> Iterator[None]:
        """Build new operations in the conditional or loop `context`. None means outside of all."""
        outer = self._scopes.control_flow_context
        self._scopes.control_flow_context = context
        try:
            yield
        finally:
            self._scopes.control_flow_context = outer


def _merging(spec: devices.DeviceSpec) -> DeviceFunction:
    def fill_in(op: Any) -> str:
        return spec.merged(devices.parse(op.device)).to_string()

    return fill_in
