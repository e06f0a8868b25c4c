"""The text of a part in the making: lines, the nodes they belong to, what is bound to run them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from capstan.core import dtypes, shapes
from capstan.graph import infer
from capstan.resources import variable


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array that each context allocates for itself."""

    shape: tuple[int, ...]
    dtype: dtypes.DType


@dataclass(frozen=True, slots=True)
class Pin:
    """A value that leaves a segment and is the memory of a variable, pinned while it leaves.

    It is value `place` of message `message`.
    """

    message: int
    place: int
    cell: variable.Variable


@dataclass(frozen=True, slots=True)
class Code:
    """What was written, and what must be bound to run it. `lines` maps line numbers to nodes, and
    `pins` each segment to what it pins.
    """

    source: str
    bound: tuple[Any, ...]
    buffers: tuple[Buffer, ...]
    lines: Mapping[int, str]
    pins: tuple[tuple[Pin, ...], ...] = ()


@dataclass(slots=True)
class Writer:
    """Collects lines. `shared` are the names that one function leaves for another."""

    lines: list[str] = field(default_factory=list)
    nodes: dict[int, str] = field(default_factory=dict)
    bound: list[Any] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    pins: list[tuple[Pin, ...]] = field(default_factory=list)
    _block: str = ""

    def line(self, text: str) -> None:
        """Add a line outside all conditions."""
        self._block = ""
        self.lines.append(text)

    def statement(self, text: str, name: str, condition: str) -> None:
        """Add a line of a segment for the node `name`; neighbours share the `if` of a condition."""
        if condition != self._block:
            self._block = condition
            if condition:
                self._add(f"        if {condition}:", name)
        # A name comes from a client: it must not end the comment.
        indent = " " * (12 if condition else 8)
        self._add(f"{indent}{text}  # {name!a}", name)

    def bind(self, value: object) -> str:
        """Name a value that the code uses."""
        self.bound.append(value)
        return f"k{len(self.bound) - 1}"

    def buffer(self, shape: shapes.Shape, dtype: dtypes.DType | None) -> str:
        """Name a planned buffer; `None` in the source when nothing can be planned."""
        if dtype is None or not plannable(shape, dtype):
            return "None"
        self.buffers.append(Buffer(tuple(size or 0 for size in shape or ()), dtype))
        return f"b{len(self.buffers) - 1}"

    @contextmanager
    def function(self, name: str) -> Iterator[None]:
        """Write a function whose `nonlocal` names are those that its body adds to `shared`."""
        lines, self.lines = self.lines, []
        nodes, self.nodes = self.nodes, {}
        before = len(self.shared)
        self._block = ""
        yield
        body, self.lines = self.lines, lines
        placed, self.nodes = self.nodes, nodes
        self.line(f"    def {name}():")
        if len(self.shared) > before:
            self.line(f"        nonlocal {', '.join(self.shared[before:])}")
        offset = len(self.lines)
        self.lines += body
        self.nodes.update({number + offset: node for number, node in placed.items()})

    def code(self) -> Code:
        """The whole module, with everything bound at its head."""
        head = ["def build(k, b):"]
        head += unpack("k", len(self.bound)) + unpack("b", len(self.buffers))
        head += [f"    {name} = None" for name in self.shared]
        lines = {number + len(head): name for number, name in self.nodes.items()}
        source = "\n".join([*head, *self.lines, ""])
        return Code(source, tuple(self.bound), tuple(self.buffers), lines, tuple(self.pins))

    def _add(self, text: str, name: str) -> None:
        self.lines.append(text)
        self.nodes[len(self.lines)] = name


def plannable(shape: shapes.Shape, dtype: dtypes.DType | None) -> bool:
    """Say whether an array of that shape and dtype can be allocated before the step."""
    return infer.is_static(shape) and dtype not in (None, dtypes.string, dtypes.resource)


def unpack(name: str, count: int) -> list[str]:
    """Bind the items of a tuple to numbered names."""
    return [f"    {items(f'{name}{index}' for index in range(count))} = {name}"] if count else []


def items(texts: Iterator[str] | Sequence[str]) -> str:
    """The inside of a tuple, also of one item."""
    return "".join(f"{text}, " for text in texts)
