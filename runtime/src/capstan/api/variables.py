"""`tf.Variable`: the part that both kinds of variables share (python/ops/variables.py).

A *reference variable* (`ref_variables`) is TensorFlow 1's own kind. An op that takes it reads the
value at any time in the step. A *resource variable* (`resource_variables`) has operations that read
it, so control dependencies decide which value an op sees.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn

from capstan.api import (
    cond_ops,
    open_scopes,
    partitions,
    variable_arguments,
    variable_creation,
    variable_defs,
    variable_replicas,
)
from capstan.core import devices, dtypes, tensor_shape
from capstan.framework import body_graph, defaults, graph_state, operand
from capstan.framework import graph as graphs

_KIND = "tf.Variable makes a reference variable or a resource variable, which define this"


class Variable(operand.Operand, metaclass=variable_creation.CreatedType):
    """State that outlives a step. An op that takes a variable gets its current value.

    `initial_value` is a value that converts to a tensor, or a function without arguments that
    returns one. The variable has the shape of its initial value, unless `validate_shape` is False
    or `shape` gives another one. A variable whose `shape` is partly unknown may get values of
    different shapes.
    The variable is added to `collections` (default: the global variables), and to the trainable
    variables if `trainable` is true. `use_resource` makes a resource variable if it is true, and a
    reference variable if it is False. If it is None, the variable scope decides. If the scope does
    not say, `tf.enable_resource_variables` decides.

    Raises:
        ValueError: there is no initial value, or the shape of a reference variable is not fully
            defined.
        TypeError: the initial value cannot be converted to `dtype`.
    """

    __slots__ = (
        *("__dict__", "__weakref__"),
        *("_aggregation", "_constraint", "_initial_value", "_initializer", "_save_slice_info"),
        *("_synchronization", "_trainable"),
    )

    SaveSliceInfo = partitions.SaveSliceInfo

    _kinds: ClassVar[dict[bool, type["Variable"]]] = {}

    _constraint: Callable[[Any], Any] | None
    _initial_value: graphs.Tensor | None
    _initializer: graphs.Operation
    _save_slice_info: partitions.SaveSliceInfo | None
    _trainable: bool

    def __init_subclass__(cls, *, is_resource: bool | None = None) -> None:
        # `Variable` makes objects of its subclasses, which it cannot import.
        super().__init_subclass__()
        if is_resource is not None:
            Variable._kinds[is_resource] = cls

    def __new__(cls, *args: Any, use_resource: bool | None = None, **kwargs: Any) -> "Variable":
        if cls is not Variable:
            return super().__new__(cls)
        if use_resource is None:
            use_resource = open_scopes.uses_resources(graphs.get_default_graph())
        if use_resource is None:
            use_resource = defaults.BEHAVIOUR.resource_variables
        return super().__new__(Variable._kinds[bool(use_resource)])

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: "str | devices.DeviceSpec | Callable[..., Any] | None" = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ) -> None:
        self._synchronization, self._aggregation, self._trainable = variable_replicas.checked(
            synchronization, aggregation, trainable, name
        )
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._constraint = None
            self._trainable = variable_def.trainable
            self._save_slice_info = variable_defs.slice_of(variable_def, import_scope)
            self._read_def(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self._constraint = constraint
        self._save_slice_info = None
        keys = variable_arguments.collection_keys(collections, self._trainable)
        graph = graphs.graph_of([initial_value])
        around, outer_scope = body_graph.around(graph)
        if around is not graph and getattr(initial_value, "graph", None) is graph:
            raise variable_arguments.inside_control_flow(name or "Variable")
        graph = around
        with (
            graph.as_default(),
            outer_scope,
            graph.control_dependencies(None),
            graph.name_scope(name or "Variable") as scope,
        ):
            known = None if shape is None else tensor_shape.as_shape(shape)
            self._build(graph, scope, initial_value, dtype, known, validate_shape, caching_device)
        graph.add_to_collections(keys, self)

    # --- what a kind of variable defines

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
        """Add the operations of a new variable. `scope` is its name with a final slash.

        `shape` is its static shape, if that is not the shape of the initial value.
        """
        raise NotImplementedError(_KIND)

    def _read_def(self, variable_def: Any, import_scope: str | None) -> None:
        """Find the operations that a VariableDef names."""
        raise NotImplementedError(_KIND)

    def _state(self) -> graphs.Tensor:
        """Return the tensor that represents the state: a reference or a handle."""
        raise NotImplementedError(_KIND)

    def _ref(self) -> graphs.Tensor:
        """Return the reference tensor. Ops that change a reference variable take it."""
        raise NotImplementedError(f"{self.name} is a resource variable, which has no reference")

    def _snapshot_name(self) -> str:
        """Return the name of the tensor that reads the value."""
        raise NotImplementedError(_KIND)

    @property
    def dtype(self) -> dtypes.DType:
        """The type of the value, or of the reference to it."""
        raise NotImplementedError(_KIND)

    @property
    def shape(self) -> tensor_shape.TensorShape:
        """The static shape of the value."""
        raise NotImplementedError(_KIND)

    def value(self) -> graphs.Tensor:
        """Return a tensor of the variable's value."""
        raise NotImplementedError(_KIND)

    def read_value(self) -> graphs.Tensor:
        """Return a new tensor that reads the variable after the current control dependencies."""
        raise NotImplementedError(_KIND)

    def assign(self, *args: Any, **kwargs: Any) -> Any:
        """Set the variable to a value, which is converted to the dtype of the variable.

        Return a tensor of the variable after the change, or an object that converts to it.

        Raises:
            ValueError: the static shape of the value is not that of the variable.
        """
        raise NotImplementedError(_KIND)

    def _is_initialized(self) -> graphs.Tensor:
        """Return a bool scalar that says if the variable has a value."""
        raise NotImplementedError(_KIND)

    # --- properties of the variable

    @property
    def name(self) -> str:
        return self._state().name

    @property
    def _shared_name(self) -> str:
        """The name without the number of the output. Optimizers of programs read it."""
        return self.op.name

    @property
    def op(self) -> graphs.Operation:
        """The operation that represents the state."""
        return self._state().op

    @property
    def graph(self) -> graph_state.GraphState:
        return self._state().graph

    @property
    def device(self) -> str:
        return self._state().device

    @property
    def trainable(self) -> bool:
        return self._trainable

    def get_shape(self) -> tensor_shape.TensorShape:
        return self.shape

    @property
    def initializer(self) -> graphs.Operation:
        """The operation that assigns the initial value."""
        return self._initializer

    @property
    def initial_value(self) -> graphs.Tensor | None:
        """The tensor of the initial value. It may be None if a VariableDef does not name it."""
        return self._initial_value

    @property
    def constraint(self) -> Callable[[Any], Any] | None:
        """The function that an optimizer applies after each update, or None."""
        return self._constraint

    synchronization = property(lambda self: self._synchronization)
    aggregation = property(lambda self: self._aggregation)

    def _start_from(self, value: graphs.Tensor) -> None:
        """Let the initializer assign `value`, which takes the place of the initial value."""
        self._initializer = self.assign(value).op
        self._initial_value = value

    def _get_save_slice_info(self) -> partitions.SaveSliceInfo | None:
        """Return the place of this variable in a partitioned variable, or None."""
        return self._save_slice_info

    def _set_save_slice_info(self, save_slice_info: partitions.SaveSliceInfo | None) -> None:
        """Let savers save this variable as a slice."""
        self._save_slice_info = save_slice_info

    # --- value of the variable

    def initialized_value(self) -> graphs.Tensor:
        """Return the variable's value, or its initial value if it is not initialized yet.

        Use the returned tensor to initialize one variable from another.
        """
        graph = self._state().graph
        with graph.as_default(), graph.control_dependencies(None):
            value: graphs.Tensor = cond_ops.cond(
                self._is_initialized(), self.read_value, lambda: self._initializer.inputs[1]
            )
        return value

    def eval(self, session: Any = None) -> Any:
        """Return the value in `session` or in the default session. Blocks."""
        return self._as_graph_element().eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Set the value in `session` or in the default session. Blocks. Adds no operations."""
        session = session or defaults.get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be "
                "established: use `with sess.as_default()` or `load(value, session=sess)`"
            )
        session.run(self._initializer, {self._initializer.inputs[1]: value})

    # --- the variable as a message

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return the VariableDef, or None if the variable is outside `export_scope`.

        The names in the VariableDef do not contain `export_scope`.
        """
        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        initial = self._initial_value
        message = variable_defs.make(
            self.name,
            self._initializer.name,
            self._snapshot_name(),
            None if initial is None else initial.name,
            self._save_slice_info,
            export_scope,
        )
        message.trainable = self._trainable
        return message

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> "Variable":
        """Return the variable of the default graph that a VariableDef names.

        `import_scope` stands before the names in the VariableDef.
        """
        kind = Variable._kinds[variable_def.is_resource]
        return kind(variable_def=variable_def, import_scope=import_scope)

    # --- the variable as an argument of ops

    def _as_tensor(
        self, dtype: dtypes.DType | None, name: str | None, as_ref: bool
    ) -> graphs.Tensor:
        if dtype is not None and not dtype.is_compatible_with(self.dtype):
            raise ValueError(
                f"Incompatible type conversion requested to type '{dtype.name}' for variable of "
                f"type '{self.dtype.name}'"
            )
        return self._state() if as_ref else self.value()

    def _as_graph_element(self) -> graphs.Tensor:
        raise NotImplementedError(_KIND)

    def __iter__(self) -> NoReturn:
        raise TypeError(
            "'Variable' object is not iterable. Use tf.unstack if the size of axis 0 is known, and "
            "otherwise tf.map_fn"
        )

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"
