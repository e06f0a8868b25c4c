"""Colocation groups: the nodes that must share a device, in a union-find."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from capstan import errors
from capstan.core import node as ir


class Groups:
    """Disjoint sets of node names."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def find(self, name: str) -> str:
        """Return the name of the node that represents the group of `name`."""
        parent = self._parent
        root = name
        while parent.setdefault(root, root) != root:
            root = parent[root]
        while parent[name] != root:
            parent[name], name = root, parent[name]
        return root

    def join(self, name: str, other: str) -> None:
        """Merge the groups of two nodes. The group of `other` keeps its representative."""
        self._parent[self.find(name)] = self.find(other)


def colocated(
    new: Iterable[ir.Node],
    nodes: Mapping[str, ir.Node],
    follows: Callable[[ir.Node], Sequence[str]],
) -> Groups:
    """Return the colocation groups of the `new` nodes.

    A node is grouped with the nodes that its `_class` attribute names (`loc:@name`) and with the
    nodes that `follows` returns for it, such as the variable that it changes.
    """
    groups = Groups()
    for node in new:
        for name in class_names(node):
            if name in nodes:
                groups.join(node.name, name)
        for name in follows(node):
            groups.join(node.name, name)
    return groups


def class_names(node: ir.Node) -> tuple[str, ...]:
    """Return the names of the nodes that the `_class` attribute of `node` colocates it with.

    Raises:
        InvalidArgumentError: the attribute is not a list of UTF-8 texts.
    """
    spellings = node.attrs.get("_class", ())
    try:
        # Strict decoding refuses a name that is not valid UTF-8.
        texts = [text.decode() if isinstance(text, bytes) else text for text in spellings]
        return tuple(text[5:] for text in texts if text.startswith("loc:@"))
    except (AttributeError, TypeError, UnicodeDecodeError) as fault:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Node '{node.name}' has a damaged attribute '_class', {spellings!r}: it must be a "
            f"list of UTF-8 texts, 'loc:@' and the name of a node each ({fault})",
        ) from None
