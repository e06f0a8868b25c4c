"""A node of the views "scope" and "graph": its text and its message (tfprof_show.cc)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from capstan.api.profiler import choices, figures
from capstan.api.profiler.nodes import Node, Shape
from capstan.api.profiler.options import Options
from capstan.core import profiler_messages as messages

_LEGENDS = {
    **{kind: f"{kind.replace('_', ' ')}" for kind in figures.MEMORY},
    "bytes": "requested bytes",
}


@dataclass(slots=True, eq=False)
class Shown:
    """A node in a view. `children` are all below it, and `shown` those that the view shows."""

    node: Node
    inputs: dict[int, Shape] = field(default_factory=dict)
    children: list["Shown"] = field(default_factory=list)
    shown: list["Shown"] = field(default_factory=list)
    accounted: bool = False
    own: figures.Figures = field(default_factory=figures.zeros)
    total: figures.Figures = field(default_factory=figures.zeros)
    definitions: int = 0
    text: str = ""

    @property
    def name(self) -> str:
        return self.node.name

    def account(self, options: Options) -> bool:
        """Take the figures of the step of the options, and tell whether the type is counted."""
        self.own = self.node.figures(options.step)
        self.accounted = choices.matches(self.node.types, options.account_type_regexes)
        return self.accounted

    def count_self(self) -> None:
        """Start the totals with the node's own figures."""
        self.total = dict(self.own)
        self.definitions = 1

    def count(self, child: "Shown") -> None:
        """Add the totals of a node below."""
        figures.add(self.total, child.total)
        self.definitions += child.definitions

    def is_shown(self, options: Options, depth: int) -> bool:
        if self.name == choices.ROOT:
            return True
        return (
            choices.reaches(self.total, options)
            and self.own["parameters"] >= options.min_params
            and self.own["float_ops"] >= options.min_float_ops
            and self.own["run_count"] >= options.min_occurrence
            and depth <= options.max_depth
            and choices.is_named(self.name, options)
        )

    def show(self, below: list["Shown"], options: Options, indent: int) -> None:
        """Show these nodes below the node, and write its line."""
        if options.account_displayed_op_only:
            self.count_self()
            for child in below:
                self.count(child)
        self.shown = choices.in_order(below, options)
        self.text = f"{' ' * indent}{self.name} ({', '.join(self._facts(options.select))})\n"

    def lines(self) -> Iterator[str]:
        """Give the lines of the node and of the nodes shown below it."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node.text
            stack += reversed(node.shown)

    def _facts(self, select: tuple[str, ...]) -> Iterator[str]:
        if "params" in select:
            if self.node.shape:
                yield "x".join(map(str, self.node.shape))
            yield f"{self._both('parameters', figures.number)} params"
        if "float_ops" in select:
            yield f"{self._both('float_ops', figures.number)} flops"
        for kind in (kind for name, kind in figures.MEMORY.items() if name in select):
            yield self._both(kind, figures.memory)
        for kind in figures.times(select):
            yield self._both(kind, figures.duration)
        yield from self._other_facts(select)

    def _other_facts(self, select: tuple[str, ...]) -> Iterator[str]:
        if "device" in select and self.node.device:
            yield self.node.device
        if "op_types" in select:
            yield "|".join(sorted(self.node.types))
        if "occurrence" in select:
            defined = f"{'1' if self.accounted else '--'}/{figures.number(self.definitions)}"
            yield f"{self._both('run_count', figures.number)}|{defined}"
        if "input_shapes" in select:
            yield "|".join(
                f"{number}:{'x'.join(map(str, shape)) or 'unknown'}"
                for number, shape in self.inputs.items()
            )

    def _both(self, kind: str, written: Any) -> str:
        """Return the node's own figure, if it counts, and the total."""
        own = written(self.own[kind]) if self.accounted else "--"
        return f"{own}/{written(self.total[kind])}"

    def encode(self) -> Any:
        """Return the GraphNodeProto of the node and of the nodes shown below it."""
        message = messages.GraphNodeProto()
        stack = [(self, message)]
        while stack:
            node, encoded = stack.pop()
            node.fill(encoded)
            stack += [(child, encoded.children.add()) for child in node.shown]
        return message

    def fill(self, message: Any) -> None:
        """Write the node itself to a GraphNodeProto."""
        message.name = self.name
        if self.node.device:
            message.devices.append(self.node.device)
        message.total_definition_count = self.definitions
        for kind in figures.KINDS:
            setattr(message, kind, self.own[kind])
            setattr(message, f"total_{kind}", self.total[kind])
        for number, shape in self.inputs.items():
            described = message.input_shapes[number]
            described.unknown_rank = not shape
            for size in shape:
                described.dim.add(size=size)


def legend(select: tuple[str, ...]) -> str:
    """Return the line that names the facts of each node."""
    return f"node name | {' | '.join(_legends(select))}\n"


def _legends(select: tuple[str, ...]) -> Iterator[str]:
    if "params" in select:
        yield "# parameters"
    if "float_ops" in select:
        yield "# float_ops"
    yield from memory_and_time_legends(select)
    yield from other_legends(select, "op count (run|defined)")


def memory_and_time_legends(select: tuple[str, ...]) -> Iterator[str]:
    """Give the names of the memory and the times that are shown."""
    yield from (text for name, text in _LEGENDS.items() if name in select)
    names = {
        "exec_micros": "total execution time",
        "accelerator_exec_micros": "accelerator execution time",
        "cpu_exec_micros": "cpu execution time",
    }
    yield from (names[kind] for kind in figures.times(select))


def other_legends(select: tuple[str, ...], occurrence: str) -> Iterator[str]:
    """Give the names of the other facts that are shown."""
    names = {
        "device": "assigned devices",
        "op_types": "op types",
        "occurrence": occurrence,
        "input_shapes": "input shapes",
    }
    yield from (text for name, text in names.items() if name in select)
