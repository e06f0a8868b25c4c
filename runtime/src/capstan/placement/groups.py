"""Which nodes must share a device: a union-find over colocation and over reference edges."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from capstan import errors
from capstan.core import node


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
    items: Iterable[node.Node],
    nodes: Mapping[str, node.Node],
    follows: Callable[[node.Node], Sequence[str]],
) -> Groups:
    """Group `items` by `_class` attributes (`loc:@name`), and with the state that they change.

    `follows` names these: who changes a variable goes where it is, whatever its own device says.
    """
    groups = Groups()
    for item in items:
        for name in class_names(item):
            if name in nodes:
                groups.join(item.name, name)
        for name in follows(item):
            groups.join(item.name, name)
    return groups


def class_names(item: node.Node) -> tuple[str, ...]:
    """Names that the `_class` attribute of `item` asks to be with.

    Raises:
        InvalidArgumentError: the attribute is no list of texts.
    """
    spellings = item.attrs.get("_class", ())
    try:
        # Strictly: a name that is no UTF-8 is refused, not carried along.
        texts = [text.decode() if isinstance(text, bytes) else text for text in spellings]
        return tuple(text[5:] for text in texts if text.startswith("loc:@"))
    except (AttributeError, TypeError, UnicodeDecodeError) as fault:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Node '{item.name}' has a damaged attribute '_class', {spellings!r}: it must be a "
            f"list of UTF-8 texts, 'loc:@' and the name of a node each ({fault})",
        ) from None
