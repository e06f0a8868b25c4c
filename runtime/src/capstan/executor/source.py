"""The source text of a part, the node of each line, and the values to which it is bound."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from capstan.core import dtypes, shapes
from capstan.core import node as ir
from capstan.graph import infer
from capstan.resources import variable

_NOT_PLANNABLE = frozenset({None, dtypes.string, dtypes.resource, dtypes.variant})
_MANY_NAMES = 500
"""With more names, the line that unpacks them is a block of its own. The number is a guess."""

MANY_FUNCTIONS = 200
"""A part with more functions is written as a flat module. The number is a guess."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array that every context allocates separately, on the device called `device`."""

    shape: tuple[int, ...]
    dtype: dtypes.DType
    device: str = ""


@dataclass(frozen=True, slots=True)
class Pin:
    """A variable that is pinned while a message with its memory is sent.

    The memory is value number `place` of message number `message` of a segment.
    """

    message: int
    place: int
    cell: variable.Variable


@dataclass(frozen=True, slots=True)
class Code:
    """The source of a part, and the values and buffers that it must be bound to.

    `lines` maps line numbers to node names. `pins[i]` are the pins of segment i. `starts` are the
    functions of the waiting nodes, by name. `loops` says whether there is a loop. `timed` are the
    nodes whose times the module records, by number (`trace`).

    The source defines `build(k, b)`, which returns the functions of a context. If `is_flat`, each
    context runs the whole source with the names `k` and `b`, and `built` are its functions.
    """

    source: str
    bound: tuple[Any, ...]
    buffers: tuple[Buffer, ...]
    lines: Mapping[int, str]
    pins: tuple[tuple[Pin, ...], ...] = ()
    starts: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    loops: bool = False
    is_flat: bool = False
    timed: tuple[ir.Node, ...] = ()


