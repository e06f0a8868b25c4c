"""The operations that wait for others by control inputs (contrib/graph_editor/util.py)."""

from collections.abc import Sequence
from typing import Any

from capstan.framework import graph as graphs


class ControlOutputs:
    """The operations that have an operation as a control input, for each operation of a graph."""

    def __init__(self, graph: graphs.Graph) -> None:
        """Look at all operations. Raise TypeError if `graph` is not a graph."""
        if not isinstance(graph, graphs.Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
        self._graph = graph
        self._seen: Any = None
        self._control_outputs: dict[Any, list[Any]] = {}
        self.update()

    def update(self) -> "ControlOutputs":
        """Look again if the graph has changed. Return this object."""
        state = self._graph.version, self._graph.changes
        if state != self._seen:
            self._control_outputs.clear()
            for op in self._graph.get_operations():
                for source in op.control_inputs:
                    self._control_outputs.setdefault(source, []).append(op)
            self._seen = state
        return self

    def get_all(self) -> dict[Any, list[Any]]:
        """Return the operations that wait for each operation for which any waits."""
        return self._control_outputs

    def get(self, op: Any) -> Sequence[Any]:
        """Return the operations that wait for `op`."""
        return self._control_outputs.get(op, ())

    @property
    def graph(self) -> graphs.Graph:
        return self._graph
