"""The view "code": the lines of the program that made the nodes, below their callers
(tfprof_code.cc).

The nodes of a gradient are shown below the lines that made the forward node.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from capstan.api.profiler import choices, figures
from capstan.api.profiler.groups import Group, legend
from capstan.api.profiler.nodes import Node
from capstan.api.profiler.options import Options

_GRADIENT = " (gradient)"
_LONGEST = 20
"""A function with a name of this length or more is shown with dots."""


class Place(NamedTuple):
    """A line of a program. `first_line` is that of its function."""

    file: str
    line: int
    function: str
    first_line: int


def show(nodes: Mapping[str, Node], strings: Mapping[int, str], options: Options) -> Group:
    """Return the root of the view. `strings` has the strings of the op log by their numbers."""
    if options.account_displayed_op_only:
        sys.stderr.write("Note: code view ignores account_displayed_op_only\n")
    root = _tree(nodes, strings)
    root.shown = _account(root, nodes, options)
    for child in root.shown:
        root.count(child)
    if not choices.starts_everywhere(options):
        root.shown = _starts(root.shown, options)
    _shown([root], options, depth=1, indent=0)
    root.text = legend(options.select) + root.text
    return root


def _tree(nodes: Mapping[str, Node], strings: Mapping[int, str]) -> Group:
    """Return the groups of all lines below a root. Each group has the nodes that its line made."""
    root = Group(choices.ROOT)
    gradients: dict[str, list[Node]] = {}
    for _, node in sorted(nodes.items()):
        if node.code is None or not node.code.traces:
            continue
        forward = _forward(node.name)
        if forward is None:
            _last(root, node.code, strings, "").nodes[node.name] = node
        else:
            gradients.setdefault(forward, []).append(node)
    lost = 0
    for name, made in sorted(gradients.items()):
        source = nodes.get(name)
        if source is None or source.code is None or not source.code.traces or _forward(name):
            lost += 1
            continue
        _last(root, source.code, strings, _GRADIENT).nodes.update({n.name: n for n in made})
    if lost:
        sys.stderr.write(f"{lost} gradient nodes not accounted\n")
    return root


def _forward(name: str) -> str | None:
    """Return the node whose gradient a node computes, by TensorFlow's names of gradients."""
    start, end = name.find("gradients/"), name.find("_grad/")
    start += len("gradients/")
    return name[start:end] if start >= len("gradients/") and end > start else None


def _last(root: Group, code: Any, strings: Mapping[int, str], suffix: str) -> Group:
    """Return the group of the innermost line of a CodeDef. Add the groups that are new."""
    group = root
    for trace in code.traces:
        place = Place(
            trace.file or strings[trace.file_id],
            trace.lineno,
            (trace.function or strings[trace.function_id]) + suffix,
            trace.func_start_line,
        )
        name = _written(place, suffix)
        group = group.children.setdefault(name, Group(name, trace=place))
    return group


def _written(place: Place, suffix: str) -> str:
    function = place.function.removesuffix(suffix)
    if len(function) >= _LONGEST:
        function = f"{function[: _LONGEST - 3]}..."
    return f"{os.path.basename(place.file)}:{place.line}:{function}{suffix}"


def _account(parent: Group, nodes: Mapping[str, Node], options: Options) -> list[Group]:
    """Count the groups below a group, and return those with nodes that count."""
    counted = []
    for group in parent.children.values():
        below = _account(group, nodes, options)
        if group.account(nodes, options) or below:
            group.count_self()
            for child in below:
                group.count(child)
            group.shown = below
            counted.append(group)
    return counted


def _starts(roots: list[Group], options: Options) -> list[Group]:
    """Return the highest groups whose names match where the view starts."""
    found = []
    for group in roots:
        if choices.matches((group.name,), options.start_name_regexes):
            found.append(group)
        else:
            found += _starts(group.shown, options)
    return found


def _shown(candidates: list[Group], options: Options, depth: int, indent: int) -> list[Group]:
    """Return the groups to show. The groups below a hidden group move up."""
    result = []
    for group in candidates:
        if choices.is_trimmed(group, options) or depth > options.max_depth:
            continue
        is_shown = group.is_shown(options, depth)
        below = _shown(group.shown, options, depth + 1, indent + 2 * is_shown)
        if is_shown:
            group.shown = choices.in_order(below, options)
            facts = ", ".join(_facts(group, options.select))
            group.text = f"{' ' * indent}{group.name} ({facts})\n"
            result.append(group)
        else:
            result += below
    return result


def _facts(group: Group, select: tuple[str, ...]) -> Iterator[str]:
    for name, kind in figures.MEMORY.items():
        if name in select:
            yield _both(group, kind, figures.memory)
    for kind in figures.times(select):
        yield _both(group, kind, figures.duration)
    if "params" in select:
        yield f"{_both(group, 'parameters', figures.number)} params"
    if "float_ops" in select:
        yield f"{_both(group, 'float_ops', figures.number)} flops"
    if "device" in select and group.counted:
        yield group.devices()
    if "op_types" in select:
        yield group.types()
    yield from (
        f"{name} N/A in code view" for name in ("occurrence", "input_shapes") if name in select
    )


def _both(group: Group, kind: str, written: Any) -> str:
    own = written(group.own[kind]) if group.accounted else "--"
    return f"{own}/{written(group.total[kind])}"