@dataclass(slots=True)
class Writer:
    """Collects lines. `shared` are the names that several functions use.

    The lines of a segment are indented by `depth` steps. All names start with `prefix`. `free` are
    the buffers that no tensor needs any more. `timed` are the nodes whose times the code records,
    or None if it records no times.

    If `is_flat`, the functions are functions of a module and share values in its dict `v`.
    Otherwise they are inner functions, and CPython copies all names of the enclosing function for
    each of them. This takes long for thousands of functions. `global` statements would take as
    long. A dict avoids this time, but is slower in a step.
    """

    lines: list[str] = field(default_factory=list)
    nodes: dict[int, str] = field(default_factory=dict)
    bound: list[Any] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    pins: list[tuple[Pin, ...]] = field(default_factory=list)
    starts: dict[str, Callable[..., Any]] = field(default_factory=dict)
    loops: list[str] = field(default_factory=list)
    free: dict[Buffer, list[str]] = field(default_factory=dict)
    timed: list[ir.Node] | None = None
    helpers: list[tuple[list[str], dict[int, str]]] = field(default_factory=list)
    prefix: str = ""
    depth: int = 2
    is_flat: bool = False
    _block: str = ""

    def line(self, text: str) -> None:
        """Add a line outside all conditions."""
        self._block = ""
        self.lines.append(text)

    def statement(self, text: str, name: str, condition: str) -> None:
        """Add a line for the node `name` to a segment.

        Consecutive lines with the same condition share one `if`.
        """
        if condition != self._block:
            self._block = condition
            if condition:
                self._add(f"{self._indent()}if {condition}:", name)
        # The name comes from a client. Escaping keeps a line break from ending the comment.
        indent = self._indent(1 if condition else 0)
        self._add(f"{indent}{text}  # {name!a}", name)

    @contextmanager
    def block(self, head: str, name: str) -> Iterator[None]:
        """Write a compound statement of the node `name` around the lines of the `with` block."""
        self.statement(head, name, "")
        self.depth += 1
        yield
        self.depth -= 1
        self._block = ""

    @contextmanager
    def loop(self, name: str) -> Iterator[None]:
        """Write an endless loop of the node `name` around the lines of the `with` block.

        If the step is cancelled, the loop ends.
        """
        self.loops.append(name)
        with self.block("while True:", name):
            stop = self.variable("stop")
            self.statement(f"if {stop}: raise {stop}[0]", name, "")
            yield

    def inner(self) -> "Writer":
        """Return a writer for a function of a loop. No other function uses the same names.

        The new writer adds its lines to this writer. Use it only inside the `with` block of this
        writer's `function`.
        """
        return replace(self, shared=[], prefix=f"{self.prefix}w{len(self.lines)}_", _block="")

    def bind(self, value: object) -> str:
        """Bind a value to the code and return its name."""
        self.bound.append(value)
        return f"k{len(self.bound) - 1}"

    def is_bound(self, text: str) -> bool:
        """Return whether an expression is the name of a value to which the code is bound."""
        return text.startswith("k") and text[1:].isdigit()

    def buffer(self, shape: shapes.Shape, dtype: dtypes.DType | None, device: str) -> str:
        """Return the name of an unused buffer, or "None" if its size is unknown before the step."""
        if dtype is None or not plannable(shape, dtype):
            return "None"
        wanted = Buffer(tuple(size or 0 for size in shape or ()), dtype, device)
        if self.free.get(wanted):
            return self.free[wanted].pop()
        self.buffers.append(wanted)
        return f"b{len(self.buffers) - 1}"

    def release(self, name: str) -> None:
        """Let later lines use the buffer called `name`. No later line reads its present tensor."""
        self.free.setdefault(self.buffers[int(name[1:])], []).append(name)

    @contextmanager
    def function(self, name: str, arguments: str = "") -> Iterator[None]:
        """Write a function around the lines of the `with` block.

        The names that the block adds to `shared` become `nonlocal` names of the function.
        """
        lines, self.lines = self.lines, []
        nodes, self.nodes = self.nodes, {}
        before = len(self.shared)
        self._block = ""
        yield
        body, self.lines = self.lines, lines
        body_nodes, self.nodes = self.nodes, nodes
        for text, line_nodes in self.helpers:
            self._append(text, line_nodes)
        self.helpers.clear()
        self.line(f"    def {name}({arguments}):")
        if len(self.shared) > before:
            self.share(self.shared[before:])
        self._append(body, body_nodes)

    @contextmanager
    def helper(self, name: str, arguments: str) -> Iterator[None]:
        """Write a function around the lines of the `with` block, before the present function.

        The names that the block adds to `shared` are names of the present function, and not of the
        helper.
        """
        lines, self.lines = self.lines, []
        nodes, self.nodes = self.nodes, {}
        self.line(f"    def {name}({arguments}):")
        yield
        self.helpers.append((self.lines, self.nodes))
        self.lines, self.nodes = lines, nodes

    def _append(self, lines: Sequence[str], nodes: Mapping[int, str]) -> None:
        offset = len(self.lines)
        self.lines += lines
        self.nodes.update({number + offset: node for number, node in nodes.items()})

    def variable(self, name: str) -> str:
        """Return the expression for a variable that several functions may use."""
        return f"v[{name!r}]" if self.is_flat else name

    def share(self, variables: Sequence[str]) -> None:
        """Write the statement that lets a function assign shared variables."""
        if not self.is_flat:
            self.line(f"        nonlocal {', '.join(variables)}")

    def result(self, text: str) -> None:
        """Write the end of the module, whose result is the expression `text`."""
        self.line(f"    built = {text}" if self.is_flat else f"    return {text}")

    def code(self) -> Code:
        """Return the complete module, with the assignments of all bound names at its head."""
        head = ["if True:" if self.is_flat else "def build(k, b):"]
        head += unpack("k", len(self.bound)) + unpack("b", len(self.buffers))
        head += ["    v = {}"] if self.is_flat else []
        head += [f"    {name} = None" for name in self.shared]
        head += [f"    waits = [None] * {len(self.starts)}"] if self.starts else []
        lines = {number + len(head): name for number, name in self.nodes.items()}
        source = "\n".join([*head, *self.lines, ""])
        return Code(
            source,
            tuple(self.bound),
            tuple(self.buffers),
            lines,
            tuple(self.pins),
            self.starts,
            bool(self.loops),
            self.is_flat,
            tuple(self.timed or ()),
        )

    def _indent(self, more: int = 0) -> str:
        return " " * (4 * (self.depth + more))

    def _add(self, text: str, name: str) -> None:
        self.lines.append(text)
        self.nodes[len(self.lines)] = name


def plannable(shape: shapes.Shape, dtype: dtypes.DType | None) -> bool:
    """Return whether an array of that shape and dtype can be allocated before the step."""
    return infer.is_static(shape) and dtype not in _NOT_PLANNABLE


def unpack(name: str, count: int) -> list[str]:
    """Return the line that unpacks the tuple `name` into `count` names, or no line for 0."""
    if not count:
        return []
    # CPython inserts an instruction for each name that a nested function uses at the start of the
    # first block, and moves the rest of the block each time. A condition ends the block, so a part
    # with ten thousand names compiles in a tenth of the time.
    condition = f"if {name}: " if count > _MANY_NAMES else ""
    return [f"    {condition}{items(f'{name}{index}' for index in range(count))} = {name}"]


def items(texts: Iterator[str] | Sequence[str]) -> str:
    """Return the text between the parentheses of a tuple, with a comma after each item."""
    return "".join(f"{text}, " for text in texts)
