"""Which nodes must share a device: a union-find over colocation and over reference edges."""

from collections.abc import Callable, Iterable, Mapping

from capstan.core import node
from capstan.framework import opdef


class Groups:
    """Disjoint sets of node names."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def find(self, name: str) -> str:
        """Return the name that stands for the group of `name`."""
        parent = self._parent
        root = name
        while parent.setdefault(root, root) != root:
            root = parent[root]
        while parent[name] != root:
            parent[name], name = root, parent[name]
        return root

    def join(self, one: str, other: str) -> None:
        """Make one group of two; the group of `other` leads."""
        self._parent[self.find(one)] = self.find(other)


def colocated(
    items: Iterable[node.Node], nodes: Mapping[str, node.Node], is_ref: Callable[[node.Edge], bool]
) -> Groups:
    """Group `items` by `_class` attributes (`loc:@name`) and by reference edges.

    The consumer of a reference goes where the reference is, whatever its own device says.
    """
    groups = Groups()
    for item in items:
        for name in class_names(item):
            if name in nodes:
                groups.join(item.name, name)
        for edge in item.inputs:
            if is_ref(edge) and edge.node in nodes and takes_reference(item, edge):
                groups.join(item.name, edge.node)
    return groups


def class_names(item: node.Node) -> tuple[str, ...]:
    """Names that the `_class` attribute of `item` asks to be with."""
    spellings = item.attrs.get("_class", ())
    texts = [text.decode() if isinstance(text, bytes) else text for text in spellings]
    return tuple(text[5:] for text in texts if text.startswith("loc:@"))


def takes_reference(item: node.Node, edge: node.Edge) -> bool:
    """Say whether `item` uses `edge` as a reference, to change it, and not as a value."""
    if not opdef.is_defined(item.op):
        return False
    row = opdef.lookup(item.op)
    arguments = opdef.expand(row.input_arguments, item.attrs)
    return any(
        is_ref for used, (_, is_ref) in zip(item.inputs, arguments, strict=False) if used == edge
    )
