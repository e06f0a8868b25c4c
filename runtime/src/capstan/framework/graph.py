"""The graph that a client builds: `tf.Graph`, `tf.Operation`, `tf.Tensor`
(python/framework/ops.py).

Operations are added, never removed; what is known of a tensor only grows. Any number of threads may
build one graph: each has its own scopes, and adding an operation is atomic. The rest of the runtime
sees a graph as `core.node.Node` values, which `Graph.nodes` gives.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

from capstan.core import devices, dtypes, graph_def, node, shapes
from capstan.core.arrays import Array
from capstan.framework import (
    defaults,
    elements,
    graph_state,
    inference,
    names,
    opdef,
    operand,
    scopes,
    static_values,
)

MAX_DEPTH = 64
"""How many operations a value is followed back through; shapes are computed by far fewer."""


class Tensor(operand.Operand):
    """Output `value_index` of an operation."""

    __slots__ = ("_consumers", "_dtype", "_index", "_op", "_shape")

    def __init__(self, op: "Operation", value_index: int, dtype: dtypes.DType) -> None:
        self._op = op
        self._index = value_index
        self._dtype = dtype
        self._shape: shapes.Shape = None
        self._consumers: list[Operation] = []

    @property
    def op(self) -> "Operation":
        return self._op

    @property
    def value_index(self) -> int:
        return self._index

    @property
    def dtype(self) -> dtypes.DType:
        """The type of the elements; a reference type when the tensor stands for a variable."""
        return self._dtype

    @property
    def graph(self) -> "Graph":
        return self._op.graph

    @property
    def name(self) -> str:
        return f"{self._op.name}:{self._index}"

    @property
    def edge(self) -> node.Edge:
        """The tensor as the IR names it."""
        return node.Edge(self._op.name, self._index)

    @property
    def device(self) -> str:
        return self._op.device

    @property
    def shape(self) -> shapes.TensorShape:
        """What is known of the shape before a step."""
        return shapes.TensorShape(self._shape)

    def get_shape(self) -> shapes.TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Add what the caller knows; a ValueError when it contradicts what is known."""
        self._shape = self.shape.merge_with(shape).internal

    def consumers(self) -> "list[Operation]":
        """Return the operations that read this tensor, in the order of their creation."""
        return list(self._consumers)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Evaluate the tensor in `session` or the default session; blocks.

        Raises:
            ValueError: there is no session, or it is one of another graph.
        """
        session = defaults.session_for(self.graph, session, "evaluate", "tensor", "eval")
        return session.run(self, feed_dict)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` "
            "instead of `if t:` to test if a tensor is defined, and use TensorFlow ops such as "
            "tf.cond to execute subgraphs conditioned on the value of a tensor."
        )

    def __str__(self) -> str:
        shape = "" if self._shape is None else f", shape={self.shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self._dtype.name}>"


class Operation:
    """A node of a graph. Made by `Graph.create_op` alone."""

    __slots__ = (
        "__weakref__",
        "_attrs",
        "_branch",
        "_control_inputs",
        "_device",
        "_graph",
        "_id",
        "_inputs",
        "_name",
        "_node",
        "_outputs",
        "_type",
        "_values",
    )  # fmt: skip

    def __init__(
        self,
        graph: "Graph",
        op_type: str,
        name: str,
        inputs: Sequence[Tensor],
        output_types: Sequence[dtypes.DType],
        attrs: Mapping[str, Any],
        control_inputs: "Sequence[Operation]",
    ) -> None:
        self._graph = graph
        self._type = op_type
        self._name = name
        self._inputs = tuple(inputs)
        self._attrs: Mapping[str, Any] = attrs
        self._control_inputs = tuple(control_inputs)
        self._device = ""
        self._branch: scopes.Branch | None = None
        self._id = 0
        self._outputs = tuple(Tensor(self, i, dtype) for i, dtype in enumerate(output_types))
        self._node: node.Node | None = None
        self._values: Array | None = None

    @property
    def graph(self) -> "Graph":
        return self._graph

    @property
    def name(self) -> str:
        return self._name

    @property
    def type(self) -> str:
        return self._type

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self._inputs

    @property
    def outputs(self) -> list[Tensor]:
        return list(self._outputs)

    @property
    def control_inputs(self) -> "list[Operation]":
        """The operations that must have run before, beyond those that the inputs come from."""
        return list(self._control_inputs)

    @property
    def device(self) -> str:
        """The device asked for, possibly in part; empty when the placer is free."""
        return self._device

    @property
    def branch(self) -> scopes.Branch | None:
        """The side of a conditional that the operation belongs to, or None."""
        return self._branch

    @branch.setter
    def branch(self, branch: scopes.Branch) -> None:
        self._branch = branch

    @property
    def creation_index(self) -> int:
        """1 for the first operation of the graph, and so on."""
        return self._id

    @property
    def node(self) -> node.Node:
        """The operation as the rest of the runtime sees it."""
        if self._node is None:
            self._node = node.Node(
                self._name,
                self._type,
                tuple(tensor.edge for tensor in self._inputs),
                tuple(op.name for op in self._control_inputs),
                self._device,
                self._attrs,
            )
        return self._node

    @property
    def node_def(self) -> Any:
        """The NodeDef."""
        return graph_def.encode_node(self.node)

    @property
    def op_def(self) -> opdef.OpDef | None:
        """The row of the op, or None when this installation does not know it."""
        return opdef.lookup(self._type) if opdef.is_defined(self._type) else None

    def values(self) -> tuple[Tensor, ...]:
        return self._outputs

    def get_attr(self, name: str) -> Any:
        """Return an attribute as a Python value; a ValueError when the operation has none such."""
        if name not in self._attrs:
            raise ValueError(
                f"No attr named '{name}' in {self._name} (op: {self._type}), which has "
                f"{sorted(self._attrs)}"
            )
        return self._attrs[name]

    def colocation_groups(self) -> list[bytes]:
        """Return the groups whose members share a device; by default one of its own."""
        groups = [name for name in self._attrs.get("_class", ()) if name.startswith(b"loc:@")]
        return groups or [b"loc:@" + self._name.encode()]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run the operation in `session` or the default session; blocks.

        Raises:
            ValueError: there is no session, or it is one of another graph.
        """
        session = defaults.session_for(self._graph, session, "execute", "operation", "run")
        session.run(self, feed_dict)

    def constant_value(self, depth: int = MAX_DEPTH) -> Array | None:
        """Return the value of the one output if it is known before any step. Do not write to it."""
        if self._values is None and depth:
            self._values = static_values.evaluate(
                self._type,
                self._attrs,
                [tensor._shape for tensor in self._inputs],
                lambda index: self._inputs[index].op.constant_value(depth - 1),
            )
        return self._values

    def _set_device(self, device: "str | devices.DeviceSpec | None") -> None:
        self._device = devices.canonical(device)
        self._node = None

    def _set_attr(self, name: str, value: Any) -> None:
        self._attrs = {**self._attrs, name: value}
        self._node = None

    def _add_control_inputs(self, ops: "Sequence[Operation]") -> None:
        self._control_inputs = tuple(dict.fromkeys((*self._control_inputs, *ops)))
        self._node = None

    def __repr__(self) -> str:
        return f"<tf.Operation '{self._name}' type={self._type}>"


