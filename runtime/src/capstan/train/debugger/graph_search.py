"""Ways through the graph of a run against its edges (python/debug/lib/debug_graphs.py)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from capstan.framework import facts, opdef


@dataclass(frozen=True, slots=True)
class Edges:
    """Which edges a search follows, from a node to its inputs.

    Control edges lead to the nodes that a node waits for. A reversed edge leads from a node with a
    reference, such as a variable, to the nodes that take the reference and may change the value.
    """

    control: bool = True
    reversed_references: bool = False


def inputs_of(node: Any, *, is_control: bool) -> list[str]:
    """Return the tensors that a node reads, or the nodes that it waits for."""
    names = [name for name in node.input if name.startswith("^") == is_control]
    return [name.removeprefix("^") for name in names]


def transitive_inputs(nodes: Mapping[str, Any], start: str, edges: Edges) -> list[str]:
    """Return all tensors and nodes that a node depends on, depth first.

    The inputs of a Merge are not followed, because it uses only one of them.
    """
    return [name for name, _ in _search(nodes, start, edges)]


def some_path(nodes: Mapping[str, Any], source: str, target: str, edges: Edges) -> list[str] | None:
    """Return a path from the node `source` to the node `target`, both included, or None."""
    if source == target:
        return [source]
    readers: dict[str, str] = {}
    for name, reader in _search(nodes, target, edges):
        readers.setdefault(name, reader)
        if _node_name(name) == source:
            path = [name]
            while path[-1] != target:
                path.append(readers[path[-1]])
            return path
    return None


def _search(nodes: Mapping[str, Any], start: str, edges: Edges) -> Iterator[tuple[str, str]]:
    """Yield each input, and the input or the node through which the search has found it."""
    takers = _takers(nodes) if edges.reversed_references else {}
    visited = {start}

    def inputs(element: str) -> Iterator[tuple[str, str]]:
        name = _node_name(element)
        node = nodes.get(name)
        if node is None or opdef.role(node.op) is facts.Role.MERGE:
            return
        found = inputs_of(node, is_control=False)
        if edges.control:
            found += inputs_of(node, is_control=True)
        for each in [*found, *takers.get(name, ())]:
            yield each, element

    waiting = [inputs(start)]
    while waiting:
        step = next(waiting[-1], None)
        if step is None:
            waiting.pop()
            continue
        name = _node_name(step[0])
        if name not in visited:
            visited.add(name)
            yield step
            waiting.append(inputs(step[0]))


def _takers(nodes: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the nodes that take a reference from each node that gives one."""
    found: dict[str, list[str]] = {}
    for node in nodes.values():
        for name in inputs_of(node, is_control=False):
            source = nodes.get(_node_name(name))
            if source is not None and _gives_reference(source):
                found.setdefault(source.name, []).append(node.name)
    return found


def _gives_reference(node: Any) -> bool:
    if not opdef.is_defined(node.op):
        return False
    outputs = opdef.lookup(node.op).outputs
    return any(opdef.Argument.parse(output).is_ref for output in outputs)


def _node_name(element: str) -> str:
    return element.partition(":")[0]
