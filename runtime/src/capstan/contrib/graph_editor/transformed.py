"""What a Transformer has made of each operation and tensor (contrib/graph_editor/transform.py)."""

from collections.abc import Callable
from typing import Any

from capstan.contrib.graph_editor import handlers, trees
from capstan.framework import graph as graphs

__all__ = ["TransformerInfo"]


class TransformerInfo:
    """The copies of operations and tensors, and the originals of copies."""

    def __init__(self, info: handlers.Transform) -> None:
        self._graph = info.graph
        self._scope = info.scope
        self._graph_ = info.graph_
        self._scope_ = info.scope_
        self._transformed_ops = info.transformed_ops
        self._transformed_ts = info.transformed_ts

    def transformed(self, original: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Return the copy of an operation or tensor, or a tree of copies for a tree.

        For an element without a copy, return `missing_fn(element)`, by default None.

        Raises:
            TypeError: a leaf of the tree is not an operation or tensor.
        """

        def find(element: Any) -> Any:
            copies = self._copies(element)
            if element in copies:
                return copies[element]
            return None if missing_fn is None else missing_fn(element)

        return trees.transform_tree(original, find)

    def original(self, transformed: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Return the original of a copy, or a tree of originals for a tree.

        For an element that is not a copy, return `missing_fn(element)`, by default None.

        Raises:
            TypeError: a leaf of the tree is not an operation or tensor.
        """

        def find(element: Any) -> Any:
            for original, copy in self._copies(element).items():
                if copy is element:
                    return original
            return None if missing_fn is None else missing_fn(element)

        return trees.transform_tree(transformed, find)

    def _copies(self, element: Any) -> dict[Any, Any]:
        if isinstance(element, graphs.Operation):
            return self._transformed_ops
        if isinstance(element, graphs.Tensor):
            return self._transformed_ts
        raise TypeError(f"Expected a tf.Tensor or a tf.Operation, got a {type(element)}")

    def __str__(self) -> str:
        lines = ["Transform result info:"]
        if self._graph is self._graph_:
            place = "" if self._scope_ else " IN-PLACE"
            lines.append(f"  Within graph[{id(self._graph)}]{place}")
        else:
            lines.append(f"  graph[{id(self._graph)}] => graph[{id(self._graph_)}]")
        if self._scope:
            lines.append(f"  Relative to source scope: {self._scope}")
        if self._scope_:
            lines.append(f"  Scope destination: {self._scope_}")
        lines.append("Operations mapping:")
        lines += [f"  {op.name} => {op_.name}" for op, op_ in self._transformed_ops.items()]
        return "\n".join([*lines, ""])
