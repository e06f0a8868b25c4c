"""The operations of a graph and the tensors between them: `tf.Operation`, `tf.Tensor`
(python/framework/ops.py).

`framework.graph` adds operations to a graph. The rest of the runtime sees an operation as a
`core.node.Node`, which `Operation.node` returns.
"""

from collections.abc import Callable, Mapping, Sequence
from traceback import StackSummary
from typing import Any, NoReturn

from capstan.core import attr_value, devices, dtypes, graph_def, node, shapes, tensor_shape
from capstan.core.arrays import Array
from capstan.framework import defaults, facts, graph_state, op_message, opdef, operand, origins

MAX_DEPTH = 64
"""The longest chain of operations that `constant_value` evaluates. Shape computations are far
shorter."""

_ENTERING = (facts.Role.ENTER, facts.Role.SWITCH)
"""The roles of ops through which a tensor enters a loop or a branch. Its value stays the same."""


class Tensor(operand.Operand):
    """Output `value_index` of an operation. Programs may add attributes of their own."""

    __slots__ = (
        *("__dict__", "__weakref__"),
        *("_consumers", "_dtype", "_edge", "_index", "_op", "_shape", "assign"),
    )

    assign: Callable[..., Any]
    """`assign(value, name=None)` changes the part of a variable that this tensor is. Only a slice
    of a variable has this attribute."""

    def __init__(
        self, op: "Operation", value_index: int, dtype: dtypes.DType, shape: shapes.Shape
    ) -> None:
        self._op = op
        self._index = value_index
        self._dtype = dtype
        self._shape = shape
        self._consumers: list[Operation] = []
        self._edge: node.Edge | None = None

    @property
    def op(self) -> "Operation":
        return self._op

    @property
    def value_index(self) -> int:
        return self._index

    @property
    def dtype(self) -> dtypes.DType:
        """The type of the elements. It is a reference type if the tensor stands for a variable."""
        return self._dtype

    @property
    def graph(self) -> graph_state.GraphState:
        return self._op.graph

    @property
    def name(self) -> str:
        return f"{self._op.name}:{self._index}"

    @property
    def edge(self) -> node.Edge:
        """The name of the tensor in the IR. All readers share it."""
        if self._edge is None:
            self._edge = node.Edge(self._op.name, self._index)
        return self._edge

    @property
    def device(self) -> str:
        return self._op.device

    @property
    def shape(self) -> tensor_shape.TensorShape:
        """The static shape: the part of the shape that is known before a step.

        The handle of a variable is a scalar.
        """
        is_handle = self._dtype is dtypes.resource
        return tensor_shape.unchecked(shapes.of_handles(self._shape) if is_handle else self._shape)

    def get_shape(self) -> tensor_shape.TensorShape:
        return self.shape

    @property
    def static_shape(self) -> shapes.Shape:
        """The static shape that shape rules see, as a plain value. See `core.shapes`.

        For the handle of a variable, this is the shape of the variable.
        """
        return self._shape

    @property
    def inferred_shape(self) -> tensor_shape.TensorShape:
        """The static shape that shape rules see."""
        return tensor_shape.unchecked(self._shape)

    def _shape_as_list(self) -> list[int | None] | None:
        known = self.shape.internal
        return None if known is None else list(known)

    def set_shape(self, shape: Any) -> None:
        """Merge `shape` into the static shape. Raise ValueError if the two shapes contradict."""
        merged = self.shape.merge_with(shape).internal
        if self._dtype is not dtypes.resource:
            self._shape = merged
        elif merged:
            self._shape = shapes.OfHandles(merged)

    def infer_shape(self, shape: tensor_shape.TensorShape) -> None:
        """Merge `shape`, the shape that shape rules see, into the static shape."""
        self._shape = self.inferred_shape.merge_with(shape).internal

    def consumers(self) -> "list[Operation]":
        """Return the operations that read this tensor, in the order of their creation."""
        return list(self._consumers)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value of the tensor in `session` or the default session. Blocks.

        Raises:
            ValueError: there is no session, or it is a session of another graph.
        """
        session = defaults.session_for(self.graph, session, "evaluate", "tensor", "eval")
        return session.run(self, feed_dict)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` "
            "instead of `if t:` to test if a tensor is defined, and use TensorFlow ops such as "
            "tf.cond to execute subgraphs conditioned on the value of a tensor."
        )

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array. Use operations of "
            "tf instead of functions of NumPy, or evaluate the tensor first"
        )

    def __str__(self) -> str:
        shape = "" if self._shape is None else f", shape={self.shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self._dtype.name}>"


class Operation:
    """A node of a graph. Only `Graph.create_op` creates operations.

    Programs may add attributes of their own.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_attrs",
        "_control_flow_context",
        "_control_inputs",
        "_device",
        "_graph",
        "_id",
        "_inputs",
        "_name",
        "_node",
        "_origin",
        "_outputs",
        "_type",
        "_values",
        "callees",
    )  # fmt: skip

    def __init__(
        self,
        graph: graph_state.GraphState,
        op_type: str,
        name: str,
        inputs: Sequence[Tensor],
        output_types: Sequence[dtypes.DType],
        output_shapes: Sequence[shapes.Shape] | None,
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
        self._control_flow_context: Any = None
        self._id = 0
        self._origin = origins.here()
        if output_shapes is None:
            output_shapes = [None] * len(output_types)
        self._outputs = tuple(
            Tensor(self, index, dtype, shape)
            for index, (dtype, shape) in enumerate(zip(output_types, output_shapes, strict=True))
        )
        self._node: node.Node | None = None
        self._values: Array | None = None
        self.callees: Any = None
        """The functions that the operation calls as graphs (`forward_call`), or None. They exist
        if a gradient has read tensors of their bodies."""

    @property
    def graph(self) -> graph_state.GraphState:
        return self._graph

    @property
    def name(self) -> str:
        return self._name

    @property
    def type(self) -> str:
        return self._type

    @property
    def traceback(self) -> StackSummary:
        """The calls of the program that created the operation, at most five, the innermost last.

        Each is a FrameSummary, which is also a tuple of file, line, function and text. Calls inside
        of Capstan are left out.
        """
        return origins.summary(self._origin)

    @property
    def traceback_with_start_lines(self) -> list[tuple[str, int, str, str, int]]:
        """The calls of `traceback`: file, line, function, text of the line, and the line at which
        the function starts.
        """
        return origins.calls(self._origin)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self._inputs

    @property
    def outputs(self) -> list[Tensor]:
        return list(self._outputs)

    @property
    def control_inputs(self) -> "list[Operation]":
        """The operations that must run before this one, without the producers of `inputs`."""
        return list(self._control_inputs)

    @property
    def device(self) -> str:
        """The requested device. A partial or empty name leaves the rest to the placer."""
        return self._device

    @property
    def control_flow_context(self) -> Any:
        """The conditional or loop that the operation belongs to (`control_context`), or None."""
        return self._control_flow_context

    @control_flow_context.setter
    def control_flow_context(self, context: Any) -> None:
        self._control_flow_context = context

    def _get_control_flow_context(self) -> Any:
        # Programs ask for it by this name of TensorFlow's, and set it by the next.
        return self._control_flow_context

    def _set_control_flow_context(self, context: Any) -> None:
        self._control_flow_context = context

    @property
    def creation_index(self) -> int:
        """The position of the operation in its graph, from 1."""
        return self._id

    @property
    def node(self) -> node.Node:
        """The operation in the IR."""
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
        """The operation as a NodeDef."""
        return graph_def.encode_node(self.node)

    @property
    def op_def(self) -> Any:
        """TensorFlow's message OpDef of the op, or None if Capstan does not know the op."""
        return None if self.row is None else op_message.encode(self.row)

    @property
    def row(self) -> opdef.OpDef | None:
        """The row of the op, or None if Capstan does not know the op."""
        return opdef.lookup(self._type) if opdef.is_defined(self._type) else None

    def values(self) -> tuple[Tensor, ...]:
        return self._outputs

    def get_attr(self, name: str) -> Any:
        """Return an attribute as a Python value. Raise ValueError if there is none."""
        if name not in self._attrs:
            raise ValueError(
                f"No attr named '{name}' in {self._name} (op: {self._type}), which has "
                f"{sorted(self._attrs)}"
            )
        return self._attrs[name]

    def colocation_groups(self) -> list[bytes]:
        """Return the colocation groups of the operation. The default is a group of its own."""
        groups = [name for name in self._attrs.get("_class", ()) if name.startswith(b"loc:@")]
        return groups or [b"loc:@" + self._name.encode()]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run the operation in `session` or the default session. Blocks.

        Raises:
            ValueError: there is no session, or it is a session of another graph.
        """
        session = defaults.session_for(self._graph, session, "execute", "operation", "run")
        session.run(self, feed_dict)

    def note_added(self, creation_index: int) -> None:
        """Register the operation as a consumer of its inputs. `Graph` calls this once."""
        self._id = creation_index
        for tensor in self._inputs:
            tensor._consumers.append(self)

    def constant_value(self, depth: int = MAX_DEPTH) -> Array | None:
        """Return the value of the only output if it is known before any step, or None.

        Each output of a Switch has the value of its input. The evaluation follows at most `depth`
        operations. Do not change the array.
        """
        if self._values is None and depth:
            row = self.row
            if row is not None and row.role in _ENTERING:
                self._values = self._inputs[0].op.constant_value(depth - 1)
            elif row is not None and row.value is not None:
                self._values = row.value(
                    facts.ValueContext(
                        self._attrs,
                        [tensor._shape for tensor in self._inputs],
                        lambda index: self._inputs[index].op.constant_value(depth - 1),
                    )
                )
        return self._values

    def _set_device(self, device: "str | devices.DeviceSpec | None") -> None:
        self._device = devices.canonical(device)
        self._node = None

    def _set_attr(self, name: str, value: Any) -> None:
        self._attrs = {**self._attrs, name: attr_value.plain(value)}
        self._node = None

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Make `tensor` the input `index`. It may depend on this operation, to close a loop."""
        old = self._inputs[index]
        self._inputs = (*self._inputs[:index], tensor, *self._inputs[index + 1 :])
        old._consumers.remove(self)
        tensor._consumers.append(self)
        self._node = None
        self._forget_value()

    def _forget_value(self) -> None:
        """Forget the known value, and the values of operations that were derived from it."""
        self._values = None
        readers = self._readers()
        while readers:
            op = readers.pop()
            if op._values is not None:
                op._values = None
                readers += op._readers()

    def _readers(self) -> "list[Operation]":
        return [reader for tensor in self._outputs for reader in tensor._consumers]

    def _add_inputs(self, tensors: Sequence[Tensor]) -> None:
        """Add inputs after the present ones, for functions that take more arguments now."""
        self._inputs = (*self._inputs, *tensors)
        for tensor in tensors:
            tensor._consumers.append(self)
        self._node = None

    def _add_output(self, dtype: dtypes.DType, shape: shapes.Shape) -> Tensor:
        """Add an output after the present ones, for functions that return more results now."""
        added = Tensor(self, len(self._outputs), dtype, shape)
        self._outputs = (*self._outputs, added)
        return added

    def _set_type(self, op_type: str) -> None:
        self._type = op_type
        self._node = None

    def _add_control_inputs(self, ops: "Sequence[Operation]") -> None:
        self._control_inputs = tuple(dict.fromkeys((*self._control_inputs, *ops)))
        self._node = None

    def _remove_all_control_inputs(self) -> None:
        self._control_inputs = ()
        self._node = None

    def __repr__(self) -> str:
        return f"<tf.Operation '{self._name}' type={self._type}>"
