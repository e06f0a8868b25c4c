"""Which nodes of a view the options choose, and in which order (tfprof_show.cc)."""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

from capstan.api.profiler import figures
from capstan.api.profiler.options import Options

ROOT = "_TFProfRoot"
"""The name of the root of each view."""
_EVERYTHING = (".*",)


class Totals(Protocol):
    """A node of a view."""

    @property
    def name(self) -> str: ...

    @property
    def total(self) -> figures.Figures:
        """The figures of the node and of all below it."""


_Node = TypeVar("_Node", bound=Totals)


@functools.lru_cache(maxsize=256)
def _compiled(expression: str) -> Any:
    import re2

    return re2.compile(expression)


def matches(texts: Iterable[str], expressions: Sequence[str]) -> bool:
    """Tell whether an expression, in RE2's syntax, matches one of the whole texts."""
    if tuple(expressions) == _EVERYTHING:
        return True
    return any(
        _compiled(each).fullmatch(text) is not None for text in texts for each in expressions
    )


def starts_everywhere(options: Options) -> bool:
    return options.start_name_regexes == _EVERYTHING


def is_trimmed(node: Totals, options: Options) -> bool:
    """Tell whether nothing below a node is shown."""
    return matches((node.name,), options.trim_name_regexes)


def reaches(total: figures.Figures, options: Options) -> bool:
    """Tell whether the totals of a node reach the minimum times and sizes."""
    minima = {
        "requested_bytes": options.min_bytes,
        "peak_bytes": options.min_peak_bytes,
        "residual_bytes": options.min_residual_bytes,
        "output_bytes": options.min_output_bytes,
        "exec_micros": options.min_micros,
        "accelerator_exec_micros": options.min_accelerator_micros,
        "cpu_exec_micros": options.min_cpu_micros,
    }
    return all(total[kind] >= minimum for kind, minimum in minima.items())


def is_named(name: str, options: Options) -> bool:
    """Tell whether the options show the name of a node and do not hide it."""
    shown = matches((name,), options.show_name_regexes)
    return shown and not matches((name,), options.hide_name_regexes)


def in_order(nodes: list[_Node], options: Options) -> list[_Node]:
    """Return the nodes in the order of the options. Nodes with the same total keep their order."""
    if not options.order_by:
        return nodes
    kind = figures.ORDERS.get(options.order_by)
    if kind is None:
        return sorted(nodes, key=lambda node: node.name)
    return sorted(nodes, key=lambda node: -node.total[kind])
