"""The expression for each tensor in the generated code of a part."""

from capstan.core import node as ir
from capstan.executor import source, state
from capstan.graph import guards
from capstan.partition import parts

_SEVERAL = (-1, -1)
"""Stands for several readers in different segments, and for readers outside all segments."""


class Values:
    """The expressions for the tensors of a part, added in the order of its code."""

    def __init__(self, part: parts.Part, out: source.Writer) -> None:
        self._part = part
        self._out = out
        self._texts: dict[ir.Edge, str] = {}
        self._readers = _readers(part)
        self._sent = frozenset(edge for message in part.outgoing for edge in message.edges)
        self._unheld = 0
        """The number of names that were given to outputs and hold no tensor."""

    def __getitem__(self, edge: ir.Edge) -> str:
        return self._texts[edge]

    def get(self, edge: ir.Edge, default: str) -> str:
        return self._texts.get(edge, default)

    def name(self, output: int) -> str:
        """Return a new name for an output of the node that is written next."""
        return self._out.variable(f"{self._out.prefix}t{self._number}_{output}")

    def column(self, output: int) -> str:
        """Return a new name for a column of outputs of the nodes that are written next."""
        return self._out.variable(f"{self._out.prefix}c{self._number}_{output}")

    def skip(self) -> None:
        """Record that nothing reads a name, because its output is fed. No later node gets it."""
        self._unheld += 1

    def is_read(self, edge: ir.Edge) -> bool:
        """Return whether a node of the part reads `edge`, or `edge` leaves the part."""
        return edge in self._readers or edge in self._sent

    def put(self, edge: ir.Edge, text: str) -> None:
        """Record that the expression `text` gives `edge` in every segment."""
        self._texts[edge] = text

    def hold(self, edge: ir.Edge, name: str) -> None:
        """Record that a segment assigns `edge` to `name`.

        Share the name if a function other than that of the segment reads `edge`.
        """
        self._texts[edge] = name
        own = state.segment_key(self._part, edge.node)
        if self._readers.get(edge, own) != own:
            self._out.shared.append(name)

    @property
    def _number(self) -> int:
        """The number in the names of the node that is written next."""
        return len(self._texts) + self._unheld


def _readers(part: parts.Part) -> dict[ir.Edge, state.Key]:
    """Return, for each tensor, the segment that has all its readers, or `_SEVERAL`."""
    found: dict[ir.Edge, state.Key] = {}

    def read(edge: ir.Edge, key: state.Key) -> None:
        found[edge] = key if found.setdefault(edge, key) == key else _SEVERAL

    for reader in part.nodes:
        key = state.segment_key(part, reader.name)
        for edge in reader.inputs:
            read(edge, key)
    for edge in part.fetches:
        read(edge, _SEVERAL)
    for reader in reversed(part.nodes):
        # The outputs of a switch are its input, so their readers read the input.
        for index in (0, 1) if guards.is_switch(reader) else ():
            output = ir.Edge(reader.name, index)
            if output in found:
                read(reader.inputs[0], found[output])
    return found
