"""The buffers that the outputs of nodes are written to, and when a later tensor may use them."""

from collections.abc import Iterable, Sequence

from capstan.core import node as ir
from capstan.executor import source
from capstan.partition import memories, parts


class Buffers:
    """The buffers of the part that is being written."""

    def __init__(self, part: parts.Part, out: source.Writer, unplanned: frozenset[ir.Edge]) -> None:
        """The tensors `unplanned` get no buffer."""
        self._part, self._out, self._unplanned = part, out, unplanned
        self.names: dict[ir.Edge, str] = {}
        """The names of the buffers that tensors are in now."""

    def of_outputs(self, node: ir.Node, outputs: Sequence[ir.Edge]) -> list[str]:
        """Return the name of a buffer for each output of `node`.

        Return no names if the size of an output is unknown, or if an output must get new memory.
        """
        known = [
            (self._part.tensor_shapes.get(edge), self._part.tensor_dtypes.get(edge))
            for edge in outputs
        ]
        if not all(source.plannable(shape, dtype) for shape, dtype in known):
            return []
        if not self._unplanned.isdisjoint(outputs):
            return []
        is_host = memories.of_device(node.device) == memories.HOST
        places = [memories.HOST] * len(known) if is_host else memories.outputs(node)
        if not is_host and memories.HOST in places:
            return []  # A recording (`executor.repeats`) keeps the outputs in host memory.
        names = [
            self._out.buffer(shape, dtype, place)
            for (shape, dtype), place in zip(known, places, strict=True)
        ]
        self.names.update(zip(outputs, names, strict=True))
        return names

    def release(self, edges: Iterable[ir.Edge]) -> None:
        """Let later tensors use the buffers of tensors that no later line reads."""
        for edge in edges:
            if edge in self.names:
                self._out.release(self.names.pop(edge))
