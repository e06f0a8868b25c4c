"""A node of the views "op" and "code": a group of the graph's nodes (tfprof_show_multi.cc)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from capstan.api.profiler import choices, figures
from capstan.api.profiler.nodes import Node
from capstan.api.profiler.options import Options
from capstan.api.profiler.shown_nodes import Shown, memory_and_time_legends, other_legends
from capstan.core import profiler_messages as messages

_KINDS = tuple(kind for kind in figures.KINDS if kind != "run_count")
"""The figures of a MultiGraphNodeProto."""


@dataclass(slots=True, eq=False)
class Group:
    """A group in a view: the nodes with an op, or those that a line of Python made.

    `counted` are the nodes whose types count.
    """

    name: str
    nodes: dict[str, Node] = field(default_factory=dict)
    children: dict[str, "Group"] = field(default_factory=dict)
    shown: list["Group"] = field(default_factory=list)
    counted: list[Shown] = field(default_factory=list)
    accounted: bool = False
    own: figures.Figures = field(default_factory=figures.zeros)
    total: figures.Figures = field(default_factory=figures.zeros)
    text: str = ""
    trace: Any = None
    """The place in the program, a `code_view.Place`, or None."""

    def account(self, graph: Mapping[str, Node], options: Options) -> bool:
        """Take the figures of the nodes whose types count, and tell whether the group counts."""
        expressions = options.account_type_regexes
        self.own = figures.zeros()
        self.counted = []
        for _, node in sorted(self.nodes.items()):
            if choices.matches(node.types, expressions):
                shown = Shown(node, node.input_shapes(graph))
                shown.account(options)
                shown.count_self()
                self.counted.append(shown)
                figures.add(self.own, shown.own)
        self.accounted = bool(self.counted) or choices.matches((), expressions)
        return self.accounted

    def count_self(self) -> None:
        """Start the totals with the group's own figures."""
        self.total = dict(self.own)

    def count(self, child: "Group") -> None:
        """Add the totals of another group."""
        figures.add(self.total, child.total)

    def types(self) -> str:
        return "|".join(sorted({kind for shown in self.counted for kind in shown.node.types}))

    def devices(self) -> str:
        return "|".join(sorted({shown.node.device for shown in self.counted}))

    def is_shown(self, options: Options, depth: int) -> bool:
        if self.name == choices.ROOT:
            return True
        return (
            choices.reaches(self.total, options)
            and self.total["parameters"] >= options.min_params
            and self.total["float_ops"] >= options.min_float_ops
            and depth <= options.max_depth
            and choices.is_named(self.name, options)
        )

    def lines(self) -> Iterator[str]:
        """Give the lines of the group and of the groups shown below it."""
        yield self.text
        for child in self.shown:
            yield from child.lines()

    def encode(self) -> Any:
        """Return the MultiGraphNodeProto of the group and of the groups shown below it."""
        message = messages.MultiGraphNodeProto(
            name=self.name,
            **{kind: self.own[kind] for kind in _KINDS},
            **{f"total_{kind}": self.total[kind] for kind in _KINDS},
        )
        for shown in self.counted:
            shown.fill(message.graph_nodes.add())
        message.children.extend(child.encode() for child in self.shown)
        return message


def legend(select: tuple[str, ...]) -> str:
    """Return the line that names the facts of each group."""
    legends = [*memory_and_time_legends(select)]
    if "params" in select:
        legends.append("# parameters")
    if "float_ops" in select:
        legends.append("# float_ops")
    legends += other_legends(select, "op occurrence (run|defined)")
    return f"node name | {' | '.join(legends)}\n"
