"""Write the source of a part: one function per segment, straight-line, over local variables.

A node is one line. There is no dictionary, queue or lock per node, and no decision: which kernel,
which buffer and which copy were settled when the line was written. The line number of a traceback
tells the node, so an error costs nothing until it happens.

The module that is written looks like this:

    def build(k, b):
        k0, k1 = k                        # kernels and constants
        b0, = b                           # buffers of one execution context
        f0 = t1 = None                    # what one function leaves for another
        def feed(values): ...
        def segment0():
            nonlocal t1
            t0 = k0(f0, b0)               # dense/MatMul
            t1 = k1(t0)                   # dense/Relu
            return ()
        def fetch(): return (t1,)
        return feed, {}, (segment0,), fetch
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from capstan.core import dtypes, node, shapes
from capstan.executor import bind, state
from capstan.graph import infer, schedule
from capstan.partition import parts
from capstan.resources import containers


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array that each context allocates for itself."""

    shape: tuple[int, ...]
    dtype: dtypes.DType


@dataclass(frozen=True, slots=True)
class Code:
    """What was written, and what must be bound to run it. `lines` maps line numbers to nodes."""

    source: str
    bound: tuple[Any, ...]
    buffers: tuple[Buffer, ...]
    lines: Mapping[int, str]


@dataclass(slots=True)
class _Writer:
    """The text in the making."""

    lines: list[str] = field(default_factory=list)
    nodes: dict[int, str] = field(default_factory=dict)
    bound: list[Any] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)

    def line(self, text: str, name: str | None = None) -> None:
        self.lines.append(text)
        if name is not None:
            self.nodes[len(self.lines)] = name

    def bind(self, value: object) -> str:
        self.bound.append(value)
        return f"k{len(self.bound) - 1}"

    def buffer(self, shape: shapes.Shape, dtype: dtypes.DType | None) -> str:
        """Name a planned buffer; `None` in the source when nothing can be planned."""
        if dtype is None or not plannable(shape, dtype):
            return "None"
        self.buffers.append(Buffer(tuple(size or 0 for size in shape or ()), dtype))
        return f"b{len(self.buffers) - 1}"


def plannable(shape: shapes.Shape, dtype: dtypes.DType | None) -> bool:
    """Say whether an array of that shape and dtype can be allocated before the step."""
    return infer.is_static(shape) and dtype not in (None, dtypes.string, dtypes.resource)


def write(part: parts.Part, resources: containers.ResourceManager) -> Code:
    """Write the module of `part`; variables are looked up in `resources` and bound.

    Raises:
        NotFoundError: an op or a kernel does not exist.
        InvalidArgumentError: a variable is held with another dtype.
    """
    return _Emission(part, resources).write()


