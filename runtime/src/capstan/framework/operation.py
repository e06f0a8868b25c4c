"""The operations of a graph: `tf.Operation` (python/framework/ops.py).

`framework.graph` adds operations to a graph. The rest of the runtime sees an operation as a
`core.node.Node`, which `Operation.node` returns.
"""

import re
from collections.abc import Mapping, Sequence
from traceback import StackSummary
from typing import Any

from capstan.core import attr_value, devices, dtypes, graph_def, node, shapes
from capstan.core.arrays import Array
from capstan.framework import defaults, facts, graph_state, op_message, opdef, origins
from capstan.framework.tensor import Tensor

MAX_DEPTH = 64
"""The longest chain of operations that `constant_value` evaluates. Shape computations are far
shorter."""

_ENTERING = (facts.Role.ENTER, facts.Role.SWITCH)
"""The roles of ops through which a tensor enters a loop or a branch. Its value stays the same."""


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
    def _original_op(self) -> "Operation | None":
        """The operation to whose gradient this operation belongs, or None (TensorFlow's name).

        The name says it: `gradients/loss/Mul_grad/Sum` belongs to the gradient of `loss/Mul`.
        """
        _, _, path = f"/{self.name}".partition("/gradients")
        _, _, inner = path.partition("/")
        graph: Any = self.graph
        names = (inner[: match.start()] for match in re.finditer("_grad/", inner))
        return next((graph._operations[name] for name in names if name in graph._operations), None)

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

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self._name}' type={self._type}>"
