"""`tf.Variable` (python/ops/variables.py).

A variable consists of four operations: its initial value, the `VariableV2` that represents the
state, an `Assign` that initializes it, and an `Identity` called `read` whose output other ops use.
The task on which the variable is placed keeps the state under the variable's name. Clients share
the state if their graphs have a variable of the same name on the same task.
"""

from collections.abc import Callable, Sequence
from typing import Any

from capstan.api import cond_ops, state_ops
from capstan.core import devices, dtypes, tensor_shape
from capstan.framework import collections, convert, defaults, graph_state, operand
from capstan.framework import graph as graphs
from capstan.framework.raw import raw

_Keys = collections.GraphKeys


class Variable(operand.Operand):
    """State that outlives a step. An op that takes a variable gets its current value.

    `initial_value` is a value that converts to a tensor, or a function without arguments that
    returns one. The variable has the shape of its initial value, unless `validate_shape` is False.
    The variable is added to `collections` (default: the global variables), and to the trainable
    variables if `trainable` is true.

    Raises:
        ValueError: there is no initial value, or its shape is not fully defined.
        TypeError: the initial value cannot be converted to `dtype`.
    """

    __slots__ = ("_constraint", "_initial_value", "_initializer", "_ref_tensor", "_snapshot")

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool = True,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: "str | devices.DeviceSpec | Callable[..., Any] | None" = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        constraint: Callable[[Any], Any] | None = None,
    ) -> None:
        self._constraint = constraint
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._read_def(variable_def)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        keys = _collections(collections, trainable)
        graph = graphs.graph_of([initial_value])
        with (
            graph.as_default(),
            graph.control_dependencies(None),
            graph.name_scope(name or "Variable") as scope,
        ):
            self._build(graph, scope, initial_value, dtype, validate_shape)
            self._snapshot = self._read("read", caching_device)
        graph.add_to_collections(keys, self)

    def _build(
        self, graph: graphs.Graph, scope: str, value: Any, dtype: Any, validate_shape: bool
    ) -> None:
        if callable(value):
            with graph.colocate_with_name(scope[:-1]), graph.name_scope("Initializer"):
                initial = convert.convert_to_tensor(value(), dtype, "initial_value")
        else:
            initial = convert.convert_to_tensor(value, dtype, "initial_value")
        shape = initial.shape if validate_shape else tensor_shape.unknown_shape()
        if validate_shape and not shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {initial}")
        self._initial_value = initial
        self._ref_tensor: graphs.Tensor = raw.VariableV2(
            dtype=initial.dtype.base_dtype, shape=shape, name=scope
        )
        assigned = raw.Assign(self._ref_tensor, initial, validate_shape=validate_shape)
        self._initializer: graphs.Operation = assigned.op

    def _read_def(self, variable_def: Any) -> None:
        element = graphs.get_default_graph().as_graph_element
        self._ref_tensor = element(variable_def.variable_name)
        self._initializer = element(variable_def.initializer_name)
        self._snapshot = element(variable_def.snapshot_name)
        initial = variable_def.initial_value_name
        self._initial_value = element(initial) if initial else self._initializer.inputs[1]

    def _read(self, name: str, device: Any = None) -> graphs.Tensor:
        where = (
            self.graph.colocate_with(self._ref_tensor.op)
            if device is None
            else self.graph.device(device)
        )
        with where:
            value: graphs.Tensor = raw.Identity(self._ref_tensor, name=name)
        return value

    # --- properties of the variable

    @property
    def name(self) -> str:
        return self._ref_tensor.name

    @property
    def op(self) -> graphs.Operation:
        """The operation that represents the state."""
        return self._ref_tensor.op

    @property
    def graph(self) -> graph_state.GraphState:
        return self._ref_tensor.graph

    @property
    def device(self) -> str:
        return self._ref_tensor.device

    @property
    def dtype(self) -> dtypes.DType:
        """The reference dtype of the variable, such as float32_ref."""
        return self._ref_tensor.dtype

    @property
    def shape(self) -> tensor_shape.TensorShape:
        return self._ref_tensor.shape

    def get_shape(self) -> tensor_shape.TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Refine the static shape of the variable and of its reads."""
        self._ref_tensor.set_shape(shape)
        self._snapshot.set_shape(shape)

    @property
    def initializer(self) -> graphs.Operation:
        """The operation that assigns the initial value."""
        return self._initializer

    @property
    def initial_value(self) -> graphs.Tensor:
        return self._initial_value

    @property
    def constraint(self) -> Callable[[Any], Any] | None:
        """The function that an optimizer applies after each update, or None."""
        return self._constraint

    # --- value of the variable

    def value(self) -> graphs.Tensor:
        """Return the tensor of the variable's value. A step reads the variable at most once."""
        return self._snapshot

    def read_value(self) -> graphs.Tensor:
        """Return a new tensor that reads the variable after the current control dependencies."""
        with self.graph.as_default():
            return self._read("read")

    def initialized_value(self) -> graphs.Tensor:
        """Return the variable's value, or its initial value if it is not initialized yet.

        Use the returned tensor to initialize one variable from another.
        """
        with self.graph.as_default(), self.graph.control_dependencies(None):
            value: graphs.Tensor = cond_ops.cond(
                state_ops.is_variable_initialized(self),
                self.read_value,
                lambda: self._initial_value,
            )
        return value

    def eval(self, session: Any = None) -> Any:
        """Return the value in `session` or in the default session. Blocks."""
        return self._snapshot.eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Set the value in `session` or in the default session. Blocks. Adds no operations."""
        session = session or defaults.get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be "
                "established: use `with sess.as_default()` or `load(value, session=sess)`"
            )
        session.run(self._initializer, {self._initializer.inputs[1]: value})

    def assign(self, value: Any, use_locking: bool = False) -> graphs.Tensor:
        """Return a tensor of the new value. A step that computes it assigns `value` once."""
        assigned: graphs.Tensor = raw.Assign(self._ref_tensor, value, use_locking=use_locking)
        return assigned

    def assign_add(self, delta: Any, use_locking: bool = False) -> graphs.Tensor:
        """Return a tensor of the new value. A step that computes it adds `delta` once."""
        assigned: graphs.Tensor = raw.AssignAdd(self._ref_tensor, delta, use_locking=use_locking)
        return assigned

    def assign_sub(self, delta: Any, use_locking: bool = False) -> graphs.Tensor:
        """Return a tensor of the new value. A step that computes it subtracts `delta` once."""
        assigned: graphs.Tensor = raw.AssignSub(self._ref_tensor, delta, use_locking=use_locking)
        return assigned

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False) -> graphs.Tensor:
        """Return a tensor of the new value. A step that computes it subtracts the IndexedSlices."""
        changed: graphs.Tensor = raw.ScatterSub(
            self._ref_tensor, sparse_delta.indices, sparse_delta.values, use_locking=use_locking
        )
        return changed

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the VariableDef, or None if the variable is outside `export_scope`."""
        from tensorboard.compat.proto import variable_pb2

        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        return variable_pb2.VariableDef(
            variable_name=self.name,
            initial_value_name=self._initial_value.name,
            initializer_name=self._initializer.name,
            snapshot_name=self._snapshot.name,
        )

    @staticmethod
    def from_proto(variable_def: Any) -> "Variable":
        """Return the variable of the default graph that a VariableDef names."""
        return Variable(variable_def=variable_def)

    # --- the variable as an argument of ops

    def _ref(self) -> graphs.Tensor:
        """Return the reference tensor. Ops that change the variable take it as their input."""
        return self._ref_tensor

    def _as_tensor(
        self, dtype: dtypes.DType | None, name: str | None, as_ref: bool
    ) -> graphs.Tensor:
        if dtype is not None and not dtype.is_compatible_with(self.dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type '{dtype.name}' for variable of "
                f"type '{self.dtype.name}'"
            )
        return self._ref_tensor if as_ref else self._snapshot

    def _as_graph_element(self) -> graphs.Tensor:
        return self._ref_tensor

    def __repr__(self) -> str:
        return (
            f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.base_dtype.name}_ref>"
        )


def _collections(given: Sequence[str] | None, trainable: bool) -> list[str]:
    keys = [_Keys.GLOBAL_VARIABLES] if given is None else given
    if not isinstance(keys, list | tuple | set):
        raise ValueError(  # noqa: TRY004 - what TensorFlow raises
            "collections argument to Variable constructor must be a list, tuple, or set. Got "
            f"{keys!r} of type {type(keys).__name__}"
        )
    if trainable and _Keys.TRAINABLE_VARIABLES not in keys:
        return [*keys, _Keys.TRAINABLE_VARIABLES]
    return list(keys)
