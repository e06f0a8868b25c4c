"""Counts and shows the nodes of a view that is a tree (tfprof_scope.cc, tfprof_graph.cc).

A graph can be deeper than Python's stack. The walks are therefore generators: each gives the walks
of its children to `_run`, which keeps the stack in a list.
"""

from collections.abc import Generator
from typing import Any

from capstan.api.profiler import choices
from capstan.api.profiler.options import Options
from capstan.api.profiler.shown_nodes import Shown, legend

_Walk = Generator["_Walk", list[Shown], list[Shown]]


def show(root: Shown, options: Options, *, keeps_parents: bool) -> Shown:
    """Count and show the nodes below the root, and return the root. Its text starts with a legend.

    A node that does not count stays in the tree above nodes that do, if `keeps_parents`. Otherwise,
    these move up. A node with several parents is below the first of them.
    """
    root.shown = _run(_account(root.children, options, keeps_parents, set()))
    for child in root.shown:
        root.count(child)
    if not choices.starts_everywhere(options):
        root.shown = _run(_starts(root.shown, options, set()))
    _run(_show([root], options, 1, 0, set()))
    root.text = legend(options.select) + root.text
    return root


def _run(walk: _Walk) -> list[Shown]:
    """Run a walk and those of its children, and return its result."""
    stack = [walk]
    result: Any = None
    while stack:
        try:
            stack.append(stack[-1].send(result))
        except StopIteration as end:
            stack.pop()
            result = end.value
        else:
            result = None
    found: list[Shown] = result
    return found


def _account(
    candidates: list[Shown], options: Options, keeps_parents: bool, seen: set[str]
) -> _Walk:
    """Count the nodes whose types count, and return the highest of them."""
    counted: list[Shown] = []
    for node in candidates:
        if node.name in seen:
            continue
        seen.add(node.name)
        below = yield _account(node.children, options, keeps_parents, seen)
        if node.account(options) or (keeps_parents and below):
            node.count_self()
            for child in below:
                node.count(child)
            node.shown = below
            counted.append(node)
        elif not keeps_parents:
            counted += below
    return counted


def _starts(roots: list[Shown], options: Options, seen: set[str]) -> _Walk:
    """Return the highest nodes whose names match where the view starts."""
    found = []
    for node in roots:
        if node.name in seen:
            continue
        seen.add(node.name)
        if choices.matches((node.name,), options.start_name_regexes):
            found.append(node)
        else:
            found += yield _starts(node.shown, options, seen)
    return found


def _show(
    candidates: list[Shown], options: Options, depth: int, indent: int, seen: set[str]
) -> _Walk:
    """Return the nodes to show. The nodes below a hidden node move up."""
    result = []
    for node in candidates:
        if node.name in seen:
            continue
        seen.add(node.name)
        is_shown = node.is_shown(options, depth)
        below: list[Shown] = []
        if not choices.is_trimmed(node, options) and depth <= options.max_depth:
            below = yield _show(node.shown, options, depth + 1, indent + 2 * is_shown, seen)
        if is_shown:
            node.show(below, options, indent)
            result.append(node)
        else:
            result += below
    return result
