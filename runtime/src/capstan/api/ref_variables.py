"""Reference variables, TensorFlow 1's own kind of variables (python/ops/variables.py).

A reference variable consists of four operations: its initial value, the `VariableV2` that
represents the state, an `Assign` that initializes it, and an `Identity` called `read` whose output
other ops use. The task on which the variable is placed keeps the state under the variable's name.
Clients share the state if their graphs have a variable of the same name on the same task.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from capstan.api import (
    initial_dependencies,
    row_changes,
    state_ops,
    variable_arguments,
    variable_defs,
    variables,
)
from capstan.core import dtypes, tensor_shape
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class RefVariable(row_changes.RowChanges, variables.Variable, is_resource=False):
    """A variable whose readers may see its value before or after a change in the same step."""

    __slots__ = ("_ref_tensor", "_snapshot")

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
        if callable(value):
            group = graph.colocation_group(scope[:-1])
            with group, graph.device(None), graph.name_scope("Initializer"):
                initial = variable_arguments.initial_tensor(value, dtype)
        else:
            initial = variable_arguments.initial_tensor(value, dtype)
        if shape is None:
            shape = initial.shape if validate_shape else tensor_shape.unknown_shape()
        if validate_shape and not initial.shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {initial}")
        self._initial_value = initial
        self._ref_tensor: graphs.Tensor = raw.VariableV2(
            dtype=initial.dtype.base_dtype, shape=shape, name=scope
        )
        start = initial_dependencies.guarded(scope[:-1], initial)
        assigned = raw.Assign(self._ref_tensor, start, validate_shape=validate_shape)
        self._initializer = assigned.op
        self._snapshot = self._read("read", caching_device)

    def _read_def(self, variable_def: Any, import_scope: str | None) -> None:
        state, initializer, snapshot, initial = variable_defs.named_elements(
            variable_def, import_scope
        )
        self._ref_tensor, self._initializer = state, initializer
        self._snapshot = state if snapshot is None else snapshot
        self._initial_value = initializer.inputs[1] if initial is None else initial

    def _read(self, name: str, device: Any = None) -> graphs.Tensor:
        where = (
            self.graph.colocate_with(self._ref_tensor.op)
            if device is None
            else self.graph.device(device)
        )
        with where:
            value: graphs.Tensor = raw.Identity(self._ref_tensor, name=name)
        return value

    def _state(self) -> graphs.Tensor:
        return self._ref_tensor

    def _ref(self) -> graphs.Tensor:
        return self._ref_tensor

    def _snapshot_name(self) -> str:
        return self._snapshot.name

    @property
    def dtype(self) -> dtypes.DType:
        """The reference dtype of the variable, such as float32_ref."""
        return self._ref_tensor.dtype

    @property
    def shape(self) -> tensor_shape.TensorShape:
        return self._ref_tensor.shape

    def set_shape(self, shape: Any) -> None:
        """Refine the static shape of the variable and of its reads."""
        self._ref_tensor.set_shape(shape)
        self._snapshot.set_shape(shape)

    def value(self) -> graphs.Tensor:
        """Return the tensor of the variable's value. A step reads the variable at most once."""
        return self._snapshot

    def read_value(self) -> graphs.Tensor:
        with self._ref_tensor.graph.as_default():
            return self._read("read")

    def _is_initialized(self) -> graphs.Tensor:
        found: graphs.Tensor = state_ops.is_variable_initialized(self)
        return found

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Return a tensor of the new value. A step that computes it assigns `value` once.

        Return the operation instead if `read_value` is False.
        """
        return _changed(
            raw.Assign(self._ref_tensor, value, use_locking=use_locking, name=name), read_value
        )

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Return a tensor of the new value. A step that computes it adds `delta` once.

        Return the operation instead if `read_value` is False.
        """
        return _changed(
            raw.AssignAdd(self._ref_tensor, delta, use_locking=use_locking, name=name), read_value
        )

    def count_up_to(self, limit: int) -> Any:
        """Return a tensor of the value, and add 1 in each step that computes it.

        The step fails with OutOfRangeError once the value is `limit`.
        """
        return raw.CountUpTo(self._ref_tensor, limit=limit)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Return a tensor of the new value. A step that computes it subtracts `delta` once.

        Return the operation instead if `read_value` is False.
        """
        return _changed(
            raw.AssignSub(self._ref_tensor, delta, use_locking=use_locking, name=name), read_value
        )

    def sparse_read(self, indices: Any, name: str | None = None) -> graphs.Tensor:
        """Return the rows of the variable that `indices` name."""
        rows: graphs.Tensor = raw.GatherV2(self._snapshot, indices, 0, name=name)
        return rows

    def gather_nd(self, indices: Any, name: str | None = None) -> graphs.Tensor:
        """Return the slices of the variable at multi-dimensional indices."""
        slices: graphs.Tensor = raw.GatherNd(self._snapshot, indices, name=name)
        return slices

    def _scattered(
        self, change: str, sparse_delta: Any, use_locking: bool, name: str | None
    ) -> Any:
        op = getattr(raw, f"Scatter{change}")
        indices, values = row_changes.rows_of(sparse_delta)
        return op(self._ref_tensor, indices, values, use_locking=use_locking, name=name)

    def _scattered_nd(self, change: str, indices: Any, updates: Any, name: str | None) -> Any:
        op = getattr(raw, f"ScatterNd{change}")
        return op(self._ref_tensor, indices, updates, use_locking=True, name=name)

    def _strided_slice_assign(
        self, bounds: Sequence[Any], value: Any, masks: Mapping[str, int], name: str
    ) -> graphs.Tensor:
        changed: graphs.Tensor = raw.StridedSliceAssign(
            self._ref_tensor, *bounds, value, **masks, name=name
        )
        return changed

    def _as_graph_element(self) -> graphs.Tensor:
        return self._ref_tensor


def _changed(output: graphs.Tensor, read_value: bool) -> graphs.Tensor | graphs.Operation:
    return output if read_value else output.op