class _Emission:
    """One part being written. `values` maps a tensor to the expression that holds it."""

    def __init__(self, part: parts.Part, resources: containers.ResourceManager) -> None:
        self.part = part
        self.resources = resources
        self.out = _Writer()
        self.values: dict[node.Edge, str] = {}
        self.cells: dict[node.Edge, str] = {}
        self.refs: set[node.Edge] = set()
        self.shared: list[str] = []
        self.constants: dict[node.Edge, Any] = {}
        self.last_leg: dict[node.Edge, int] = {}
        for item in part.nodes:
            for edge in item.inputs:
                self.last_leg[edge] = max(self.last_leg.get(edge, 0), part.legs[item.name])

    def write(self) -> Code:
        layout = state.Layout.of(self.part)
        body = self.out
        feeds = self._receive("feed", self.part.feeds, "f")
        arrivals = {
            message.number: self._receive(
                f"message{message.number}", message.edges, f"m{message.number}_"
            )
            for message in self.part.incoming
        }
        segments = [
            self._segment(index, leg, layout.sends[index])
            for index, leg in enumerate(state.segment_legs(self.part))
        ]
        self._fetch()
        table = ", ".join(f"{number}: {name}" for number, name in arrivals.items())
        body.line(
            f"    return {feeds}, {{{table}}}, ({''.join(s + ', ' for s in segments)}), fetch"
        )
        return self._assemble()

    def _assemble(self) -> Code:
        head = ["def build(k, b):"]
        head += _unpack("k", len(self.out.bound)) + _unpack("b", len(self.out.buffers))
        head += [f"    {name} = None" for name in self.shared]
        lines = {number + len(head): name for number, name in self.out.nodes.items()}
        source = "\n".join([*head, *self.out.lines, ""])
        return Code(source, tuple(self.out.bound), tuple(self.out.buffers), lines)

    def _receive(self, function: str, edges: Sequence[node.Edge], prefix: str) -> str:
        """Write the function that takes the values of a message, or of the feeds."""
        names = [f"{prefix}{index}" for index in range(len(edges))]
        self.values.update(zip(edges, names, strict=True))
        self.shared += names
        self.out.line(f"    def {function}(values):")
        if names:
            self.out.line(f"        nonlocal {', '.join(names)}")
            self.out.line(f"        {''.join(name + ', ' for name in names)} = values")
        else:
            self.out.line("        return None")
        return function

    def _segment(self, index: int, leg: int, sends: Sequence[parts.Message]) -> str:
        here = [item for item in self.part.nodes if self.part.legs[item.name] == leg]
        body, self.out.lines = self.out.lines, []
        nodes, self.out.nodes = self.out.nodes, {}
        before = len(self.shared)
        for item in schedule.reads_first(here):
            self._node(item)
        messages = [
            "(" + "".join(self._leaving(edge) + ", " for edge in message.edges) + ")"
            for message in sends
        ]
        self.out.line(f"        return ({''.join(text + ', ' for text in messages)})")
        written, self.out.lines = self.out.lines, body
        placed, self.out.nodes = self.out.nodes, nodes
        self.out.line(f"    def segment{index}():")
        if len(self.shared) > before:
            self.out.line(f"        nonlocal {', '.join(self.shared[before:])}")
        offset = len(self.out.lines)
        self.out.lines += written
        self.out.nodes.update({number + offset: name for number, name in placed.items()})
        return f"segment{index}"

    def _node(self, item: node.Node) -> None:
        number = len(self.values)
        edge = node.Edge(item.name)
        if item.op == "Const":
            self.constants[edge] = item.attrs["value"]
            self.values[edge] = self.out.bind(item.attrs["value"])
            return
        bound = bind.bind(item, self.part.tensor_shapes, self.constants, self.resources)
        outputs = bound.outputs
        if not item.inputs and len(outputs) == 1 and outputs[0][1]:
            name = self.out.bind(bound.function())
            self.values[edge], self.cells[edge] = name, name
            self.refs.add(edge)
            return
        edges = [node.Edge(item.name, index) for index in range(len(outputs))]
        names = [f"t{number}_{index}" for index in range(len(edges))]
        self._call(item, bound, edges, names)
        for produced, name, (_, is_ref) in zip(edges, names, outputs, strict=True):
            self.values[produced] = name
            if is_ref:
                self.refs.add(produced)
                self.cells[produced] = self._cell_of(item)
        if (
            bound.kernel.alias
            and item.inputs
            and item.inputs[0] in self.cells
            and not outputs[0][1]
        ):
            self.cells[edge] = self.cells[item.inputs[0]]
        self.shared += [
            name for produced, name in zip(edges, names, strict=True) if self._outlives(produced)
        ]

    def _call(
        self,
        item: node.Node,
        bound: bind.Bound,
        edges: Sequence[node.Edge],
        names: Sequence[str],
    ) -> None:
        arguments = self._arguments(item, bound)
        if bound.kernel.emit is not None:
            call = bound.kernel.emit(arguments)
        else:
            if bound.kernel.out:
                arguments = arguments + self._planned(edges)
            call = f"{self.out.bind(bound.function)}({', '.join(arguments)})"
        target = f"{', '.join(names)} = " if names else ""
        # A name comes from a client: it must not end the comment.
        self.out.line(f"        {target}{call}  # {item.name!a}", item.name)

    def _planned(self, edges: Sequence[node.Edge]) -> list[str]:
        """Name a buffer for every output, or none when the shape of one is not known."""
        facts = [(self.part.tensor_shapes.get(e), self.part.tensor_dtypes.get(e)) for e in edges]
        if not all(plannable(shape, dtype) for shape, dtype in facts):
            return []
        return [self.out.buffer(shape, dtype) for shape, dtype in facts]

    def _arguments(self, item: node.Node, bound: bind.Bound) -> list[str]:
        texts: list[str] = []
        for edge, (_, takes_ref) in zip(item.inputs, bound.inputs, strict=True):
            text = self.values[edge]
            texts.append(f"{text}.read()" if edge in self.refs and not takes_ref else text)
        return texts

    def _cell_of(self, item: node.Node) -> str:
        """The variable behind a reference that `item` passes on: that of its first input."""
        return self.cells[item.inputs[0]]

    def _outlives(self, edge: node.Edge) -> bool:
        """Say whether another function than the one that makes `edge` reads it."""
        if edge in self.part.fetches:
            return True
        return self.last_leg.get(edge, 0) > self.part.legs[edge.node]

    def _leaving(self, edge: node.Edge) -> str:
        """The expression for a value that leaves the task: variables are copied, locked."""
        text = self.values[edge]
        cell = self.cells.get(edge)
        if cell is None:
            return text
        buffer = self.out.buffer(
            self.part.tensor_shapes.get(edge), self.part.tensor_dtypes.get(edge)
        )
        if edge in self.refs:
            return f"{cell}.snapshot({buffer})"
        return f"{cell}.copy({text}, {buffer})"

    def _fetch(self) -> None:
        self.out.line("    def fetch():")
        texts = "".join(self._leaving(edge) + ", " for edge in self.part.fetches)
        self.out.line(f"        return ({texts})")


def _unpack(name: str, count: int) -> list[str]:
    """Bind the items of a tuple to names, a screen's width at a time."""
    if not count:
        return []
    return [f"    {''.join(f'{name}{index}, ' for index in range(count))} = {name}"]
