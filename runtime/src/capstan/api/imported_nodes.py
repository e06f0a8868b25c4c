"""The operations that `import_graph_def` adds for the nodes of a GraphDef.

Errors have the texts of TensorFlow's graph_constructor.cc. A node is added after the nodes that it
reads. Otherwise the order is that of the GraphDef. The edges that close loops are added last.
"""

import heapq
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from capstan.api import imported_types
from capstan.core import attr_value, dtypes, node, shapes, tensor_shape
from capstan.framework import facts, opdef
from capstan.framework import graph as graphs
from capstan.graph import infer

_SHAPES = "_output_shapes"


class Import:
    """One import: the nodes of the GraphDef, and the operations made of them so far."""

    def __init__(
        self,
        graph: graphs.Graph,
        scope: str,
        nodes: Sequence[node.Node],
        mapped: Mapping[node.Edge, Any],
    ) -> None:
        self._graph = graph
        self._scope = scope
        self._nodes = {each.name: each for each in nodes}
        if len(self._nodes) < len(nodes):
            repeated = next(each for each in nodes if self._nodes[each.name] is not each)
            raise ValueError(f"Node '{repeated.name}' is not unique")
        self._mapped = mapped
        self._used: set[node.Edge] = set()
        self._made: dict[str, graphs.Operation] = {}

    def run(self) -> None:
        """Add all nodes."""
        order = self._order()
        late = [(each, place) for each in order for place in self._closing_inputs(each)]
        for each in order:
            self._add(each)
        for each, place in late:
            closing = self._output(each, each.inputs[place])
            self._made[each.name]._update_input(place, closing)
        for each in order:
            self._colocate(self._made[each.name], each)

    def check_map(self) -> None:
        """Check that the map names only tensors of the GraphDef.

        Raises:
            ValueError: the map has other names, perhaps because of a typing error.
        """
        missing = [
            f"^{edge.node}" if edge.index < 0 else edge.tensor
            for edge in self._mapped
            if edge not in self._used and not self._has(edge)
        ]
        if missing:
            raise ValueError(
                f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]"
            )

    def operation(self, name: str) -> graphs.Operation:
        """Return the operation of a node."""
        if name not in self._made:
            raise ValueError(f"Requested return node '{name}' not found in graph def")
        return self._made[name]

    def tensor(self, edge: node.Edge) -> Any:
        """Return the tensor of an edge of the GraphDef, or its replacement."""
        if edge in self._mapped:
            return self._mapped[edge]
        if edge.node not in self._made:
            raise ValueError(f"Requested return tensor '{edge.tensor}' not found in graph def")
        outputs = self._made[edge.node].outputs
        if not 0 <= edge.index < len(outputs):
            raise ValueError(
                f"Invalid return output {edge.index} of node '{edge.node}', which has "
                f"{len(outputs)} output(s)"
            )
        return outputs[edge.index]

    def _has(self, edge: node.Edge) -> bool:
        made = self._made.get(edge.node)
        return made is not None and edge.index < len(made.outputs)

    def _order(self) -> list[node.Node]:
        """Return the nodes in the order in which they are added.

        A node comes after the nodes that it reads, and otherwise keeps its place in the GraphDef.

        Raises:
            ValueError: the nodes form a cycle that is not a loop.
        """
        position = {name: place for place, name in enumerate(self._nodes)}
        readers: dict[str, list[str]] = {}
        missing: dict[str, int] = {}
        for each in self._nodes.values():
            closing = self._closing_inputs(each)
            edges = [edge for place, edge in enumerate(each.inputs) if place not in closing]
            edges += [node.Edge(name, -1) for name in each.control]
            sources = {edge.node for edge in edges if edge not in self._mapped}
            missing[each.name] = len(sources)
            for source in sources:
                readers.setdefault(source, []).append(each.name)
        ready = [position[name] for name, count in missing.items() if not count]
        heapq.heapify(ready)
        in_order = list(self._nodes.values())
        order: list[node.Node] = []
        while ready:
            each = in_order[heapq.heappop(ready)]
            order.append(each)
            for reader in readers.get(each.name, ()):
                missing[reader] -= 1
                if not missing[reader]:
                    heapq.heappush(ready, position[reader])
        if len(order) < len(in_order):
            raise ValueError(f"{len(in_order) - len(order)} nodes in a cycle")
        return order

    def _closing_inputs(self, each: node.Node) -> list[int]:
        """Return the indices of the inputs that close a loop.

        Such an input leads from a NextIteration to a Merge.
        """
        if opdef.role(each.op) is not facts.Role.MERGE:
            return []
        return [
            place
            for place, edge in enumerate(each.inputs)
            if edge not in self._mapped
            and edge.node in self._nodes
            and opdef.role(self._nodes[edge.node].op) is facts.Role.NEXT_ITERATION
        ]

    def _add(self, each: node.Node) -> None:
        closing = self._closing_inputs(each)
        known = [
            None if place in closing else self._output(each, edge)
            for place, edge in enumerate(each.inputs)
        ]
        first = [tensor for tensor in known if tensor is not None][:1]
        inputs = [tensor for given in known for tensor in (first if given is None else [given])]
        control = [self._control(name) for name in each.control]
        is_placed = not _partners(each)
        with ExitStack() as blocks:
            if each.device and is_placed:
                blocks.enter_context(self._graph.device(each.device))
            if self._graph.control_flow_context is not None:
                # The conditional or loop decides which of the control inputs to keep.
                blocks.enter_context(self._graph.control_dependencies(control))
                control = []
            full_name = self._unique(each.name)
            attrs, outputs = self._described(each, full_name, inputs)
            given_shapes = attrs.pop(_SHAPES, None)
            op = self._graph.create_op(
                each.op,
                inputs,
                outputs,
                name=f"{full_name}/",
                attrs=attrs,
                compute_shapes=not closing,
                compute_device=is_placed,
            )
        self._made[each.name] = op
        if closing:
            op.outputs[1].set_shape(())
        op._add_control_inputs([source for source in control if source not in op.control_inputs])
        for index, shape in enumerate((given_shapes or ())[: len(op.outputs)]):
            _restrict(op, index, tensor_shape.as_shape(shape))

    def _output(self, reader: node.Node, edge: node.Edge) -> graphs.Tensor:
        """Return the tensor that `reader` gets for `edge`."""
        if edge in self._mapped:
            self._used.add(edge)
            replacement: graphs.Tensor = self._mapped[edge]
            return replacement
        outputs = self._made[edge.node].outputs
        if edge.index >= len(outputs):
            raise ValueError(
                f"Node '{reader.name}': Connecting to invalid output {edge.index} of source node "
                f"{edge.node} which has {len(outputs)} outputs."
            )
        return outputs[edge.index]

    def _control(self, name: str) -> graphs.Operation:
        edge = node.Edge(name, -1)
        if edge in self._mapped:
            self._used.add(edge)
            element = self._graph.as_graph_element(self._mapped[edge])
            source: graphs.Operation = getattr(element, "op", element)
            return source
        return self._made[name]

    def _unique(self, name: str) -> str:
        """Return the full name of a new operation, with a number if that name is in use."""
        with self._graph.name_scope(None):
            return self._graph.unique_name(self._scope + name, mark_as_used=False)

    def _described(
        self, each: node.Node, full_name: str, inputs: Sequence[graphs.Tensor]
    ) -> tuple[dict[str, Any], Any]:
        """Return the attributes of a node, with defaults, and the types of its outputs.

        The types are None unless the node calls a function.
        """
        callee = self._graph.named_function(each.op)
        if callee is not None:
            expected: Any = [(argument.dtype, argument.is_ref) for argument in callee.arguments]
            outputs: Any = callee.result_dtypes
            attrs = dict(each.attrs)
        else:
            attrs = infer.attributes(each)
            expected, outputs = imported_types.inputs_of(each, full_name), None
        imported_types.check_inputs(each, full_name, inputs, expected)
        return attrs, outputs

    def _colocate(self, op: graphs.Operation, each: node.Node) -> None:
        """Rename the groups in the attribute `_class`. Place `op` on the device of its group."""
        groups = each.attrs.get("_class")
        if not groups:
            return
        renamed = []
        for group in groups:
            kind, _, other = attr_value.text(group).partition("@")
            if kind != "loc:":
                renamed.append(group)
                continue
            if other not in self._nodes:
                raise ValueError(
                    f"Node '{each.name}' expects to be colocated with unknown node '{other}'"
                )
            made = self._made[other]
            renamed.append(f"loc:@{made.name}".encode())
            if made is not op and made.device and not op.device:
                op._set_device(made.device)
        op._set_attr("_class", renamed)


def _partners(each: node.Node) -> list[str]:
    """Return the colocation groups of a node that have the names of other nodes."""
    groups = map(attr_value.text, each.attrs.get("_class", ()))
    return [group for group in groups if group.startswith("loc:@") and group[5:] != each.name]


def _restrict(op: graphs.Operation, index: int, shape: tensor_shape.TensorShape) -> None:
    """Give output `index` of `op` the shape that the GraphDef gives."""
    if op.outputs[index].dtype is dtypes.resource:
        # A GraphDef says that a handle is a scalar. Capstan keeps the shape of the resource there.
        return
    try:
        merged = shapes.merge(op.outputs[index].static_shape, shape.internal)
    except ValueError as error:
        raise ValueError(
            f"Node '{op.name}' has an _output_shapes attribute inconsistent with the GraphDef for "
            f"output #{index}: {error}"
        ) from None
    op.outputs[index].set_shape(merged)
