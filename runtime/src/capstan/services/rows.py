"""Take several elements in one step, in place of steps that a queue runner repeats.

A queue runner repeats a step that takes an element from a file or a queue, computes with it and
adds the result to a queue. Most of the time of such a step is the overhead of a step. If the
computation treats each element separately, one step takes several elements, computes with all of
them (`framework.ops.stacked`), and adds the results to the queue.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from capstan.core import dtypes, shapes
from capstan.core import node as ir
from capstan.executor import fold
from capstan.framework import convert, facts, opdef, stacked_operations
from capstan.framework import graph as graphs
from capstan.framework.ops import rowwise, stacked
from capstan.graph import both_sides, infer, prune, simplify

_MOST = 64
"""The largest number of elements that a step takes. More elements save little time."""

_MOST_IN_TURN = 8
"""The same number if several operations add to the queue. A batch then has elements of each."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A step for up to `most` elements, or as many as the queue of the results wants.

    The nodes that act have the names of those in the original step, so that errors name these.
    """

    nodes: Mapping[str, ir.Node]
    most: int


def widen(nodes: Mapping[str, ir.Node], target: str, *, in_turn: bool = False) -> Rows | None:
    """Return the step that does the work of several steps of `target`.

    `nodes` are the nodes that `target` needs, in topological order. `in_turn`: other operations
    add to the same queue. Return None if a step has to handle one element.

    Raises:
        InvalidArgumentError: a node does not fit its op.
    """
    sources = {
        node.name: found
        for node in nodes.values()
        if (found := rowwise.element_shapes(node, nodes)) is not None
    }
    if len(sources) != 1:
        return None
    ((source, element_shapes),) = sources.items()
    room = rowwise.room(nodes[target], nodes[source], nodes)
    most = _MOST_IN_TURN if in_turn else _MOST
    count = most if room < 0 else min(most, room)
    if count < 2 or nodes[source].inputs[0] == nodes[target].inputs[0]:
        return None
    plain = _plain(nodes, source, element_shapes, target)
    try:
        wide = _Wide(plain, source, element_shapes, target)
        wide.build(count)
    except (stacked_operations.CannotStackError, ValueError):
        return None
    return Rows({**plain, **wide.nodes()}, count)


def _plain(
    nodes: Mapping[str, ir.Node],
    source: str,
    element_shapes: Sequence[shapes.Shape],
    target: str,
) -> Mapping[str, ir.Node]:
    """Return simpler nodes, in topological order, without conditionals and checks that hold.

    The nodes of both sides of a conditional are among them.
    """
    types = [dtype for dtype, _ in infer.arguments(nodes[source])[1]]
    elements = {
        ir.Edge(source, index): infer.Fed(dtype, shape)
        for index, (dtype, shape) in enumerate(zip(types, element_shapes, strict=True))
    }
    simple, keep = nodes, frozenset((source, target))
    # The first round gives each conditional one predicate, and the second folds constants in the
    # nodes of its former sides.
    for _ in range(2):
        simple, _ = simplify.simplify(simple, elements, keep, fold.evaluate)
        simple = both_sides.selected(simple, target) or simple
    held = {node.name for node in simple.values() if rowwise.holds(node, simple)}
    free = {
        name: replace(node, control=tuple(each for each in node.control if each not in held))
        for name, node in simple.items()
    }
    # `_Wide` refuses nodes that do more than compute, and no other node needs to be waited for.
    needed = prune.prune(free, (), (), (target,))
    return {name: replace(node, control=()) for name, node in needed.items()}


class _Wide:
    """Builds the step for several elements in a graph that has the nodes of the original step."""

    def __init__(
        self,
        nodes: Mapping[str, ir.Node],
        source: str,
        element_shapes: Sequence[shapes.Shape],
        target: str,
    ) -> None:
        """Copy the nodes except the target.

        Raises:
            InvalidArgumentError: a node does not fit its op.
            CannotStackError: a node does more than compute.
        """
        self._target = nodes[target]
        self._graph = graphs.Graph()
        self._made: dict[str, graphs.Operation] = {}
        for node in nodes.values():
            if node.name == target:
                continue
            infer.arguments(node)
            if node.name != source:
                _require_pure(node)
                self._made[node.name] = self._copy(node, f"{node.name}/")
                continue
            # Its name is that of the operation that takes several elements.
            self._made[source] = self._copy(node, f"{source}/_rows/element/")
            for tensor, shape in zip(self._made[source].outputs, element_shapes, strict=True):
                tensor.set_shape(shape)
        self._source_name = source
        self._source = self._made[source]
        self._originals = self._graph.get_operations()

    def _copy(self, node: ir.Node, name: str) -> graphs.Operation:
        with self._graph.device(node.device):
            return self._graph.create_op(
                node.op,
                [self._tensor(edge) for edge in node.inputs],
                name=name,
                attrs=infer.attributes(node),
            )

    def _tensor(self, edge: ir.Edge) -> graphs.Tensor:
        return self._made[edge.node].outputs[edge.index]

    def build(self, count: int) -> None:
        """Add the operations for up to `count` elements.

        Raises:
            CannotStackError: an operation cannot compute with stacked elements.
        """
        source, target = self._source, self._target
        with self._graph.as_default(), self._graph.device(source.device):
            with self._graph.name_scope(f"{self._source_name}/_rows/"):
                components = self._stacked(self._taken(count))
            self._graph.create_op(
                rowwise.enqueue_many(target.op),
                [self._tensor(target.inputs[0]), *components],
                name=f"{target.name}/",
                attrs=infer.attributes(target),
            )

    def _taken(self, count: int) -> list[graphs.Tensor]:
        """Add the operation that takes the elements."""
        source, sink = self._source, self._tensor(self._target.inputs[0])
        taken = self._graph.create_op(
            rowwise.take_several(source.type),
            [*source.inputs, sink, convert.constant(count, dtypes.int32)],
            name=f"{self._source_name}/",
            attrs=dict(source.node.attrs),
        )
        for tensor, element in zip(taken.outputs, source.outputs, strict=True):
            tensor.set_shape([None, *element.shape.as_list()])
        return list(taken.outputs)

    def _stacked(self, taken: list[graphs.Tensor]) -> list[Any]:
        """Add the operations of the computation, and return the components to enqueue."""
        pairs = zip(self._source.outputs, taken, strict=True)
        sources = {element: stacked.Operand(tensor, True) for element, tensor in pairs}
        loop = stacked_operations.StackedOperations(None, sources, redraws=True, retries=True)
        loop.count = loop.raw.Squeeze(
            stacked.from_axis(loop, loop.raw.Shape(taken[0]), 0, 1), squeeze_dims=[0]
        )
        for op in self._originals:
            if op is not self._source:
                loop.add(op)
        components = [loop.operand(self._tensor(edge)) for edge in self._target.inputs[1:]]
        if not any(component.is_stacked for component in components):
            raise stacked_operations.CannotStackError(self._target.name)
        return [stacked.on_top(loop, component) for component in components]

    def nodes(self) -> dict[str, ir.Node]:
        """Return the nodes that the steps have in addition to the originals."""
        return {node.name: node for node in self._graph.nodes(len(self._originals))}


def _require_pure(node: ir.Node) -> None:
    """Check that a node does nothing but compute, so that it may run once for several elements.

    A node with a seed must draw the numbers of each element in a step of its own.

    Raises:
        CannotStackError: it does more, or decides which other nodes run.
    """
    row = opdef.lookup(node.op)
    effect = row.effect
    acts = effect.changes or effect.blocks or effect.external or effect.calls
    acts = acts or row.role in facts.CONTROL_FLOW
    acts = acts or (effect.random and not rowwise.draws_anew(node))
    if acts or (effect.makes and row.role not in (facts.Role.HANDLE, facts.Role.VARIABLE)):
        raise stacked_operations.CannotStackError(node.name)
