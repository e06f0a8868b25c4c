"""Replace sums of products of matrices by the product of stacked matrices.

Weights that a model uses several times, as a cell of a recurrent network in each of its steps, have
such a sum as their gradient: `AddN` adds the products of the inputs of each use, transposed, with
the gradients of its outputs. The product of the stacked inputs with the stacked gradients is the
same sum. It writes the result once, and BLAS libraries multiply deep matrices faster.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from capstan.core import node as ir
from capstan.executor import fusion, state
from capstan.framework.ops import product_sums as rows
from capstan.graph import schedule
from capstan.partition import parts
from capstan.resources import containers

_DEPTH = 64
"""The number of rows that inputs of an unknown number may have. A guess."""


def fuse(part: parts.Part, resources: containers.SessionResources) -> parts.Part:
    """Return `part` with its sums replaced, if CPUs compute them."""
    found = _Products(part, resources)
    groups = list(found.groups())
    if not groups:
        return part
    made = {group[-1].name: rows.node(group, found.control(group)) for group in groups}
    gone = frozenset(node.name for group in groups for node in group[:-1])
    nodes = (made.get(node.name, node) for node in part.nodes if node.name not in gone)
    return replace(
        part,
        nodes=tuple(rows.without(node, gone) if rows.is_sum(node) else node for node in nodes),
    )


class _Products:
    """The products of a part that only one sum reads."""

    def __init__(self, part: parts.Part, resources: containers.SessionResources) -> None:
        self._part = part
        self._resources = resources
        self._products = {
            node.name: node for node in part.nodes if rows.is_product(node) and self._pays(node)
        }

    def groups(self) -> Iterable[Sequence[ir.Node]]:
        """Yield the products of each sum that one node may compute, in the order of the part."""
        if len(self._products) < 2:
            return
        self._learn()
        for node in self._part.nodes:
            if not rows.is_sum(node):
                continue
            found: dict[Hashable, list[ir.Node]] = defaultdict(list)
            for edge in node.inputs:
                product = self._products.get(edge.node)
                if product is not None and self._readers[edge.node] == {node.name}:
                    found[self._key(product)].append(product)
            for group in found.values():
                names = {product.name for product in group}
                if 1 < len(group) == len(names):
                    yield sorted(group, key=lambda each: self._places[each.name])

    def control(self, group: Sequence[ir.Node]) -> list[str]:
        """Return the control inputs of some products."""
        return list(dict.fromkeys(name for node in group for name in node.control))

    def _learn(self) -> None:
        part = self._part
        self._readers = fusion.readers_of(part.nodes, part.fetches)
        for message in part.outgoing:
            edges = (*message.edges, *message.conditional)
            for name in (*(edge.node for edge in edges), *message.controls):
                self._readers[name].add("")
        self._places = {node.name: place for place, node in enumerate(part.nodes)}
        self._changes = schedule.Changes()
        for node in part.nodes:
            self._changes.learn(node)

    def _key(self, node: ir.Node) -> Hashable:
        edge = ir.Edge(node.name)
        return (
            node.attrs["T"],
            node.device,
            tuple(self._part.tensor_shapes[edge] or ()),
            state.segment_key(self._part, node.name),
            self._changes.of(node.name),
        )

    def _pays(self, node: ir.Node) -> bool:
        """Return whether a CPU computes a product, and it is larger than copies of its inputs.

        The inputs of all products stay in memory until the last of them is there.
        """
        edge = ir.Edge(node.name)
        shapes = self._part.tensor_shapes
        rows, columns = shapes.get(edge) or (None, None)
        if rows is None or columns is None or edge in self._part.feeds:
            return False
        depth = (shapes.get(node.inputs[0]) or (None,))[0]
        copied = (_DEPTH if depth is None else depth) * (rows + columns)
        return copied <= rows * columns and self._resources.devices.of(node.device).is_host
