"""The expression for each tensor in the generated code of a part."""

from capstan.core import node as ir
from capstan.executor import source
from capstan.graph import guards
from capstan.partition import parts

_AFTER_ALL = 1 << 30
"""The leg of a fetch, which is read after the last segment."""


class Values:
    """The expressions for the tensors of a part, added in the order of its code."""

    def __init__(self, part: parts.Part, out: source.Writer) -> None:
        self._part = part
        self._out = out
        self._texts: dict[ir.Edge, str] = {}
        self._last_legs = _last_legs(part)

    def __getitem__(self, edge: ir.Edge) -> str:
        return self._texts[edge]

    def name(self, output: int) -> str:
        """Return a new name for an output of the node that is written next."""
        return f"t{len(self._texts)}_{output}"

    def put(self, edge: ir.Edge, text: str) -> None:
        """Record that the expression `text` gives `edge` in every segment."""
        self._texts[edge] = text

    def hold(self, edge: ir.Edge, name: str) -> None:
        """Record that a segment assigns `edge` to `name`. Share it if later segments read it."""
        self._texts[edge] = name
        if self._last_legs.get(edge, 0) > self._part.legs[edge.node]:
            self._out.shared.append(name)


def _last_legs(part: parts.Part) -> dict[ir.Edge, int]:
    """Return the last leg that reads each tensor."""
    last: dict[ir.Edge, int] = {}

    def reach(edge: ir.Edge, leg: int) -> None:
        last[edge] = max(last.get(edge, 0), leg)

    for reader in part.nodes:
        for edge in reader.inputs:
            reach(edge, part.legs[reader.name])
    for edge in part.fetches:
        reach(edge, _AFTER_ALL)
    for reader in reversed(part.nodes):
        # The outputs of a switch are its input, so their readers read the input.
        for index in (0, 1) if guards.is_switch(reader) else ():
            reach(reader.inputs[0], last.get(ir.Edge(reader.name, index), 0))
    return last