class Graph(graph_state.GraphState):
    """Operations by name, the tensors between them, and named collections. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._operations: dict[str, Operation] = {}
        self._in_order: list[Operation] = []

    # --- operations

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Any = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Add an operation. `framework.raw` is the comfortable way to do it.

        `attrs` holds Python values and is complete. `dtypes` are those of the outputs; without them
        the op's row tells. `name` is made unique, unless it ends with a slash. `input_types` and
        `op_def` are accepted for TensorFlow's sake.

        Raises:
            RuntimeError: the graph is finalized.
            ValueError: a bad name, an input of another graph, or shapes that do not fit the op.
            NotFoundError: `dtypes` is not given and no row knows the op.
        """
        attrs = dict(attrs or {})
        for tensor in inputs:
            if tensor.graph is not self:
                raise ValueError(
                    f"{tensor!r} is not an element of the graph that {op_type} is added to"
                )
        row = opdef.lookup(op_type) if dtypes is None or opdef.is_defined(op_type) else None
        if self._scopes.container and row is not None and row.stateful and "container" in attrs:
            attrs["container"] = attrs["container"] or self._scopes.container.encode()
        unique = self._take_name(name or op_type)
        control = self._scopes.control_inputs(tensor.op for tensor in inputs)
        branch = self._scopes.branch
        if branch is not None:
            control = control if inputs else branch.wait(control)
            inputs = [branch.admit(tensor) for tensor in inputs]
        known = None
        if row is not None and compute_shapes:
            known = inference.output_shapes(
                row,
                unique,
                attrs,
                [tensor._shape for tensor in inputs],
                lambda index: inputs[index].op.constant_value(),
            )
        op = Operation(
            self,
            op_type,
            unique,
            inputs,
            _output_types(row, attrs) if dtypes is None else _as_dtypes(dtypes),
            attrs,
            control,
        )
        for tensor, shape in zip(op._outputs, known or (), strict=known is not None):
            tensor._shape = shape
        self._place(op, compute_device)
        self._add(op)
        if branch is not None:
            op.branch = branch
            branch.note(op)
        return op

    def _place(self, op: Operation, compute_device: bool) -> None:
        if compute_device:
            self._scopes.device_of(op)
        if not self._scopes.colocated:
            return
        groups = set(op._attrs.get("_class", ()))
        for other in self._scopes.colocated:
            if isinstance(other, bytes):
                groups.add(other)
                continue
            groups.update(other.colocation_groups())
            if other.device and not op.device:
                op._set_device(other.device)
        op._set_attr("_class", sorted(groups))

    def _add(self, op: Operation) -> None:
        with self._lock:
            self._check_not_finalized()
            if op.name in self._operations:
                raise ValueError(f"Duplicate node name in graph: '{op.name}'")
            self._operations[op.name] = op
            self._in_order.append(op)
            op._id = len(self._in_order)
            for tensor in op.inputs:
                tensor._consumers.append(op)
        self._scopes.note(op)

    def _take_name(self, name: str) -> str:
        if name.endswith("/"):
            name = name[:-1]
            names.check_op_name(name)
            with self._lock:
                self._names.take(name)
            return name
        names.check_op_name(name)
        return self.unique_name(name)

    def get_operations(self) -> list[Operation]:
        """Return all operations in the order of their creation."""
        with self._lock:
            return list(self._in_order)

    def nodes(self, since: int = 0) -> list[node.Node]:
        """Return the IR of the operations added after version `since`, in order."""
        with self._lock:
            return [op.node for op in self._in_order[since:]]

    def get_operation_by_name(self, name: str) -> Operation:
        """Return an operation.

        Raises:
            TypeError: `name` is no string.
            KeyError: there is no such operation.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        found: Operation = self.as_graph_element(name, allow_tensor=False)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return a tensor, whose name is `op:index`.

        Raises:
            TypeError: `name` is no string.
            KeyError: there is no such tensor.
            ValueError: the name is not a tensor's.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        found: Tensor = self.as_graph_element(name, allow_operation=False)
        return found

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """Return the Tensor or Operation that `obj` is, names or stands for (as a Variable does).

        Raises:
            TypeError: `obj` is nothing of the kind.
            KeyError: there is no such element.
            ValueError: it belongs to another graph, or is of a kind that is not allowed.
        """
        kinds = elements.wanted(allow_tensor, allow_operation)
        obj = obj._as_graph_element() if hasattr(obj, "_as_graph_element") else obj
        if isinstance(obj, str | bytes):
            name = obj if isinstance(obj, str) else obj.decode()
            with self._lock:
                return elements.by_name(
                    self._operations,
                    name,
                    allow_tensor=allow_tensor,
                    allow_operation=allow_operation,
                )
        if (isinstance(obj, Tensor) and allow_tensor) or (
            isinstance(obj, Operation) and allow_operation
        ):
            if obj.graph is not self:
                raise ValueError(f"{type(obj).__name__} {obj} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """Return the GraphDef of all operations, or of those added after `from_version`."""
        with self._lock:
            ops = self._in_order[from_version or 0 :]
        if not add_shapes:
            return graph_def.encode(op.node for op in ops)
        return graph_def.encode(
            node.Node(
                op.name,
                op.type,
                op.node.inputs,
                op.node.control,
                op.device,
                {**op.node.attrs, "_output_shapes": [tensor.shape for tensor in op.outputs]},
            )
            for op in ops
        )

    @property
    def version(self) -> int:
        """A number that grows with every operation: how many there are."""
        return len(self._in_order)

    def as_default(self) -> "AbstractContextManager[Graph]":
        """Make this the graph that new operations of the current thread are added to."""
        return defaults.GRAPHS.entered(self, "Graph")


def _output_types(row: opdef.OpDef | None, attrs: Mapping[str, Any]) -> list[dtypes.DType]:
    if row is None:
        return []
    return [
        dtype.ref_dtype if is_ref else dtype
        for dtype, is_ref in opdef.expand(row.output_arguments, attrs)
    ]


def _as_dtypes(given: Sequence[Any]) -> list[dtypes.DType]:
    return [dtypes.as_dtype(item) for item in given]


def get_default_graph() -> Graph:
    """Return the graph that new operations of this thread are added to."""
    top: Graph | None = defaults.GRAPHS.top
    if top is None:
        top = defaults.GRAPHS.outermost
    if top is None:
        top = defaults.GRAPHS.outermost = Graph()
    return top


def reset_default_graph() -> None:
    """Give this thread a new, empty default graph.

    Raises:
        AssertionError: called inside `with graph.as_default():`.
    """
    if defaults.GRAPHS.top is not None:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared "
            "graph, exit the nesting and create a new graph."
        )
    defaults.GRAPHS.outermost = Graph()


def graph_of(values: Iterable[Any]) -> Graph:
    """Return the graph that the tensors and operations among `values` belong to, else the default.

    Raises:
        ValueError: they belong to different graphs.
    """
    first: Any = None
    for value in values:
        items = value if isinstance(value, list | tuple) else (value,)
        for item in items:
            owner = getattr(item, "graph", None)
            if not isinstance(owner, Graph):
                continue
            if first is None:
                first = item
            elif owner is not first.graph:
                raise ValueError(f"{item} must be from the same graph as {first}.")
    return get_default_graph() if first is None else first.graph
