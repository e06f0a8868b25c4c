"""Resource variables (python/ops/resource_variable_ops.py).

A resource variable consists of a `VarHandleOp`, which returns a handle, and of operations that take
the handle: `AssignVariableOp`, `VarIsInitializedOp`, and a `ReadVariableOp` for each read. A read
sees the changes on which it depends, also by control dependencies.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from capstan.api import (
    initial_dependencies,
    row_changes,
    variable_arguments,
    variable_defs,
    variables,
)
from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, defaults
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class ResourceVariable(row_changes.RowChanges, variables.Variable, is_resource=True):
    """A variable whose reads are operations of their own.

    The methods that change the variable return a variable whose value is read after the change.
    They return the operation of the change instead if `read_value` is False.
    """

    __slots__ = ("_cached", "_element", "_handle", "_shape")

    _cached: graphs.Tensor | None
    _element: graphs.Tensor
    _handle: graphs.Tensor
    _shape: tensor_shape.TensorShape

    def _build(
        self,
        graph: graphs.Graph,
        scope: str,
        value: Any,
        dtype: Any,
        shape: tensor_shape.TensorShape | None,
        validate_shape: bool,
        caching_device: Any,
    ) -> None:
        name = scope[:-1]
        with graph.colocation_group(name):
            with graph.name_scope("Initializer"), graph.device(None):
                initial = variable_arguments.initial_tensor(value, dtype)
            if shape is not None and not shape.is_compatible_with(initial.shape):
                raise ValueError(
                    f"The initial value of '{name}' has the shape {initial.shape}, which is not "
                    f"compatible with the argument `shape`, {shape}"
                )
            self._initial_value, self._shape = initial, initial.shape if shape is None else shape
            self._handle = raw.VarHandleOp(
                dtype=initial.dtype.base_dtype, shape=self._shape, shared_name=name, name=scope
            )
        if initial.op.control_flow_context is not None:
            raise variable_arguments.inside_control_flow(scope)
        with graph.name_scope("IsInitialized"):
            raw.VarIsInitializedOp(self._handle)
        with graph.name_scope("Assign") as inner, _beside(self._handle):
            start = initial_dependencies.guarded(name, initial)
            self._initializer = raw.AssignVariableOp(self._handle, start, name=inner)
        self._cached = None
        with graph.name_scope("Read"):
            with graph.device(self._handle.device):
                self._element = self._read()
            if caching_device is not None:
                with graph.colocate_with(None, ignore_existing=True), graph.device(caching_device):
                    self._cached = raw.Identity(self._element)

    def _read_def(self, variable_def: Any, import_scope: str | None) -> None:
        if not variable_def.is_resource:
            raise ValueError("Trying to restore Variable as ResourceVariable.")
        state, initializer, snapshot, initial = variable_defs.named_elements(
            variable_def, import_scope
        )
        self._handle, self._initializer, self._initial_value = state, initializer, initial
        self._shape = tensor_shape.as_shape(state.op.get_attr("shape"))
        if snapshot is None:
            snapshot = graphs.get_default_graph().get_tensor_by_name(
                f"{state.op.name}/Read/ReadVariableOp:0"
            )
        self._cached = None if snapshot.op.type == "ReadVariableOp" else snapshot
        while snapshot.op.type != "ReadVariableOp":
            snapshot = snapshot.op.inputs[0]
        self._element = snapshot

    # --- properties of the variable

    @property
    def handle(self) -> graphs.Tensor:
        """The tensor that refers to the state. Its dtype is `tf.resource`."""
        return self._handle

    @property
    def create(self) -> graphs.Operation:
        """The operation that assigns the initial value."""
        return self._initializer

    def _state(self) -> graphs.Tensor:
        return self._handle

    def _snapshot_name(self) -> str:
        return (self._element if self._cached is None else self._cached).name

    @property
    def dtype(self) -> dtypes.DType:
        dtype: dtypes.DType = dtypes.as_dtype(self._handle.op.get_attr("dtype"))
        return dtype

    @property
    def shape(self) -> tensor_shape.TensorShape:
        return self._shape

    def set_shape(self, shape: Any) -> None:
        raise NotImplementedError("ResourceVariable does not implement set_shape()")

    def to_proto(self, export_scope: str | None = None) -> Any:
        message = super().to_proto(export_scope)
        if message is not None:
            message.is_resource = True
        return message

    # --- reads

    def value(self) -> graphs.Tensor:
        """Return a new tensor of the variable's value, or the value on the caching device."""
        if self._cached is not None:
            return self._cached
        with _current(self._handle), _beside(self._handle):
            return self._read()

    def read_value(self) -> graphs.Tensor:
        with _current(self._handle) as graph:
            with graph.name_scope("Read"), graph.device(self._handle.device):
                value = self._read()
            read: graphs.Tensor = raw.Identity(value)
            return read

    def sparse_read(self, indices: Any, name: str | None = None) -> graphs.Tensor:
        """Return the rows of the variable that `indices` name. A step reads only these rows."""
        with graphs.get_default_graph().name_scope(name or "Gather") as scope:
            rows = raw.ResourceGather(self._handle, indices, dtype=self.dtype, name=scope)
        # TensorFlow 1.15 adds the copy outside of the scope.
        copied: graphs.Tensor = raw.Identity(rows, name="Identity")
        return copied

    def gather_nd(self, indices: Any, name: str | None = None) -> graphs.Tensor:
        """Return the slices at multi-dimensional indices. A step reads only these slices."""
        with graphs.get_default_graph().name_scope(name or "GatherNd") as scope:
            slices = raw.ResourceGatherNd(self._handle, indices, dtype=self.dtype, name=scope)
        copied: graphs.Tensor = raw.Identity(slices, name="Identity")
        return copied

    def is_initialized(self, name: str | None = None) -> graphs.Tensor:
        """Return a boolean scalar, which is true in a step if the variable then has a value."""
        found: graphs.Tensor = raw.VarIsInitializedOp(self._handle, name=name)
        return found

    def _is_initialized(self) -> graphs.Tensor:
        return self.is_initialized()

    def _read(self) -> graphs.Tensor:
        value: graphs.Tensor = raw.ReadVariableOp(self._handle, dtype=self.dtype)
        return value

    def _as_graph_element(self) -> graphs.Tensor:
        return self._element

    # --- changes

    def assign(
        self,
        value: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Set the variable to `value`.

        Raises:
            ValueError: the static shape of `value` is not the shape of the variable.
        """
        with _current(self._handle):
            tensor = convert.convert_to_tensor(value, self.dtype)
            self._shape.assert_is_compatible_with(tensor.shape)
            return self._after(raw.AssignVariableOp(self._handle, tensor, name=name), read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add `delta` to the variable."""
        return self._updated("AssignAddVariableOp", delta, name, read_value)

    def count_up_to(self, limit: int) -> Any:
        """Return a tensor of the value, and add 1 in each step that computes it.

        The step fails with OutOfRangeError once the value is `limit`.
        """
        return raw.ResourceCountUpTo(self._handle, limit=limit, T=self.dtype)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtract `delta` from the variable."""
        return self._updated("AssignSubVariableOp", delta, name, read_value)

    def _updated(self, op: str, delta: Any, name: str | None, read_value: bool) -> Any:
        cached: Iterable[Any] = () if self._cached is None else (self._cached,)
        with _current(self._handle) as graph, graph.control_dependencies(cached):
            tensor = convert.convert_to_tensor(delta, self.dtype)
            change = getattr(raw, op)(self._handle, tensor, name=name)
        return self._after(change, read_value)

    def _scattered(
        self, change: str, sparse_delta: Any, use_locking: bool, name: str | None
    ) -> Any:
        indices, values = row_changes.rows_of(sparse_delta)
        return self._at_places(f"ResourceScatter{change}", indices, values, name)

    def _scattered_nd(self, change: str, indices: Any, updates: Any, name: str | None) -> Any:
        return self._at_places(f"ResourceScatterNd{change}", indices, updates, name)

    def _at_places(self, op: str, indices: Any, values: Any, name: str | None) -> Any:
        values = convert.convert_to_tensor(values, self.dtype)
        change = getattr(raw, op)(self._handle, indices, values, name=name)
        return self._after(change, read_value=True)

    def _strided_slice_assign(
        self, bounds: Sequence[Any], value: Any, masks: Mapping[str, int], name: str
    ) -> Any:
        with _current(self._handle):
            tensor = convert.convert_to_tensor(value, self.dtype)
            change = raw.ResourceStridedSliceAssign(
                self._handle, *bounds, tensor, **masks, name=name
            )
            return self._after(change, read_value=True)

    def _after(self, change: graphs.Operation, read_value: bool) -> Any:
        return UnreadVariable(self, change) if read_value else change


class UnreadVariable(ResourceVariable):
    """A resource variable whose reads follow a change. `name` and `op` are those of the change."""

    __slots__ = ("_change",)

    def __new__(cls, *args: Any, **kwargs: Any) -> "UnreadVariable":
        return object.__new__(cls)

    def __init__(self, variable: ResourceVariable, change: graphs.Operation) -> None:
        self._change = change
        self._handle, self._shape = variable.handle, variable.shape
        self._constraint, self._trainable = None, variable.trainable
        self._synchronization, self._aggregation = variable.synchronization, variable.aggregation
        self._cached = self._initial_value = None
        self._initializer = variable.initializer
        self._element = self._read()

    @property
    def name(self) -> str:
        return self._change.name

    @property
    def op(self) -> graphs.Operation:
        return self._change

    def value(self) -> graphs.Tensor:
        return self._read()

    def read_value(self) -> graphs.Tensor:
        return self._read()

    def _read(self) -> graphs.Tensor:
        with _current(self._handle) as graph, graph.control_dependencies([self._change]):
            return super()._read()


def enable_resource_variables() -> None:
    """Make resource variables where neither `use_resource` nor the variable scope says otherwise.

    The choice holds for the whole process.
    """
    defaults.BEHAVIOUR.resource_variables = True


def disable_resource_variables() -> None:
    """Undo `enable_resource_variables`."""
    defaults.BEHAVIOUR.resource_variables = False


def resource_variables_enabled() -> bool:
    """Return whether `tf.Variable` makes resource variables by default."""
    return defaults.BEHAVIOUR.resource_variables


def is_resource_variable(var: Any) -> bool:
    """Return whether `var` is a resource variable."""
    return isinstance(var, ResourceVariable)


def _current(handle: graphs.Tensor) -> AbstractContextManager[Any]:
    """Build in the graph of a handle. While a function is built, build in its graph."""
    return graphs.graph_of([handle]).as_default()


@contextmanager
def _beside(handle: graphs.Tensor) -> Iterator[None]:
    """Place operations on the device of the handle, and ignore the outer colocations."""
    graph = graphs.get_default_graph()
    with graph.colocate_with(None, ignore_existing=True), graph.device(handle.device):
        yield


def is_read(op: graphs.Operation) -> bool:
    """Return whether an operation reads a resource variable."""
    return op.type == "ReadVariableOp"
